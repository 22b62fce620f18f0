package reconcile_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// A comparison that is cancelled while it writes leaves nothing, and can be asked for
// again.
func TestComparisonIsCancelled(t *testing.T) {
	t.Parallel()
	o := open(t)
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
	hold(`BEGIN; LOCK TABLE reconciliation_lines IN SHARE MODE`) // it can be read, and not written
	o.works(t)
	testkit.Eventually(t, time.Minute, "it waits to write", func() bool {
		return testkit.Value[bool](t, o.DB, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)
	})
	w, found, err := o.desk.Of(t.Context(), r.ID)
	if err != nil || !found {
		t.Fatal(err)
	}
	if err := o.desk.Cancel(t.Context(), scope.Everywhere, o.who, w.ID); err != nil {
		t.Fatal(err)
	}
	hold(`COMMIT`)
	r = o.get(t, r.ID)
	if r.State != models.ReconciliationUploaded {
		t.Errorf("it is %s", r.State)
	}
	if err := o.Compare(t.Context(), scope.Everywhere, r.ID, r.RowVersion, inColumns, january(1), january(2)); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, "it is compared", func() bool { return o.get(t, r.ID).State == models.ReconciliationCompared })
	if lines := o.lines(t, scope.Everywhere, r.ID); len(lines) != 1 {
		t.Errorf("%d lines", len(lines))
	}
}

// A command that died while it compared does not hold the list for ever, and what it
// may still be writing comes to nothing.
func TestComparisonOfACommandThatDied(t *testing.T) {
	t.Parallel()
	o := open(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	r := o.upload(t, acme.ID, "leadId,amount,currency", leadID(uuid.New())+",1,GBP")
	o.DB.Exec(t, `UPDATE reconciliations SET state = 'comparing' WHERE id = $1`, r.ID)
	if got := o.compare(t, r, inColumns, 2); got.State != models.ReconciliationCompared || len(got.lines) != 1 {
		t.Errorf("%s, %d lines", got.State, len(got.lines))
	}
}
