package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// openSQL returns the pool as a database/sql pool, whose queries are retried by retryingConn.
func openSQL(pool *pgxpool.Pool) *sql.DB {
	db := sql.OpenDB(retryingConnector{stdlib.GetPoolConnector(pool)})
	db.SetMaxIdleConns(0) // the pool keeps the idle connections
	return db
}

type retryingConnector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c retryingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return retryingConn{conn.(*stdlib.Conn)}, nil
}

// retryingConn retries a query once if a migration has changed the columns of its result. Postgres reports
// this before it runs the query, and pgx then prepares the query again. Within a transaction, the error has
// aborted the transaction, so the query is not retried. DB.Transaction runs the whole transaction again.
type retryingConn struct{ *stdlib.Conn }

const noTransaction = 'I'

// QueryContext implements driver.QueryerContext.
func (c retryingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Conn.QueryContext(ctx, query, args)
	if isStale(err) && c.Conn.Conn().PgConn().TxStatus() == noTransaction {
		return c.Conn.QueryContext(ctx, query, args)
	}
	return rows, err
}

// isStale reports whether a prepared statement would now return different columns than when it was prepared.
// Several errors have the same SQLSTATE. The routine tells them apart, because the message can be translated.
func isStale(err error) bool {
	var safe *Err
	return errors.As(Translate(err), &safe) && safe.SQLState == "0A000" && safe.routine == "RevalidateCachedQuery"
}
