package testkit

import (
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// The tracer of all test databases reports statements that follow an audit event.
func TestStatementsAfterAuditEventsAreReported(t *testing.T) {
	t.Parallel()
	d := NewDatabaseURLs(t)
	const (
		lock   = `SELECT pg_advisory_xact_lock(hashtext('audit chain'))`
		read   = `SELECT hash FROM "audit_events"`
		change = `SELECT 1`
	)
	for name, c := range map[string]struct {
		statements []string
		rollBack   bool
		want       int
	}{
		"event last":             {statements: []string{change, lock, read}},
		"event alone":            {statements: []string{lock, read}},
		"no event":               {statements: []string{change, change}},
		"statement follows":      {statements: []string{lock, read, change}, want: 1},
		"two statements":         {statements: []string{lock, read, change, change}, want: 2},
		"events in two calls":    {statements: []string{lock, read, lock, read}, want: 1},
		"rolled back in the end": {statements: []string{change, lock, read}, rollBack: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reported := 0
			tracer := &auditLast{fail: func(string, ...any) { reported++ }}
			db, err := postgres.Open(t.Context(), postgres.Options{URL: d.AppURL, MaxConnections: 1, Tracer: tracer})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(db.Close)
			undone := errors.New("undone")
			for range 2 { // the second transaction uses the same connection
				err = db.Transaction(t.Context(), func(tx *gorm.DB) error {
					for _, sql := range c.statements {
						if err := tx.Exec(sql).Error; err != nil {
							return err
						}
					}
					if c.rollBack {
						return undone
					}
					return nil
				})
				if err != nil && !c.rollBack {
					t.Fatal(err)
				}
			}
			if reported != 2*c.want {
				t.Errorf("got %d reports in two transactions, want %d", reported, 2*c.want)
			}
		})
	}
}
