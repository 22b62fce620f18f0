package intake_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/models"
)

// Counts and rejections from a failed write are merged with newer ones. No count is lost, and the
// rejections stay in order.
func TestFailedWriteIsMergedWithNewCounts(t *testing.T) {
	t.Parallel()
	d, proxy := testkit.NewDatabaseBehind(t)
	n := nodeOn(t, d)
	k := intake.TrafficKey{Endpoint: intake.EndpointPing, Outcome: "priced"}
	before := n.signed(n.Off, n.Off.Slug, body("tx_1"))
	later := n.signed(n.Off, n.Off.Slug, body("tx_2"))
	for range 3 {
		n.Traffic.Count(k, n.Time.Now(), time.Microsecond)
	}
	n.rejected(t, before, badTransactionID)
	// Neither transaction begins, so neither can be committed.
	proxy.DropResponse("BEGIN", func() {
		for range 2 {
			n.Traffic.Count(k, n.Time.Now(), time.Hour)
		}
		proxy.DropResponse("BEGIN", func() { n.rejected(t, later, badTransactionID) })
	})
	n.Traffic.Flush(t.Context())
	if n.Log.Count(`"level":"WARN"`) != 2 || len(n.counters(t)) != 0 {
		t.Fatalf("want failed writes: %s", n.Log)
	}
	n.Traffic.Flush(t.Context())

	latency := make([]int64, len(models.LatencyBounds)+1)
	latency[0], latency[len(models.LatencyBounds)] = 3, 2
	minute := n.Time.Now().Truncate(time.Minute)
	if got := n.counters(t)[counter{minute, k}]; got.count != 5 || !slices.Equal(got.latency, latency) {
		t.Errorf("got %+v, want 3 fast requests and 2 slow ones", got)
	}
	kept := n.rejections(t, n.Off) // newest first
	if len(kept) != 2 || kept[0].request != later.ID || kept[1].request != before.ID || n.Traffic.Dropped() != 0 {
		t.Errorf("got %+v; %d dropped", kept, n.Traffic.Dropped())
	}
}

// A request that is rejected before it is read is recorded with the reason of its *apperr.Error,
// or as "error". The text of an error could contain anything and is not recorded (decision 24).
func TestUnreadableRequestsAreCounted(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	at := n.Time.Now()
	request := uuid.New()
	n.in.RecordRejection(intake.EndpointPing, n.Off.Slug, request, at, errors.New("read tcp 192.0.2.1: connection reset"))
	n.in.RecordRejection(intake.EndpointPost, shared, uuid.New(), at, intake.ErrUnknownSlug)
	n.in.RecordRejection(intake.EndpointPost, "unknown-slug", uuid.New(), at, intake.ErrUnknownSlug)
	n.Traffic.Flush(t.Context())
	minute := at.Truncate(time.Minute)
	want := map[counter]int64{
		{minute, intake.TrafficKey{Partner: n.Off.ID, Endpoint: "ping", Outcome: "error"}}: 1,
		{minute, intake.TrafficKey{Endpoint: "post", Outcome: "unknown_partner"}}:          1,
	}
	if got := n.counts(t); !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	kept := n.rejections(t, n.Off)
	if len(kept) != 1 || kept[0].request != request || kept[0].endpoint != "ping" || kept[0].outcome != "error" ||
		len(kept[0].fields) != 0 || !kept[0].at.Equal(at) {
		t.Errorf("got %+v", kept)
	}
}
