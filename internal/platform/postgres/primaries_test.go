package postgres_test

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// both returns a URL with the hosts of two servers.
func both(t *testing.T, first, second *testkit.Database, options string) string {
	t.Helper()
	other, err := url.Parse(second.AppURL)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(first.AppURL)
	if err != nil {
		t.Fatal(err)
	}
	u.Host += "," + other.Host
	return strings.Replace(u.String(), "sslmode=disable", options, 1)
}

func openWith(t *testing.T, url string, seen []postgres.Timeline) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Options{
		URL:            url,
		MaxConnections: 4,
		ConnectTimeout: within,
		Timelines:      seen,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func TestPoolStaysOnNewestPrimary(t *testing.T) {
	t.Parallel()
	old := testkit.NewServer(t)
	replaced := old.NewDatabase(t)
	standby := old.Standby(t)
	is := standby.URLs(t)
	port := func(db *postgres.DB) (port int) {
		if err := db.Pool.QueryRow(t.Context(), `SELECT current_setting('port')::int`).Scan(&port); err != nil {
			t.Fatal(err)
		}
		return port
	}
	lone := openWith(t, replaced.AppURL, nil)
	port(lone)
	before := lone.Timelines()
	if len(before) != 1 || before[0].ID != 1 {
		t.Fatalf("got timelines %v, want the first timeline of one cluster", before)
	}

	url := both(t, replaced, is, "sslmode=prefer&target_session_attrs=read-write")
	db := openWith(t, url, nil)
	if got := port(db); got != old.Port() {
		t.Errorf("connected to port %d before the promotion, want %d", got, old.Port())
	}
	logger, log := testkit.NewLog()
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { db.FollowPrimaries(ctx, logger) })
	defer following.Wait()
	defer cancel()
	busy := make(chan error, 1)
	go func() {
		_, err := db.Pool.Exec(t.Context(), `SELECT pg_sleep(60)`)
		busy <- err
	}()
	testkit.Eventually(t, within, "a statement is running on the old primary", func() bool {
		return testkit.Value[bool](t, replaced, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep')`)
	})

	is.Exec(t, `SELECT pg_promote()`)
	if err := <-busy; !postgres.Ambiguous(err) {
		t.Errorf("the statement on the old primary ended with %v, want an unknown outcome", err)
	}
	for range 8 {
		if got := port(db); got != standby.Port() {
			t.Fatalf("connected to port %d after the promotion, want %d", got, standby.Port())
		}
	}
	const logged = `"level":"ERROR"`
	testkit.Eventually(t, within, "the old primary is reported", func() bool { return log.Count(logged) == 1 })
	if got := port(openWith(t, url, nil)); got != standby.Port() {
		t.Errorf("a new pool connected to port %d, want %d", got, standby.Port())
	}

	// A pool that can only reach the old primary rejects it if it knows the newer timeline.
	seen := db.Timelines()
	if len(seen) != 1 || seen[0].System != before[0].System || seen[0].ID != 2 {
		t.Fatalf("got timelines %v, want the second timeline of the same cluster", seen)
	}
	for _, c := range []struct {
		name     string
		seen     []postgres.Timeline
		rejected bool
	}{
		{"newer timeline seen", seen, true},
		{"newer timeline of another cluster", []postgres.Timeline{{System: seen[0].System + 1, ID: 9}}, false},
		{"same timeline seen", before, false},
	} {
		_, err := openWith(t, replaced.AppURL, c.seen).Inspect(t.Context())
		if rejected := err != nil && strings.Contains(err.Error(), "replaced by a newer primary"); rejected != c.rejected || !rejected && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if log.Count(logged) != 1 {
		t.Errorf("logged more than once:\n%s", log)
	}
}

// A standby has no timeline of its own and may be used for reading.
func TestReadinessSkipsStandby(t *testing.T) {
	t.Parallel()
	primary := testkit.NewServer(t)
	primary.NewDatabase(t)
	db := openWith(t, primary.Standby(t).URLs(t).AppURL, nil)
	s, err := db.Inspect(t.Context())
	if err != nil || !s.ReadOnly || len(db.Timelines()) != 0 {
		t.Errorf("got %+v, %v, timelines %v; want a read-only server and no timeline", s, err, db.Timelines())
	}
}

func BenchmarkConnect(b *testing.B) {
	d := testkit.NewDatabaseURLs(b)
	for b.Loop() {
		db, err := postgres.Open(b.Context(), postgres.Options{
			URL:            d.AppURL,
			MaxConnections: 2,
			ConnectTimeout: 5 * time.Second,
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := db.Pool.Ping(b.Context()); err != nil {
			b.Fatal(err)
		}
		db.Close()
	}
}
