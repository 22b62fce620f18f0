package testkit

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// auditLast is a pgx tracer that fails a test if a transaction runs a statement after it has written its
// audit events. The hash chain of the audit log stays locked until the transaction ends, so all other
// changes would wait for this statement, too.
type auditLast struct {
	fail   func(format string, args ...any)
	locked sync.Map // the connections whose transaction has locked the hash chain
}

func newAuditLast(t testing.TB) *auditLast { return &auditLast{fail: t.Errorf} }

// TraceQueryStart checks a statement before it runs.
func (a *auditLast) TraceQueryStart(ctx context.Context, conn *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	sql := strings.ToLower(strings.TrimSpace(q.SQL))
	_, locked := a.locked.Load(conn)
	switch {
	case strings.HasPrefix(sql, "begin"), strings.HasPrefix(sql, "commit"), strings.HasPrefix(sql, "rollback"):
		a.locked.Delete(conn)
	case strings.Contains(sql, "hashtext('audit chain')"):
		if locked {
			a.fail("a transaction writes audit events twice, want all events in one call")
		}
		a.locked.Store(conn, true)
	case locked && !strings.Contains(sql, `"audit_events"`):
		a.fail("a transaction runs a statement after it has written its audit events: %s", q.SQL)
	}
	return ctx
}

// TraceQueryEnd does nothing. pgx requires it.
func (a *auditLast) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// HoldAuditLog locks the audit log's hash chain until the returned function is called. Every transaction
// that changes something then waits in its last step, and holds all its other locks.
func (d *Database) HoldAuditLog(t testing.TB) (release func()) {
	t.Helper()
	holder := Connect(t, d.RootURL)
	exec := func(sql string) {
		t.Helper()
		if _, err := holder.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`BEGIN; SELECT pg_advisory_xact_lock(hashtext('audit chain'))`)
	return func() {
		t.Helper()
		exec(`COMMIT`)
	}
}

// CheckDuring starts a change, waits until its transaction has only its audit events left to write, and
// calls the function check while this transaction is open. Then it lets the change finish, and returns its
// error.
func (d *Database) CheckDuring(t testing.TB, change func() error, check func()) error {
	t.Helper()
	release := d.HoldAuditLog(t)
	done := make(chan error, 1)
	go func() { done <- change() }()
	var early error
	Eventually(t, 10*time.Second, "the change waits for the audit log", func() bool {
		select {
		case early = <-done:
			return true
		default:
		}
		return Value[bool](t, d, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event = 'advisory' AND query LIKE '%audit chain%')`)
	})
	if early != nil {
		release()
		return early
	}
	check()
	release()
	return <-done
}
