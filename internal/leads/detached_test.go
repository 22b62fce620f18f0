package leads_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// beforeFind is a pgx tracer that runs a function before each query that finds leads by their ids.
type beforeFind func()

func (run beforeFind) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if q.SQL == leads.FindSQL {
		run()
	}
	return ctx
}

func (beforeFind) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A partition can be detached after a retry has found that its lead is stored, and before the lead is
// read. The result must not be final, because the partner would write off a lead that it is paid for.
func TestRetryWhilePartitionIsDetached(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"leads", "lead_keys"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			p := platform(t)
			first := delivery(p, p.Required)
			if _, _, err := p.Leads.Deliver(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			partition := table + "_20260101"
			db, err := postgres.Open(t.Context(), postgres.Options{URL: p.DB.AppURL, Tracer: beforeFind(func() {
				p.DB.Exec(t, `ALTER TABLE `+table+` DETACH PARTITION `+partition)
			})})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(db.Close)
			again := delivery(p, p.Required)
			again.Lead.ID = first.Lead.ID
			_, _, err = leads.NewStore(db.Pool).Deliver(t.Context(), again)
			if err == nil || apperr.As(err) != nil {
				t.Errorf("got %v, want an error that becomes a 503", err)
			}
		})
	}
}
