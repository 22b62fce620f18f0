package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// errPooler means that a pooler gives a connection another session for each transaction. Prepared
// statements, LISTEN and settings such as statement_timeout belong to a session.
var errPooler = errors.New("a pooler such as PgBouncer gives each transaction or statement another session, " +
	"so prepared statements and time limits are lost: set pool_mode = session (any version), or connect directly")

// poolerRounds is how many times poolerCheck compares the sessions of two connections.
const poolerRounds = 4

// poolerCheck rejects connections through a pooler that does not keep sessions.
type poolerCheck struct {
	hosts func() []pgconn.Config

	mu     sync.Mutex
	passed bool
}

// run returns errPooler if the server's session changes between the statements of a connection. A direct
// connection is recognised without another round trip, because its process ID is the session's. With a
// pooler, run opens a second connection. In session mode, the two connections always have two different
// sessions. In other modes, the pooler gives any idle session to the next connection that needs one. Once a
// pooler has passed, run does not check it again.
func (c *poolerCheck) run(ctx context.Context, conn *pgconn.PgConn, backend string) error {
	if backend == strconv.FormatUint(uint64(conn.PID()), 10) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.passed {
		return nil
	}
	second, err := c.connectAgain(ctx, conn.Conn().RemoteAddr().String())
	if err != nil {
		return fmt.Errorf("opening a second connection through the pooler: %w", err)
	}
	defer second.Close(ctx)
	other, err := sessionOf(ctx, second)
	if err != nil {
		return err
	}
	if backend == other {
		return errPooler
	}
	// The order varies, because a pooler may use its sessions in turn.
	for range poolerRounds {
		for _, step := range []struct {
			conn    *pgconn.PgConn
			session string
		}{{conn, backend}, {second, other}, {second, other}, {conn, backend}} {
			session, err := sessionOf(ctx, step.conn)
			if err != nil {
				return err
			}
			if session != step.session {
				return errPooler
			}
		}
	}
	c.passed = true
	return nil
}

// connectAgain opens another connection to the same address.
func (c *poolerCheck) connectAgain(ctx context.Context, address string) (conn *pgconn.PgConn, err error) {
	for _, host := range c.hosts() {
		cfg := host.Copy()
		dial := cfg.DialFunc
		cfg.DialFunc = func(ctx context.Context, network, to string) (net.Conn, error) {
			if to != address {
				return nil, errors.New("another host")
			}
			return dial(ctx, network, to)
		}
		if conn, err = pgconn.ConnectConfig(ctx, cfg); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// sessionOf returns the process ID of a connection's session on the server.
func sessionOf(ctx context.Context, conn *pgconn.PgConn) (string, error) {
	results, err := conn.Exec(ctx, `SELECT pg_backend_pid()`).ReadAll()
	if err != nil {
		return "", err
	}
	return string(results[0].Rows[0][0]), nil
}
