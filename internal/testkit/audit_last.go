package testkit

import (
	"context"
	"strings"
	"sync"
	"testing"

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
