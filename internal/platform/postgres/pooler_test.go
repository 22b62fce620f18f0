package postgres_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

func openThrough(t *testing.T, url string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Options{
		URL: url, MaxConnections: 6, ConnectTimeout: within, StatementTimeout: 1500 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// With PgBouncer's default settings, all connections have the session's settings, and prepared statements
// and LISTEN work.
func TestPgBouncerInSessionMode(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	pgbouncer := testkit.NewPgBouncer(t, nil, d.AppURL)
	db := openThrough(t, pgbouncer.URL(t, d.AppURL))
	if state, err := db.Inspect(t.Context()); err != nil || state.CheckSchema() != nil {
		t.Fatalf("got %+v, %v", state, err)
	}
	var settings, all sync.WaitGroup
	settings.Add(4) // the four connections are open at the same time
	for range 4 {
		all.Go(func() {
			conn, err := db.Pool.Acquire(t.Context())
			if err != nil {
				t.Error(err)
				settings.Done()
				return
			}
			defer conn.Release()
			settings.Done()
			settings.Wait()
			for range 3 {
				var zone, timeout, application string
				if err := conn.QueryRow(t.Context(), `SELECT current_setting('timezone'), current_setting('statement_timeout'),
					current_setting('application_name')`).Scan(&zone, &timeout, &application); err != nil {
					t.Error(err)
				}
				if zone != "UTC" || timeout != "1500ms" || application != "pingpost" {
					t.Errorf("got time zone %s, statement timeout %s, application %s; want UTC, 1500ms, pingpost", zone, timeout, application)
				}
			}
		})
	}
	all.Wait()
	listener, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Release()
	if _, err := listener.Exec(t.Context(), `LISTEN news`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Pool.Exec(t.Context(), `NOTIFY news`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if _, err := listener.Conn().WaitForNotification(ctx); err != nil {
		t.Error(err)
	}
}

// In transaction and statement mode, the service does not start, however the pool is configured.
func TestPgBouncerInOtherModesIsRejected(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	for name, settings := range map[string][]string{
		"transaction":              {"pool_mode = transaction"},
		"statement":                {"pool_mode = statement"},
		"ignored parameter":        {"pool_mode = transaction", "ignore_startup_parameters = statement_timeout"},
		"sessions used in turn":    {"pool_mode = transaction", "server_round_robin = 1"},
		"several sessions in turn": {"pool_mode = transaction", "server_round_robin = 1", "min_pool_size = 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := testkit.NewPgBouncer(t, settings, d.AppURL, d.OwnerURL)
			_, err := openThrough(t, url.URL(t, d.AppURL)).Inspect(t.Context())
			if err == nil || postgres.Temporary(err) || !strings.Contains(err.Error(), "pool_mode = session") {
				t.Errorf("node: got %v, want a permanent error that names the right mode", err)
			}
			owner, err := postgres.OpenOwner(url.URL(t, d.OwnerURL), within)
			if err != nil {
				t.Fatal(err)
			}
			defer owner.Close()
			if err := postgres.Translate(owner.PingContext(t.Context())); err == nil || postgres.Temporary(err) {
				t.Errorf("owner: got %v, want a permanent error", err)
			}
		})
	}
}
