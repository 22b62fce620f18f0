package intake_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/models"
)

// ticking is a clock that advances by a step on each call.
type ticking struct {
	*clock.Manual
	step time.Duration
}

func (c ticking) Now() time.Time {
	c.Advance(c.step)
	return c.Manual.Now()
}

// The time taken by a ping is recorded in microseconds in the pings table and the traffic counters,
// whether the ping is priced or declined (decision 2).
func TestTimingIsRecorded(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.setPrice(t, n.Off, 0, `[{"industry":"plumber"}]`, nil)
	const step = 1003 * time.Microsecond
	n.Clock = ticking{n.Time, step}
	n.in = n.Intake(settings())
	answers := []intake.PingResult{n.ping(t, n.Required.Slug, leastPing), n.ping(t, n.Off.Slug, leastPing)}
	n.eventuallyFlushed(t, 2)
	n.Traffic.Flush(t.Context())
	recorded, counters := n.readPings(t), n.counters(t)
	for i, name := range []string{"priced", string(models.OutcomeExcluded)} {
		took := answers[i].Timing.Auction
		if cell := answers[i].Timing.Cell; cell != step || took <= cell || took%step != 0 {
			t.Errorf("%s: got auction %s with lookup %s", name, took, cell)
		}
		if recorded[i].Outcome != name || recorded[i].Took != took {
			t.Errorf("%s: took %s, recorded as %s %s", name, took, recorded[i].Outcome, recorded[i].Took)
		}
		want := make([]int64, len(models.LatencyBounds)+1)
		want[slices.IndexFunc(models.LatencyBounds[:], func(bound time.Duration) bool { return took <= bound })] = 1
		for k, c := range counters {
			if k.Outcome == name && !slices.Equal(c.latency, want) {
				t.Errorf("%s took %s, got counts %v", name, took, c.latency)
			}
		}
	}
	if len(counters) != 2 {
		t.Errorf("got counts %v", counters)
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
