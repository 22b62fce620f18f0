package requests_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

// An erasure for a request has several entries. If its process is killed between them, another process
// finishes it.
func TestErasureRequestSurvivesKilledProcess(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	r.copyLead(t, r.Deliver(t, leadkit.Contact), 2500)
	request := r.Request(t, models.RequestErasure)
	all := testkit.Value[[]uuid.UUID](t, r.DB, `SELECT array_agg(id) FROM leads`)
	p := r.Begin(t, leadkit.Task{Request: request, StopAfter: 2})
	p.AwaitStop(t)
	p.Kill(t)
	if _, found := r.State(t, request); found.Erased != 1000 || found.Pending != len(all)-1000 {
		t.Errorf("got %d erased and %d pending leads, want 1000 and the rest", found.Erased, found.Pending)
	}
	leadkit.Must(t, r.Erasures.Finish(t.Context()))
	if outcome, found := r.State(t, request); outcome != string(models.OutcomeErased) || found.Erased != len(all) {
		t.Errorf("got %s with %d erased leads, want erased with %d", outcome, found.Erased, len(all))
	}
	r.CheckErasedOnce(t, all)
}

// copyLead stores n copies of a lead under other ids. Their contact records cannot be decrypted, because
// they are bound to the lead.
func (r rig) copyLead(t *testing.T, lead uuid.UUID, n int) {
	t.Helper()
	r.DB.Exec(t, `WITH ids AS (SELECT l.id AS old, (substring(l.id::text FOR 24) || lpad(to_hex(i), 12, '0'))::uuid AS new, gen_random_uuid() AS attempt
			FROM leads l, generate_series(1, $2) i WHERE l.id = $1),
		lead AS (INSERT INTO leads SELECT (jsonb_populate_record(l, jsonb_build_object('id', new, 'attempt_id', attempt, 'transaction_id', 'tx_' || new))).* FROM leads l, ids WHERE l.id = old)
		INSERT INTO lead_keys SELECT (jsonb_populate_record(k, jsonb_build_object('lead_id', new))).* FROM lead_keys k, ids WHERE k.lead_id = old`, lead, n)
}
