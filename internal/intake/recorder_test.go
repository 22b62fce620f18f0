package intake_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
)

const (
	within        = time.Minute
	recorderQueue = 65536
)

// run runs f in the background until stop is called or the test ends. stop waits for f to return.
func run(t testing.TB, f func(context.Context)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// newRecording returns a node that has only a Recorder and a Traffic.
func newRecording(t testing.TB, d *testkit.Database) *node {
	t.Helper()
	log, lines := testkit.NewLog()
	p := &testkit.Platform{DB: d, Time: clock.NewManual(testkit.StartTime()), Log: lines}
	p.Recorder = intake.NewRecorder(d.Pool, log, 0, func(ctx context.Context) error {
		return d.EnsurePingPartitions(ctx, p.Time.Now(), 1)
	})
	p.Traffic = intake.NewTraffic(d.Pool, log, testkit.RequestLogRows)
	return &node{Platform: p, sees: testkit.Connect(t, d.RootURL)}
}

// row returns a valid row to offer to the recorder.
func (n *node) row(i int) intake.PingRecord {
	return intake.PingRecord{
		Quote: quote.Quote{
			Country: [2]byte{'G', 'B'}, TermID: i, Postcode: "SW1A 1AA", CardVersion: 1,
			Price: money.Amount{Minor: 4560, Currency: money.GBP},
		},
		IssuedAt: n.Time.Now(), Outcome: "priced",
	}
}

func (n *node) offer(from, to int) {
	for i := from; i < to; i++ {
		n.Recorder.Offer(n.row(i))
	}
}

// recorded checks that exactly the rows 0 to count-1 were written, each once.
func (n *node) recorded(t testing.TB, count int) {
	t.Helper()
	got := see[[]int64](t, n,
		`SELECT ARRAY[count(*), count(DISTINCT term_id), coalesce(min(term_id), 0), coalesce(max(term_id), -1)] FROM pings`)
	want := []int64{int64(count), int64(count), 0, int64(count - 1)}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("rows, distinct, first and last: got %v, want %v", got, want)
	}
}

func (n *node) stats(t testing.TB, want intake.RecorderStats) {
	t.Helper()
	if got := n.Recorder.Stats(); got != want {
		t.Errorf("got stats %+v, want %+v", got, want)
	}
}

func (n *node) eventually(t testing.TB, what string, yes func(intake.RecorderStats) bool) {
	t.Helper()
	testkit.Eventually(t, within, what, func() bool { return yes(n.Recorder.Stats()) })
}

func (n *node) eventuallyFlushed(t testing.TB, written int64) {
	t.Helper()
	stop := run(t, n.Recorder.Run)
	n.eventually(t, "the rows are written", func(s intake.RecorderStats) bool { return s.Written == written })
	stop()
}

// If the queue is full, pings are dropped and counted, but never blocked (decision 2). Queued
// rows are written at shutdown. Later rows are dropped and counted.
func TestFullQueueDrops(t *testing.T) {
	t.Parallel()
	n := newRecording(t, testkit.NewDatabase(t))
	n.offer(0, recorderQueue+7)
	n.stats(t, intake.RecorderStats{DroppedFull: 7, Queued: recorderQueue})
	run(t, n.Recorder.Run)()
	n.stats(t, intake.RecorderStats{Written: recorderQueue, DroppedFull: 7})
	n.offer(0, 3)
	n.stats(t, intake.RecorderStats{Written: recorderQueue, DroppedFull: 7, DroppedClosed: 3})
	n.recorded(t, recorderQueue)
}

// While the database is unavailable, the recorder keeps the failed batch and the queued rows.
func TestRecorderSurvivesADatabaseOutage(t *testing.T) {
	t.Parallel()
	d, proxy := testkit.NewDatabaseBehind(t)
	n := newRecording(t, d)
	stop := run(t, n.Recorder.Run)
	n.offer(0, 10)
	n.eventually(t, "the first rows are written", func(s intake.RecorderStats) bool { return s.Written == 10 })
	proxy.Down()
	n.offer(10, 20)
	testkit.Eventually(t, within, "the write has failed", func() bool { return n.Log.Count(`"rows":`) > 0 })
	n.offer(20, 30)
	n.stats(t, intake.RecorderStats{Written: 10, Queued: 10})
	proxy.Up()
	n.eventually(t, "all rows are written", func(s intake.RecorderStats) bool { return s.Written == 30 })
	stop()
	n.stats(t, intake.RecorderStats{Written: 30})
	n.recorded(t, 30)
}

// Rows above the daily limit are dropped and counted. This is logged once. The next UTC day has
// its own limit, even if a ping from the day before arrives late.
func TestDailyLimitDrops(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	n := newRecording(t, d)
	log, lines := testkit.NewLog()
	n.Log = lines
	n.Recorder = intake.NewRecorder(d.Pool, log, 1000, func(ctx context.Context) error {
		return d.EnsurePingPartitions(ctx, testkit.StartTime(), 2)
	})
	stop := run(t, n.Recorder.Run)
	limited := func(want int) {
		t.Helper()
		testkit.Eventually(t, within, "the limit is logged", func() bool { return n.Log.Count(`"bytes":1000`) == want })
	}
	n.offer(0, 1000)
	first := n.Recorder.Stats()
	fit := 1000 - first.DroppedDaily
	if fit < 5 || fit > 10 { // 100 to 200 bytes each
		t.Errorf("got %d rows in 1,000 bytes", fit)
	}
	limited(1)
	late := n.row(0)
	n.Time.Advance(24 * time.Hour)
	n.offer(0, 1)
	n.Recorder.Offer(late)
	n.offer(0, 10)
	if got := n.Recorder.Stats().DroppedDaily - first.DroppedDaily; got != 12-fit {
		t.Errorf("next day: got %d dropped rows, want %d", got, 12-fit)
	}
	limited(2)
	stop()
	n.stats(t, intake.RecorderStats{Written: 2 * fit, DroppedDaily: 1012 - 2*fit})
}

// A service that stops while the database is unavailable logs the number of rows lost.
func TestRecorderLogsLostRowsAtShutdown(t *testing.T) {
	t.Parallel()
	d, proxy := testkit.NewDatabaseBehind(t)
	n := newRecording(t, d)
	proxy.Down()
	stop := run(t, n.Recorder.Run)
	n.offer(0, 5)
	testkit.Eventually(t, within, "the write has failed", func() bool { return n.Log.Count(`"rows":`) > 0 })
	n.offer(5, 12)
	stop()
	n.stats(t, intake.RecorderStats{DroppedClosed: 12})
	proxy.Up()
	n.recorded(t, 0)
}

// A service that stops while a batch waits for a retry makes one more attempt.
func TestRecorderRetriesAtShutdown(t *testing.T) {
	t.Parallel()
	d, proxy := testkit.NewDatabaseBehind(t)
	n := newRecording(t, d)
	proxy.Down()
	stop := run(t, n.Recorder.Run)
	n.offer(0, 5)
	testkit.Eventually(t, within, "several attempts have failed", func() bool { return n.Log.Count(`"rows":`) >= 5 })
	n.offer(5, 12)
	proxy.Up()
	stop()
	n.stats(t, intake.RecorderStats{Written: 12})
	n.recorded(t, 12)
}

// A batch that the database rejects is dropped and counted, and does not block later ones.
func TestRejectedBatchIsDropped(t *testing.T) {
	t.Parallel()
	n := newRecording(t, testkit.NewDatabase(t))
	stop := run(t, n.Recorder.Run)
	bad := n.row(1)
	bad.Urgency = "not UTF-8: \xff"
	n.Recorder.Offer(bad)
	n.Recorder.Offer(bad)
	n.eventually(t, "the batch is dropped", func(s intake.RecorderStats) bool { return s.DroppedRejected > 0 })
	n.offer(0, 4)
	n.eventually(t, "the next rows are written", func(s intake.RecorderStats) bool { return s.Written == 4 })
	stop()
	stats := n.Recorder.Stats()
	if stats.DroppedRejected+stats.Written != 6 || stats.DroppedRejected != 2 {
		t.Errorf("got stats %+v", stats)
	}
	n.recorded(t, 4)
	if strings.Contains(n.Log.String(), "not UTF-8") {
		t.Error("the log contains values from the ping")
	}
}

// If the partition for a ping's day is missing, the recorder creates it.
func TestMissingPartitionIsCreated(t *testing.T) {
	t.Parallel()
	n := newRecording(t, testkit.NewDatabase(t))
	run(t, n.Recorder.Run)
	n.offer(0, 1)
	n.eventually(t, "the first day's row is written", func(s intake.RecorderStats) bool { return s.Written == 1 })
	n.Time.Advance(30 * 24 * time.Hour)
	n.offer(1, 2)
	n.eventually(t, "the later day's row is written", func(s intake.RecorderStats) bool { return s.Written == 2 })
	n.recorded(t, 2)
}

// If the database becomes unavailable while a partition is created, the batch is retried.
func TestDatabaseUnavailableWhileCreatingThePartition(t *testing.T) {
	t.Parallel()
	d, proxy := testkit.NewDatabaseBehind(t)
	n := newRecording(t, d)
	log, _ := testkit.NewLog()
	calls := 0
	n.Recorder = intake.NewRecorder(d.Pool, log, 0, func(ctx context.Context) error {
		if calls++; calls == 1 {
			proxy.Down()
			defer proxy.Up()
		}
		return d.EnsurePingPartitions(ctx, n.Time.Now(), 1)
	})
	n.offer(0, 3)
	n.eventuallyFlushed(t, 3)
	n.stats(t, intake.RecorderStats{Written: 3})
	n.recorded(t, 3)
}

// All columns are written unchanged. The recorder creates the day's partition when necessary, even
// if the first rows are written at shutdown.
func TestRecorderWritesAllColumns(t *testing.T) {
	t.Parallel()
	n := newRecording(t, testkit.NewDatabase(t))
	if see[int64](t, n, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'pings'::regclass`) != 0 {
		t.Fatal("a partition exists before the first ping")
	}
	rows := []intake.PingRecord{
		{
			Quote: quote.Quote{
				ID: uuid.New(), Price: money.Amount{Minor: 1<<31 - 1, Currency: money.AUD}, Country: [2]byte{'Z', 'Z'},
				TermID: 1072, Postcode: "〒100-0001 東京", CardVersion: 7, Partner: uuid.New(), Sandbox: true,
			},
			IssuedAt: testkit.StartTime().Add(123_456 * time.Microsecond),
			Urgency:  "dès que possible 🚰",
			JobType:  `tab	"quote" \N \.`,
			Budget:   "£500–£1,000\r\nou plus",
			Outcome:  "priced",
			Took:     131 * time.Microsecond,
		},
		{
			Quote:    quote.Quote{Price: money.Amount{Currency: money.EUR}, Country: [2]byte{'F', 'R'}, TermID: 1},
			IssuedAt: testkit.StartTime(), Outcome: string(models.OutcomeExcluded),
		},
	}
	stop := run(t, n.Recorder.Run)
	for _, row := range rows {
		n.Recorder.Offer(row)
	}
	stop()
	n.stats(t, intake.RecorderStats{Written: 2})
	got := n.readPings(t)
	if len(got) != len(rows) {
		t.Fatalf("got %d rows, want %d", len(got), len(rows))
	}
	for i, want := range rows {
		if !got[i].IssuedAt.Equal(want.IssuedAt) {
			t.Errorf("row %d: got time %s, want %s", i, got[i].IssuedAt, want.IssuedAt)
		}
		got[i].IssuedAt = want.IssuedAt
		if got[i] != want {
			t.Errorf("row %d: got %+v\nwant %+v", i, got[i], want)
		}
	}
}

// readPings reads the pings by price, highest first.
func (n *node) readPings(t testing.TB) []intake.PingRecord {
	t.Helper()
	rows, err := n.sees.Query(t.Context(), `SELECT transaction, issued_at, partner_id, sandbox, term_id, country, postcode, urgency,
		job_type, budget, outcome, price_minor, currency, card_version, duration_us FROM pings ORDER BY price_minor DESC`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p intake.PingRecord, err error) {
		var country, currency string
		var transaction, partner *uuid.UUID
		var micros int64
		err = row.Scan(&transaction, &p.IssuedAt, &partner, &p.Quote.Sandbox, &p.Quote.TermID, &country, &p.Quote.Postcode, &p.Urgency,
			&p.JobType, &p.Budget, &p.Outcome, &p.Quote.Price.Minor, &currency, &p.Quote.CardVersion, &micros)
		if err != nil {
			return p, err
		}
		if transaction != nil {
			p.Quote.ID = *transaction
		}
		if partner != nil {
			p.Quote.Partner = *partner
		}
		copy(p.Quote.Country[:], country)
		p.Took = time.Duration(micros) * time.Microsecond
		p.Quote.Price.Currency, err = money.ParseCurrency(currency)
		return p, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// All pings except rejected ones are recorded with their results.
func TestPingsAreRecorded(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.setPrice(t, n.Off, 0, `[{"industry":"plumber"}]`, nil)
	const text = `{"industry":"plumber","postcode":" É1 ","country":"fr","urgency":" ASAP ","job_type":"répair","budget":"£1"}`
	priced := n.ping(t, n.Required.Slug, text)
	n.ping(t, n.Off.Slug, text)
	if _, err := n.in.Ping(intake.PingRequest{ID: uuid.New(), Body: []byte(`{}`)}); err == nil {
		t.Fatal("an empty ping was priced")
	}
	n.eventuallyFlushed(t, 2)
	got := n.readPings(t)
	p, rejected := got[0], got[1]
	if p.Quote != (quote.Quote{ID: p.Quote.ID, Price: priced.Quote.Price, Country: [2]byte{'F', 'R'}, TermID: priced.Quote.TermID, Postcode: "É1", CardVersion: 1, Partner: n.Required.ID}) ||
		p.Quote.ID != priced.Quote.ID || p.JobType != "répair" || p.Budget != "£1" || p.Outcome != "priced" ||
		!p.IssuedAt.Equal(n.Time.Now()) {
		t.Errorf("got %+v", p)
	}
	if !strings.EqualFold(strings.TrimSpace(p.Urgency), "asap") {
		t.Errorf("got urgency %q", p.Urgency)
	}
	if rejected.Quote.ID != uuid.Nil || rejected.Outcome != string(models.OutcomeExcluded) ||
		rejected.Quote.Price.Minor != 0 || rejected.Quote.Partner != n.Off.ID {
		t.Errorf("got %+v", rejected)
	}
}

// The queue is limited to 16 MiB as well as to a number of rows. After the queued rows are written,
// new ones are accepted (decision 2).
func TestQueueIsFullAt16MiB(t *testing.T) {
	t.Parallel()
	n := newRecording(t, testkit.NewDatabase(t))
	long := n.row(0)
	long.Urgency = strings.Repeat("x", 1<<20)
	for range 20 {
		n.Recorder.Offer(long)
	}
	n.stats(t, intake.RecorderStats{Queued: 16, DroppedFull: 4})
	stop := run(t, n.Recorder.Run)
	n.eventually(t, "the rows are written", func(s intake.RecorderStats) bool { return s.Written == 16 })
	n.Recorder.Offer(long)
	stop()
	n.stats(t, intake.RecorderStats{Written: 17, DroppedFull: 4})
}
