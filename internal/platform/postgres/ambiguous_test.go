package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

func TestAmbiguousBySQLSTATE(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]bool{
		"57014": true,
		"57P01": true,
		"57P02": true,
		"57P03": true,
		"08006": true,
		"08003": true,
		"23505": false,
		"23514": false,
		"40001": false,
		"40P01": false,
		"53100": false,
		"25006": false,
		"42501": false,
		"57000": false,
	} {
		for _, err := range []error{&pgconn.PgError{Code: state}, fmt.Errorf("storing: %w", &pgconn.PgError{Code: state})} {
			if got := postgres.Ambiguous(err); got != want {
				t.Errorf("%v: %t, want %t", err, got, want)
			}
		}
	}
}

func TestAmbiguousWithoutServerError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{pgx.ErrNoRows, false}, // the server answered
		{io.ErrUnexpectedEOF, true},
		{&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, true},
		{context.DeadlineExceeded, true},
		{context.Canceled, true},
	} {
		if got := postgres.Ambiguous(c.err); got != c.want {
			t.Errorf("%v: %t, want %t", c.err, got, c.want)
		}
	}
}

// The test interrupts statements on a real server.
func TestAmbiguousWithServer(t *testing.T) {
	t.Parallel()
	d, proxy := testkit.NewDatabaseBehind(t)
	exec := func(ctx context.Context, sql string, args ...any) error {
		_, err := d.Pool.Exec(ctx, sql, args...)
		return err
	}
	// interrupt runs a statement and calls do while it runs. Statements have names, because
	// the server continues to run them after the caller has disconnected.
	interrupt := func(ctx context.Context, name string, do func(), args ...any) error {
		ended := make(chan error, 1)
		go func() { ended <- exec(ctx, `SELECT pg_sleep(60) AS `+name, args...) }()
		testkit.Eventually(t, within, "the statement is running", func() bool {
			return testkit.Value[bool](t, d,
				`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE '%AS '||$1 AND wait_event = 'PgSleep')`,
				name)
		})
		do()
		return <-ended
	}
	bounded, cancel := context.WithCancel(t.Context())
	done, over := context.WithTimeout(t.Context(), time.Nanosecond)
	defer over()
	<-done.Done()

	for _, c := range []struct {
		name string
		want bool
		err  func() error
	}{
		{"rejected by a constraint", false, func() error {
			return exec(t.Context(), insertPartner, uuid.New(), "Wrong Slug", "", "required", "")
		}},
		{"the backend was killed", true, func() error {
			return interrupt(t.Context(), "killed", func() {
				d.Exec(t,
					`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%AS killed' AND pid <> pg_backend_pid()`)
			})
		}},
		{"the statement was cancelled", true, func() error {
			return interrupt(t.Context(), "cancelled", func() {
				d.Exec(t,
					`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%AS cancelled' AND pid <> pg_backend_pid()`)
			})
		}},
		{"the context was cancelled", true, func() error { return interrupt(bounded, "given_up", cancel) }},
		{"the connection was cut", true, func() error { return interrupt(t.Context(), "cut_off", proxy.Down) }},
		{"the connection of a prepared statement was cut", true, func() error {
			proxy.Up()
			return interrupt(t.Context(), "prepared", proxy.Down, pgx.QueryExecModeCacheStatement)
		}},
		{"the network is down", false, func() error { return exec(t.Context(), `SELECT 1`) }},
		{"rejected by a constraint after the network is up again", false, func() error {
			proxy.Up()
			return exec(t.Context(), insertPartner, uuid.New(), "Wrong Slug", "", "required", "")
		}},
		{"the response was lost", true, func() error {
			proxy.DropResponse("INSERT 0 1", nil)
			return exec(t.Context(), insertPartner, uuid.New(), "a-partner", "A partner", "required", "")
		}},
		{"the lost response was for a commit", false, func() error {
			return exec(t.Context(), insertPartner, uuid.New(), "a-partner", "A partner", "required", "")
		}},
		{"no server listening", false, func() error { return connectTo(t, "postgres://127.0.0.1:1/none?sslmode=disable") }},
	} {
		err := c.err()
		if err == nil {
			t.Errorf("%s: got no error", c.name)
			continue
		}
		if got := postgres.Ambiguous(err); got != c.want {
			t.Errorf("%s: %t, want %t (%v)", c.name, got, c.want, err)
		}
		if strings.Contains(every(postgres.Translate(err)), "pg_sleep") {
			t.Errorf("%s: the error contains the statement", c.name)
		}
	}
}
