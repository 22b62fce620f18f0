package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

// If a comparison is cancelled while its lines are being written, none of them are kept, and it can be repeated.
func TestCancelComparison(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	r := o.upload(t, acme.ID, "leadId,amount,currency", leadID(uuid.New())+",1,GBP")
	root := testkit.Connect(t, o.DB.RootURL)
	hold := func(sql string) {
		if _, err := root.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Compare(t.Context(), scope.Everywhere, r.ID, r.RowVersion, inColumns, january(1), january(2)); err != nil {
		t.Fatal(err)
	}
	hold(`BEGIN; LOCK TABLE reconciliation_lines IN SHARE MODE`) // allows reading, but not writing
	o.works(t)
	testkit.Eventually(t, time.Minute, "comparison waits for the lock", func() bool {
		return testkit.Value[bool](t, o.DB,
			`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)
	})
	w, found, err := o.queue.Latest(t.Context(), r.ID)
	if err != nil || !found {
		t.Fatal(err)
	}
	if err := o.queue.Cancel(t.Context(), scope.Everywhere, o.who, w.ID); err != nil {
		t.Fatal(err)
	}
	hold(`COMMIT`)
	r = o.get(t, r.ID)
	if r.State != models.ReconciliationUploaded {
		t.Errorf("got state %s, want uploaded", r.State)
	}
	if err := o.Compare(t.Context(), scope.Everywhere, r.ID, r.RowVersion, inColumns, january(1), january(2)); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, "comparison",
		func() bool { return o.get(t, r.ID).State == models.ReconciliationCompared })
	if lines := o.lines(t, scope.Everywhere, r.ID); len(lines) != 1 {
		t.Errorf("got %d lines, want 1", len(lines))
	}
}

// A running command blocks the reconciliation that it compares. A crashed command does not.
func TestComparisonByCrashedCommand(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	r := o.upload(t, acme.ID, "leadId,amount,currency", leadID(uuid.New())+",1,GBP")
	state := func() models.ReconciliationState {
		seen, err := o.GetLive(t.Context(), scope.Everywhere, r.ID)
		if err != nil {
			t.Error(err)
		}
		return seen.State
	}
	o.DB.Exec(t, `UPDATE reconciliations SET state = 'comparing' WHERE id = $1`, r.ID)
	if got := state(); got != models.ReconciliationUploaded {
		t.Errorf("after a crash: got state %s, want uploaded", got)
	}
	looked := false
	err := o.CompareNow(t.Context(), scope.Everywhere, r.ID, r.RowVersion, inColumns, january(1), january(2), func(phase string, _, _ int64) {
		if phase != "reading rows" {
			return
		}
		looked = true
		if got := state(); got != models.ReconciliationComparing {
			t.Errorf("while the command runs: got state %s, want comparing", got)
		}
		err := o.Compare(t.Context(), scope.Everywhere, r.ID, o.get(t, r.ID).RowVersion, inColumns, january(1), january(2))
		if f := apperr.As(err); f == nil || f.Reason != "comparing" {
			t.Errorf("comparing while the command runs: got %v, want the error comparing", err)
		}
	})
	if got := state(); err != nil || !looked || got != models.ReconciliationCompared ||
		len(o.lines(t, scope.Everywhere, r.ID)) != 1 {
		t.Errorf("got error %v, state %s and progress reported %t, want compared and true", err, got, looked)
	}
}

// A command that fails because of a newer comparison does not reset the newer comparison.
func TestCommandKeepsNewerComparison(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	r := o.upload(t, acme.ID, "leadId,amount,currency", leadID(uuid.New())+",1,GBP")
	overtaken := false
	err := o.CompareNow(t.Context(), scope.Everywhere, r.ID, r.RowVersion, inColumns, january(1), january(2), func(phase string, _, _ int64) {
		if !overtaken && phase == "reading rows" {
			overtaken = true
			o.DB.Exec(t, `UPDATE reconciliations SET row_version = row_version + 1 WHERE id = $1`, r.ID)
		}
	})
	if got := o.get(t, r.ID); apperr.As(err) == nil || got.State != models.ReconciliationComparing ||
		got.RowVersion != r.RowVersion+2 {
		t.Errorf("got error %v, state %s and version %d, want an error, comparing and %d", err, got.State, got.RowVersion, r.RowVersion+2)
	}
}

func TestCompareNowReturnsUndoError(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	r := o.upload(t, acme.ID, "leadId,amount,currency", leadID(uuid.New())+",1,GBP")
	o.DB.Exec(t, `CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION USING ERRCODE = CASE NEW.state WHEN 'uploaded' THEN 'ZZ002' ELSE 'ZZ001' END; END $$`)
	o.DB.Exec(t,
		`CREATE TRIGGER reject BEFORE UPDATE ON reconciliations FOR EACH ROW WHEN (NEW.state <> 'comparing') EXECUTE FUNCTION reject()`)
	err := o.CompareNow(t.Context(), scope.Everywhere, r.ID, r.RowVersion, inColumns, january(1), january(2),
		func(string, int64, int64) {})
	if err == nil || !strings.Contains(err.Error(), "ZZ001") || !strings.Contains(err.Error(), "ZZ002") {
		t.Errorf("got %v, want ZZ001 and ZZ002", err)
	}
}

// Lines are deleted in batches before a file is compared again and after a reconciliation is discarded.
func TestLinesAreDeletedInBatches(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	many := func(r reconcile.Reconciliation) {
		o.DB.Exec(t, `UPDATE reconciliations SET state = 'comparing' WHERE id = $1`, r.ID)
		o.DB.Exec(t,
			`INSERT INTO reconciliation_lines (reconciliation_id, line, finding) SELECT $1, n, 'unknown' FROM generate_series(2, 20001) n`,
			r.ID)
		o.DB.Exec(t, `UPDATE reconciliations SET state = 'compared' WHERE id = $1`, r.ID)
	}
	left := func() int64 { return testkit.Value[int64](t, o.DB, `SELECT count(*) FROM reconciliation_lines`) }
	got := o.compare(t, o.upload(t, acme.ID, "leadId,amount,currency", leadID(uuid.New())+",1,GBP"), inColumns, 2)
	many(got.Reconciliation)
	if got = o.compare(t, o.get(t, got.ID), inColumns, 2); len(got.lines) != 1 || left() != 1 {
		t.Errorf("after comparing again: got %d lines shown and %d stored, want 1", len(got.lines), left())
	}
	many(got.Reconciliation)
	if err := o.Discard(t.Context(), scope.Everywhere, got.ID, got.RowVersion); err != nil {
		t.Fatal(err)
	}
	if shown := o.lines(t, scope.Everywhere, got.ID); len(shown) != 0 || left() != 1 {
		t.Errorf("after discarding: got %d lines shown and %d stored, want 0 and 1", len(shown), left())
	}
	if n, err := o.DeleteExpired(t.Context()); err != nil || n != 1 || left() != 0 {
		t.Errorf("DeleteExpired = %d, %v with %d lines left, want 1 and 0 lines", n, err, left())
	}
}
