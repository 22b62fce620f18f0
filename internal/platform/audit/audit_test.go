package audit_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var who = audit.Actor{Name: "ada@example.com", Role: "administrator", Address: "192.0.2.1", RequestID: "rq_1"}

func event(n int) audit.Event {
	return audit.Event{
		Action: "partner.approve",
		Kind:   "partner",
		Object: fmt.Sprint("pt_", n),
		Before: map[string]any{"status": "pending"},
		After:  map[string]any{"status": "approved", "note": "a < b & \"c\""},
		Reason: "checked",
	}
}

type chain struct {
	*testkit.Database
	*audit.Log
}

func newChain(t *testing.T) chain {
	d := testkit.NewDatabase(t)
	return chain{d, audit.New(d.DB, clock.System{})}
}

func (c chain) write(t *testing.T, n int) {
	t.Helper()
	if err := c.LogDone(t.Context(), who, event(n)); err != nil {
		t.Fatal(err)
	}
}

func (c chain) verify(t *testing.T, head string) audit.Verdict {
	t.Helper()
	v, err := c.Verify(t.Context(), head)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestChain(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	if v := c.verify(t, ""); !v.Intact() || v.Events != 0 || v.Head != "" {
		t.Errorf("empty chain: %+v", v)
	}
	for n := range 3 {
		c.write(t, n)
	}
	if err := c.LogRejected(t.Context(), audit.Anonymous, audit.Event{Action: "login"}); err != nil {
		t.Fatal(err)
	}
	v := c.verify(t, "")
	if !v.Intact() || v.Events != 4 || len(v.Head) != 64 {
		t.Errorf("%+v", v)
	}
	if _, head, err := c.Head(t.Context()); err != nil || head != v.Head {
		t.Errorf("Head = %s, %v, want %s", head, err, v.Head)
	}
	c.write(t, 5)
	if again := c.verify(t, v.Head); !again.Intact() || again.Events != 5 {
		t.Errorf("verifying an earlier head: %+v", again)
	}
	if other := c.verify(t, strings.Repeat("0", 64)); other.Intact() || !other.HeadMissing {
		t.Errorf("verifying a head of another chain: %+v", other)
	}
	for _, bad := range []string{"x", "00", strings.Repeat("0", 63)} {
		if _, err := c.Verify(t.Context(), bad); apperr.As(err) == nil {
			t.Errorf("verifying the head %q: %v", bad, err)
		}
	}
}

// An event is rolled back with the transaction of its change.
func TestEventRollsBackWithItsChange(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	undone := apperr.New(apperr.Conflict, "undone", "The change was undone.")
	err := c.DB.Transaction(t.Context(), func(tx *gorm.DB) error {
		return errors.Join(audit.Write(tx, testkit.StartTime(), who, event(1)), undone)
	})
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	if v := c.verify(t, ""); v.Events != 0 {
		t.Errorf("got %d events after a rollback, want 0", v.Events)
	}
	for name, by := range map[string]audit.Actor{"no actor": {}, "no action": who} {
		e := event(1)
		if name == "no action" {
			e.Action = ""
		}
		if err := c.LogDone(t.Context(), by, e); err == nil {
			t.Errorf("%s: the event was written, want an error", name)
		}
	}
}

// A transaction that writes several events adds them to the chain in their order, however many there are.
func TestEventsOfOneTransaction(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	c.write(t, 0)
	const events = 1100 // more than fit into one INSERT
	err := c.DB.Transaction(t.Context(), func(tx *gorm.DB) error {
		for n := 1; n <= events; n++ {
			if err := audit.Write(tx, testkit.StartTime(), who, event(n)); err != nil {
				return err
			}
		}
		return tx.Exec(`SELECT 1`).Error // may follow, because the events are not written yet
	})
	if err != nil {
		t.Fatal(err)
	}
	if v := c.verify(t, ""); !v.Intact() || v.Events != events+1 {
		t.Errorf("%+v", v)
	}
	sorted := testkit.Value[bool](t, c.Database, `SELECT bool_and(object_id = 'pt_' || n) FROM (
		SELECT object_id, row_number() OVER (ORDER BY id) - 1 AS n FROM audit_events) AS numbered`)
	if !sorted {
		t.Error("the events are not in the order in which they were written")
	}
}

func TestConcurrentWritesFormOneChain(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	var all sync.WaitGroup
	for n := range 40 {
		all.Go(func() {
			err := c.DB.Transaction(t.Context(), func(tx *gorm.DB) error {
				if err := audit.Write(tx, testkit.StartTime(), who, event(n)); err != nil || n%4 > 0 {
					return err
				}
				return context.Canceled // rolls back
			})
			if (err != nil) != (n%4 == 0) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if v := c.verify(t, ""); !v.Intact() || v.Events != 30 {
		t.Errorf("%+v", v)
	}
}

// Verify detects every change to an event that bypasses the triggers.
func TestVerifyDetectsTampering(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"time":                   `UPDATE audit_events SET at = at + interval '1 microsecond' WHERE object_id = 'pt_2'`,
		"actor":                  `UPDATE audit_events SET actor = 'eve@example.com' WHERE object_id = 'pt_2'`,
		"role":                   `UPDATE audit_events SET role = '' WHERE object_id = 'pt_2'`,
		"action":                 `UPDATE audit_events SET action = 'partner.suspend' WHERE object_id = 'pt_2'`,
		"object":                 `UPDATE audit_events SET object_id = 'pt_9' WHERE object_id = 'pt_2'`,
		"boundary of two fields": `UPDATE audit_events SET object_kind = 'partnerp', object_id = 't_2' WHERE object_id = 'pt_2'`,
		"partner":                `UPDATE audit_events SET partner_id = gen_random_uuid() WHERE object_id = 'pt_2'`,
		"before":                 `UPDATE audit_events SET before = '{"status":"suspended"}' WHERE object_id = 'pt_2'`,
		"space in before":        `UPDATE audit_events SET before = '{"status": "pending"}' WHERE object_id = 'pt_2'`,
		"no before":              `UPDATE audit_events SET before = NULL WHERE object_id = 'pt_2'`,
		"after":                  `UPDATE audit_events SET after = NULL WHERE object_id = 'pt_2'`,
		"reason":                 `UPDATE audit_events SET reason = '' WHERE object_id = 'pt_2'`,
		"address":                `UPDATE audit_events SET address = '192.0.2.9' WHERE object_id = 'pt_2'`,
		"request":                `UPDATE audit_events SET request_id = '' WHERE object_id = 'pt_2'`,
		"outcome":                `UPDATE audit_events SET outcome = 'rejected' WHERE object_id = 'pt_2'`,
		"hash":                   `UPDATE audit_events SET hash = sha256('x') WHERE object_id = 'pt_2'`,
		"one event deleted":      `DELETE FROM audit_events WHERE object_id = 'pt_2'`,
		"first event deleted":    `DELETE FROM audit_events WHERE object_id = 'pt_0'`,
		"last events deleted":    `DELETE FROM audit_events WHERE object_id IN ('pt_3', 'pt_4')`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChain(t)
			for n := range 5 {
				c.write(t, n)
			}
			head := c.verify(t, "").Head
			c.Exec(t, `ALTER TABLE audit_events DISABLE TRIGGER USER`)
			c.Exec(t, sql)
			v := c.verify(t, head)
			if v.Intact() {
				t.Errorf("tampering was not detected: %+v", v)
			}
			if cut := name == "last events deleted"; cut != (v.BrokenAt == 0) {
				t.Errorf("%+v", v)
			}
		})
	}
}

// Continue verifies only what has been added, and detects that verified events were removed.
func TestContinue(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	next := func(v audit.Verdict) audit.Verdict {
		t.Helper()
		v, err := c.Continue(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := next(audit.Verdict{})
	if !v.Intact() || v.Events != 0 || v.Last != 0 {
		t.Errorf("without events: %+v", v)
	}
	for n := range 6 {
		c.write(t, n)
		v = next(v)
		if !v.Intact() || v.Events != int64(n+1) || v != c.verify(t, "") {
			t.Errorf("after event %d: %+v", n, v)
		}
	}
	c.Exec(t, `ALTER TABLE audit_events DISABLE TRIGGER USER`)
	c.Exec(t, `UPDATE audit_events SET actor = 'eve@example.com' WHERE object_id = 'pt_2'`)
	if again := next(v); again != v {
		t.Errorf("got %+v, want only new events to be verified", again)
	}
	c.Exec(t, `DELETE FROM audit_events WHERE object_id = 'pt_5'`)
	if cut := next(v); cut.Intact() || !cut.HeadMissing {
		t.Errorf("after the last event was deleted: %+v", cut)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	c := newChain(t)
	mine, theirs := uuid.New(), uuid.New()
	for n := range 10 {
		e := event(n)
		e.Partner = mine
		if n%2 == 1 {
			e.Partner, e.Action = theirs, "secret.create"
		}
		if err := c.LogDone(t.Context(), who, e); err != nil {
			t.Fatal(err)
		}
	}
	list := func(sc scope.Scope, f audit.Filter, p audit.Page) (found audit.ListResult, objects string) {
		t.Helper()
		found, err := c.List(t.Context(), sc, audit.Everything, f, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found.Events {
			objects += strings.TrimPrefix(e.ObjectID, "pt_")
		}
		return found, objects
	}
	first, objects := list(scope.System, audit.Filter{}, audit.Page{Size: 4})
	if objects != "9876" || first.Newer || !first.Older || first.Count != 10 {
		t.Errorf("first page = %s, %+v", objects, first)
	}
	second, objects := list(scope.System, audit.Filter{}, audit.Page{Size: 4, After: first.Events[3].ID})
	if objects != "5432" || !second.Newer || !second.Older {
		t.Errorf("second page = %s, %+v", objects, second)
	}
	if last, objects := list(scope.System, audit.Filter{},
		audit.Page{Size: 4, After: second.Events[3].ID}); objects != "10" || last.Older {
		t.Errorf("last page = %s, %+v", objects, last)
	}
	if back, objects := list(scope.System, audit.Filter{},
		audit.Page{Size: 4, Before: second.Events[0].ID}); objects != "9876" || back.Newer || !back.Older {
		t.Errorf("page before the second = %s, %+v", objects, back)
	}
	for name, c := range map[string]struct {
		scope scope.Scope
		f     audit.Filter
		want  string
	}{
		"scope of one partner":     {scope.Partners(mine), audit.Filter{}, "86420"},
		"empty scope":              {scope.Partners(), audit.Filter{}, ""},
		"action":                   {scope.System, audit.Filter{Action: "secret.create"}, "97531"},
		"action prefix":            {scope.System, audit.Filter{Action: "secret."}, "97531"},
		"object":                   {scope.System, audit.Filter{Kind: "partner", Object: "pt_3"}, "3"},
		"other actor":              {scope.System, audit.Filter{Actor: "eve@example.com"}, ""},
		"part of an email address": {scope.System, audit.Filter{Actor: "ADA@Exam"}, "9876543210"},
		"wildcard in actor":        {scope.System, audit.Filter{Actor: "ada%"}, ""},
		"rejections":               {scope.System, audit.Filter{Outcome: models.AuditRejected}, ""},
		"text in the actor":        {scope.System, audit.Filter{Text: "ADA@"}, "9876543210"},
		"text in the action":       {scope.System, audit.Filter{Text: "secret.cr"}, "97531"},
		"text in the object":       {scope.System, audit.Filter{Text: "PT_4"}, "4"},
		"text in the reason":       {scope.Partners(mine), audit.Filter{Text: "Checked"}, "86420"},
		"text in a value":          {scope.Partners(mine), audit.Filter{Text: "A < B"}, "86420"},
		"text in an old value":     {scope.Partners(theirs), audit.Filter{Text: "pending"}, "97531"},
		"text in two fields":       {scope.System, audit.Filter{Text: "partnerpt"}, ""},
		"wildcard in text":         {scope.System, audit.Filter{Text: "%"}, ""},
		"wildcard in action":       {scope.System, audit.Filter{Action: "%"}, ""},
	} {
		if _, objects := list(c.scope, c.f, audit.Page{Size: 20}); objects != c.want {
			t.Errorf("%s: events %q, want %q", name, objects, c.want)
		}
	}
	if raw, err := hex.DecodeString(c.verify(t, "").Head); err != nil ||
		!slices.Equal(raw, testkit.Value[[]byte](t, c.Database, `SELECT hash FROM audit_events ORDER BY id DESC LIMIT 1`)) {
		t.Errorf("Head is not the hash of the last event: %v", err)
	}
}

// TestRepeatedRejectionsAreCounted rejects 103 actions of one user in a minute. Only the first ten get events of
// their own. When the minute is over, one more event contains the number of the others.
func TestRepeatedRejectionsAreCounted(t *testing.T) {
	d := testkit.NewDatabase(t)
	manual := clock.NewManual(testkit.StartTime())
	c := chain{d, audit.New(d.DB, manual)}
	by := testkit.Actor(t, d, "ada@example.com")
	reject := func(action string, n int) {
		t.Helper()
		errs := make(chan error, n)
		for range n {
			go func() {
				errs <- c.LogRejectedRequest(t.Context(), by, audit.Event{Action: action, Kind: "route", Object: "GET /payouts"})
			}()
		}
		for range n {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	}
	count := func(want int) {
		t.Helper()
		n := testkit.Value[int](t, d, `SELECT count(*) FROM audit_events WHERE outcome = 'rejected' AND staff_id = $1`,
			by.Staff)
		if n != want {
			t.Errorf("got %d events, want %d", n, want)
		}
	}
	finish := func(want int64) {
		t.Helper()
		if n, err := c.LogRejectionCounts(t.Context()); err != nil || n != want {
			t.Errorf("counted rejections: got %d events, %v, want %d", n, err, want)
		}
	}
	reject("payouts.read", 100)
	reject("partners.write", 3)
	count(audit.RejectionsPerMinute)
	finish(0) // the minute is not over
	manual.Advance(time.Minute)
	reject("payouts.read", 2) // in a new minute
	count(audit.RejectionsPerMinute + 2)
	finish(1)
	count(audit.RejectionsPerMinute + 3)
	got := testkit.Value[string](t, d, `SELECT action || ' ' || object_kind || ' ' || (after->>'payouts.read') || ' ' || (after->>'partners.write')
		FROM audit_events ORDER BY id DESC LIMIT 1`)
	if want := "console.deny staff 90 3"; got != want {
		t.Errorf("got the event %q, want %q", got, want)
	}
	manual.Advance(time.Minute)
	finish(0) // two rejections, which have events of their own
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM rejection_counts`); n != 0 {
		t.Errorf("got %d counts, want 0", n)
	}
	if v := c.verify(t, ""); !v.Intact() {
		t.Errorf("%+v", v)
	}
}
