//go:build !short

package erasure_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// An erasure whose process is killed at a step is finished by another process, or has not begun.
func TestErasureSurvivesKilledProcess(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stopBefore, stopAfter int64
		lock                  string // the table whose lock stops the process
		pending               bool   // whether the erasure has begun
	}{
		"before the pending entry is committed": {lock: "audit_events"},
		"before the journal is written":         {stopBefore: 1, pending: true},
		"after the journal was written":         {stopAfter: 1, pending: true},
		"before the erasure is committed":       {lock: "files", pending: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rig{leadkit.New(t)}
			lead, other := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact)
			lock, err := testkit.Connect(t, r.DB.RootURL).Begin(t.Context())
			if err == nil && tt.lock != "" {
				_, err = lock.Exec(t.Context(), `LOCK TABLE `+tt.lock+` IN ACCESS EXCLUSIVE MODE`)
			}
			if err != nil {
				t.Fatal(err)
			}
			p := r.Begin(t, leadkit.Task{Lead: lead, StopBefore: tt.stopBefore, StopAfter: tt.stopAfter})
			if tt.lock != "" {
				r.DB.AwaitLockOn(t, tt.lock)
			} else {
				p.AwaitStop(t)
			}
			p.Kill(t)
			leadkit.Must(t, lock.Rollback(t.Context()))
			leadkit.Must(t, os.WriteFile(filepath.Join(r.Folder, "000000000001.json.KILLED.tmp"), []byte(`{"platf`), 0o600)) // from a process killed while it wrote

			if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM lead_keys`); n != 2 {
				t.Errorf("got %d keys, want 2: nothing may be erased yet", n)
			}
			if _, pending, err := r.Erasures.ReceiptOf(t.Context(), lead); err != nil || pending != tt.pending {
				t.Errorf("pending: got %t, %v, want %t", pending, err, tt.pending)
			}
			if _, err := r.Reveal(t, lead); (leadkit.Rejection(err) == "conflict erased") != tt.pending {
				t.Errorf("reveal: got %v", err)
			}
			if tt.pending {
				err = r.Erasures.Finish(t.Context())
			} else {
				_, err = r.Erase(t, lead)
			}
			leadkit.Must(t, err)
			r.CheckErasedOnce(t, []uuid.UUID{lead})
			if _, err := r.Reveal(t, other); err != nil {
				t.Errorf("the other lead: %v", err)
			}
			if n := r.AuditEvents(t, "lead.erase", "done"); n != 1 {
				t.Errorf("got %d audit events, want 1", n)
			}
		})
	}
}
