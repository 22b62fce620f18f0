package partners_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/models"
)

// capsNode is a node with a service, a directory and caps.
type capsNode struct {
	*partnerService
	caps      *partners.Caps
	directory *snapshot.Holder[partners.Directory]
	watcher   *snapshot.Watcher
	log       *testkit.Log
}

func openCaps(t *testing.T, db *testkit.Database) *capsNode {
	t.Helper()
	return openNode(t, db, clock.NewManual(testkit.StartTime()))
}

func openNode(t *testing.T, db *testkit.Database, now *clock.Manual) *capsNode {
	t.Helper()
	o := &partnerService{db: db, clock: now}
	o.Service = partners.NewService(db.DB, testkit.PlatformKeys(t, 1), o.clock)
	logger, log := testkit.NewLog()
	directory := snapshot.New("directory", o.LoadDirectory)
	return &capsNode{
		partnerService: o, directory: directory, log: log,
		caps: partners.NewCaps(db.DB, o.clock, logger), watcher: snapshot.NewWatcher(db.Pool, logger, directory),
	}
}

// capped creates a partner with the given daily cap.
func (c *capsNode) capped(t *testing.T, slug string, most int) models.Partner {
	t.Helper()
	p := c.partner(t, slug)
	c.db.Exec(t, `INSERT INTO partner_prices (partner_id, daily_lead_cap, updated_at) VALUES ($1, $2, now())`, p.ID, most)
	return p
}

func (c *capsNode) reached(t *testing.T, p models.Partner) bool {
	t.Helper()
	if err := c.watcher.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.caps.Count(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c.caps.Reached(c.directory.Get().ByID(p.ID))
}

// lead stores a lead that was delivered at the given time. Its id contains the time of the quote,
// which was issued ten minutes earlier.
func (c *capsNode) lead(t *testing.T, p models.Partner, at time.Time, sandbox bool) {
	t.Helper()
	c.db.Exec(t, `WITH lead AS (
		INSERT INTO leads (id, attempt_id, transaction_id, partner_id, account_id, hmac_verified, sandbox,
			price_minor, currency, industry, term_id, urgency, card_version, quoted_country, quoted_postcode, quoted_at, received_at,
			country, postcode, phone_flagged, ciphertext)
		VALUES ($1, gen_random_uuid(), 'tx_', $2, $3, false, $4, 4560, 'GBP', 'plumber', 1072, 'standard', 1, 'GB', 'SW1A 1AA', $5, $5,
			'GB', 'SW1A 1AA', false, '\x00') RETURNING *)
		INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
		SELECT partner_id, account_id, id, 'accrual', id::text, price_minor, currency, received_at FROM lead WHERE NOT sandbox`,
		id.New(at.Add(-10*time.Minute)), p.ID, uuid.New(), sandbox, at)
}

// Caps count the leads delivered in a UTC day according to the service's clock, excluding sandbox
// leads.
func TestCapsCountLeadsOfTheDay(t *testing.T) {
	t.Parallel()
	c := openCaps(t, testkit.NewDatabase(t))
	p, other, free := c.capped(t, "harbour-leads", 2), c.capped(t, "meadow-media", 1), c.partner(t, "tinker-forms")
	midnight := testkit.StartTime().Truncate(24 * time.Hour)
	c.clock.Set(midnight.Add(24*time.Hour - time.Millisecond))
	for _, step := range []struct {
		name    string
		at      time.Time
		sandbox bool
		want    bool
	}{
		{"yesterday's last lead", midnight.Add(-time.Millisecond), false, false},
		{"another lead of yesterday", midnight.Add(-2 * time.Millisecond), false, false},
		{"today's first lead", midnight, false, false},
		{"a sandbox lead", midnight.Add(time.Hour), true, false},
		{"today's last lead", midnight.Add(24*time.Hour - time.Millisecond), false, true},
	} {
		c.lead(t, p, step.at, step.sandbox)
		c.lead(t, free, step.at, step.sandbox)
		if got := c.reached(t, p); got != step.want {
			t.Errorf("after %s: reached is %t, want %t", step.name, got, step.want)
		}
	}
	if c.reached(t, other) || c.reached(t, free) {
		t.Error("a cap counts another partner's leads")
	}
	c.clock.Set(midnight.Add(24 * time.Hour))
	if c.reached(t, p) {
		t.Error("a cap counts yesterday's leads")
	}
	c.clock.Set(midnight)
	c.db.Exec(t, `DELETE FROM partner_prices`)
	if c.reached(t, p) {
		t.Error("a partner without a cap has reached it")
	}
}

// While the database is down, the last count applies until the end of its day. Counting resumes
// when the database is back.
func TestCapsWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	testkit.NewDatabaseURLs(t) // starts the goroutines that all tests share
	before := goleak.IgnoreCurrent()
	t.Run("", func(t *testing.T) {
		db, proxy := testkit.NewDatabaseBehind(t)
		c := openCaps(t, db)
		p := c.capped(t, "harbour-leads", 1)
		c.lead(t, p, c.clock.Now(), false)
		if !c.reached(t, p) {
			t.Fatal("the cap is not reached")
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		proxy.Down()
		running.Go(func() { c.caps.Run(ctx) })
		testkit.Eventually(t, time.Minute, "a count has failed", func() bool { return c.log.Count(`"level":"WARN"`) > 0 })
		if !c.caps.Reached(c.directory.Get().ByID(p.ID)) {
			t.Error("the cap is no longer reached")
		}
		midnight := c.clock.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
		for _, at := range []struct {
			moment  time.Time
			reached bool
		}{{midnight.Add(-1), true}, {midnight, false}, {midnight.Add(-24 * time.Hour), true}} {
			c.clock.Set(at.moment)
			if got := c.caps.Reached(c.directory.Get().ByID(p.ID)); got != at.reached {
				t.Errorf("at %s: reached is %t, want %t", at.moment, got, at.reached)
			}
		}
		proxy.Up()
		c.clock.Set(midnight)
		c.lead(t, p, midnight, false)
		testkit.Eventually(t, time.Minute, "the next day is counted",
			func() bool { return c.caps.Reached(c.directory.Get().ByID(p.ID)) })
		cancel()
		running.Wait()
	})
	// On a busy machine, a connection in the test's pool may still be reading in the background.
	pool := goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgconn/internal/bgreader.(*BGReader).bgRead")
	testkit.AwaitNoLeaks(t, before, pool)
}

// A database that neither answers nor closes the connection must not block counting.
func TestCountTimesOutOnAnUnresponsiveDatabase(t *testing.T) {
	t.Parallel()
	c := openCaps(t, testkit.NewDatabase(t))
	synctest.Test(t, func(t *testing.T) {
		pool := unresponsivePool(t)
		defer pool.Close()
		start := time.Now()
		err := partners.NewCaps(&postgres.DB{Pool: pool}, c.clock, slog.New(slog.DiscardHandler)).Count(t.Context())
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 10*time.Second {
			t.Errorf("got %v after %s, want a deadline error within 10s", err, time.Since(start))
		}
	})
}

// unresponsivePool returns a pool for a server that accepts connections but never answers.
func unresponsivePool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig("postgres://someone@192.0.2.1:5432/somewhere?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	cfg.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go io.Copy(io.Discard, there)
		return here, nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}
