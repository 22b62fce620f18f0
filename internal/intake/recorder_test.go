package intake_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/protocol/quote"
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
