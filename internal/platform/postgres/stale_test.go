package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// TestQueryIsRetriedAfterSchemaChange changes the type of a column that a prepared query reads. The query must
// still succeed. Within a transaction, it fails once, because the error has aborted the transaction.
func TestQueryIsRetriedAfterSchemaChange(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	d.Exec(t, `CREATE TABLE things AS SELECT 1::int AS n`)
	d.Exec(t, `GRANT SELECT ON things TO pingpost_app`)
	conn, err := d.SQL.Conn(t.Context()) // one connection, which has prepared the query
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	read := func(from interface {
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}) error {
		var n int
		return from.QueryRowContext(t.Context(), `SELECT n FROM things WHERE n = $1`, 1).Scan(&n)
	}
	if err := read(conn); err != nil {
		t.Fatal(err)
	}
	d.Exec(t, `ALTER TABLE things ALTER COLUMN n TYPE bigint`)
	if err := read(conn); err != nil {
		t.Errorf("outside a transaction: %v", err)
	}

	d.Exec(t, `ALTER TABLE things ALTER COLUMN n TYPE int`)
	tx, err := conn.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if pg, ok := errors.AsType[*pgconn.PgError](read(tx)); !ok || pg.Code != "0A000" {
		t.Errorf("within a transaction: got %v, want SQLSTATE 0A000", pg)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := read(conn); err != nil {
		t.Errorf("after the transaction: %v", err)
	}
}

// A transaction that fails because a migration has changed the type of a column runs again.
func TestTransactionRunsAgainAfterSchemaChange(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	d.Exec(t, `CREATE TABLE things AS SELECT 1::int AS n`)
	d.Exec(t, `GRANT SELECT ON things TO pingpost_app`)
	for _, want := range []int{1, 2} {
		attempts, n := 0, 0
		err := d.Transaction(t.Context(), func(tx *gorm.DB) error {
			attempts++
			return tx.Raw(`SELECT n FROM things WHERE n = ?`, 1).Scan(&n).Error
		})
		if err != nil || n != 1 || attempts != want {
			t.Errorf("got %d after %d attempts (%v), want 1 after %d", n, attempts, err, want)
		}
		d.Exec(t, `ALTER TABLE things ALTER COLUMN n TYPE bigint`)
	}
}
