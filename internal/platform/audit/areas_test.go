package audit_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

// readerOf returns a reader with the given scopes.
func readerOf(areas map[audit.Area]scope.Scope) audit.Reader {
	return func(a audit.Area) scope.Scope { return areas[a] }
}

// TestReader checks that each way of reading the log shows only events of the areas that the reader may see.
func TestReader(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	mine, theirs := uuid.New(), uuid.New()
	all := []audit.Event{
		{Action: "payout_run.prepared", Kind: "payout_run"},
		{Action: "return.accept", Kind: "return", Partner: mine},
		{Action: "ledger.adjust", Kind: "adjustment", Partner: theirs},
		{Action: "partner.approve", Kind: "partner", Partner: mine},
		{Action: "partner.prices", Kind: "partner", Partner: mine},
		{Action: "lead.find", Kind: "lead"},
		{Action: "lead.reveal", Kind: "lead", Partner: theirs},
		{Action: "lead.export", Kind: "lead", Partner: mine},
		{Action: "lead.download", Kind: "lead", Partner: theirs},
		{Action: "hold.place", Kind: "lead", Partner: mine},
		{Action: "notes.find", Kind: "note"},
		{Action: "retention.run", Kind: "platform"},
		{Action: "evidence.create_key", Kind: "platform"},
		{Action: "keys.rewrap", Kind: "keys"},
		{Action: "login", Kind: "staff"},
		{Action: "payouts.read", Kind: "route"},
		{Action: "future.action", Kind: "future"},
	}
	for _, e := range all {
		if err := c.LogDone(t.Context(), who, e); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		reader audit.Reader
		want   []string
	}{
		"everything": {audit.Everything, []string{
			"payout_run.prepared", "return.accept", "ledger.adjust", "partner.approve", "partner.prices", "lead.find", "lead.reveal",
			"lead.export", "lead.download", "hold.place", "notes.find", "retention.run", "evidence.create_key", "keys.rewrap", "login", "payouts.read", "future.action",
		}},
		"nothing":              {readerOf(nil), nil},
		"payouts":              {readerOf(map[audit.Area]scope.Scope{"payouts": scope.Everywhere}), []string{"payout_run.prepared", "return.accept", "ledger.adjust"}},
		"payouts of a partner": {readerOf(map[audit.Area]scope.Scope{"payouts": scope.Partners(mine)}), []string{"return.accept"}},
		"partners":             {readerOf(map[audit.Area]scope.Scope{"partners": scope.Everywhere}), []string{"partner.approve"}},
		"prices":               {readerOf(map[audit.Area]scope.Scope{"pricing": scope.Partners(mine)}), []string{"partner.prices"}},
		"leads":                {readerOf(map[audit.Area]scope.Scope{"leads": scope.Everywhere}), []string{"lead.find", "lead.reveal"}},
		"requests":             {readerOf(map[audit.Area]scope.Scope{"requests": scope.Everywhere}), []string{"lead.export", "lead.download"}},
		"retention":            {readerOf(map[audit.Area]scope.Scope{"retention": scope.Everywhere}), []string{"hold.place", "retention.run"}},
		"the rest":             {readerOf(map[audit.Area]scope.Scope{audit.Unknown: scope.Everywhere}), []string{"evidence.create_key", "keys.rewrap", "future.action"}},
		"notes":                {readerOf(map[audit.Area]scope.Scope{"notes": scope.Everywhere}), []string{"notes.find"}},
		"staff":                {readerOf(map[audit.Area]scope.Scope{"staff": scope.Everywhere}), []string{"login", "payouts.read"}},
	} {
		var allowed, exported, listed []string
		found, err := c.List(t.Context(), scope.Everywhere, test.reader, audit.Filter{}, audit.Page{Size: 50})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range slices.Backward(found.Events) {
			listed = append(listed, e.Action)
		}
		err = c.Each(t.Context(), scope.Everywhere, test.reader, audit.Filter{}, func(e *models.AuditEvent) error {
			exported = append(exported, e.Action)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		err = c.Each(t.Context(), scope.Everywhere, audit.Everything, audit.Filter{}, func(e *models.AuditEvent) error {
			if test.reader.Allows(e) {
				allowed = append(allowed, e.Action)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for way, got := range map[string][]string{"List": listed, "Each": exported, "Allows": allowed} {
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: %s shows %v, want %v", name, way, got, test.want)
			}
		}
		if found.Count != int64(len(test.want)) {
			t.Errorf("%s: got count %d, want %d", name, found.Count, len(test.want))
		}
	}
}

// TestEach exports more events than one batch, and only those that existed when it was called.
func TestEach(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	c.Exec(t, `INSERT INTO audit_events (at, actor, role, action, object_kind, object_id, reason, address, request_id, outcome, prev_hash, hash)
		SELECT now(), 'ada', '', 'login', 'staff', '', '', '', '', 'done', sha256(n::text::bytea), sha256((n + 1)::text::bytea) FROM generate_series(1, 2500) n`)
	var last int64
	rows := 0
	err := c.Each(t.Context(), scope.Everywhere, audit.Everything, audit.Filter{}, func(e *models.AuditEvent) error {
		if rows++; e.ID <= last {
			t.Errorf("event %d comes after %d", e.ID, last)
		}
		last = e.ID
		if rows == 1 {
			return c.LogDone(t.Context(), who, event(1))
		}
		return nil
	})
	if err != nil || rows != 2500 {
		t.Errorf("got %d events and error %v, want 2500", rows, err)
	}
}
