//go:build !short

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
