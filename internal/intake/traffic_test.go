package intake_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/models"
)

type counter struct {
	minute time.Time
	intake.TrafficKey
}

type counted struct {
	count   int64
	latency []int64
}

// counters reads the traffic and checks that each row's buckets add up to its count.
func (n *node) counters(t testing.TB) map[counter]counted {
	t.Helper()
	rows, err := n.sees.Query(t.Context(),
		`SELECT minute, partner_id, account_id, secret_id, endpoint, outcome, count, latency FROM traffic_minutes`)
	if err != nil {
		t.Fatal(err)
	}
	found := map[counter]counted{}
	var k counter
	var c counted
	_, err = pgx.ForEachRow(rows, []any{&k.minute, &k.Partner, &k.Account, &k.Secret, &k.Endpoint, &k.Outcome,
		&c.count, &c.latency}, func() error {
		var sum int64
		for _, n := range c.latency {
			sum += n
		}
		if sum != c.count || len(c.latency) != len(models.LatencyBounds)+1 {
			t.Errorf("%+v: count %d, buckets %v", k, c.count, c.latency)
		}
		k.minute = k.minute.UTC()
		found[k] = counted{c.count, slices.Clone(c.latency)}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (n *node) counts(t testing.TB) map[counter]int64 {
	t.Helper()
	found := map[counter]int64{}
	for k, c := range n.counters(t) {
		found[k] = c.count
	}
	return found
}

func TestTrafficByMinuteAndOutcome(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	minute := n.Time.Now().Truncate(time.Minute)
	n.setPrice(t, n.ReportOnly, 0, `[{"industry":"plumber"}]`, nil)

	tx := n.quote(t, n.Off.Slug)
	n.ping(t, n.Off.Slug, leastPing)
	n.ping(t, shared, leastPing)
	n.ping(t, n.ReportOnly.Slug, leastPing)
	if _, err := n.in.Ping(intake.PingRequest{ID: uuid.New(), Slug: n.Off.Slug, Body: []byte("{}")}); err == nil {
		t.Fatal("an empty ping was priced")
	}
	n.post(t, unsigned(n.Off.Slug, body(tx)))
	n.post(t, n.signed(n.Off, n.Off.Slug, body(tx)))
	n.post(t, n.signed(n.Off, n.Off.Slug, body(n.quote(t, shared))))
	n.rejected(t, n.signed(n.Off, n.Off.Slug, body("tx_junk")), badTransactionID)
	n.rejected(t, n.signed(n.Off, n.Off.Slug, body(tx, partnerID(n.Off.Accounts[0].Identifier))), delivered)
	n.Time.Set(minute.Add(time.Minute))
	n.rejected(t, unsigned(n.Required.Slug, body(tx)), noSignature)
	n.rejected(t, n.signed(n.Required, shared, body(tx, partnerID(unknownAccount))), badSignature.as(models.OutcomeUnknownAccount))
	n.Traffic.Flush(t.Context())

	none := uuid.Nil
	next := minute.Add(time.Minute)
	off, account, secret := n.Off.ID, n.Off.Accounts[0].ID, n.Off.SecretID
	want := map[counter]int64{
		{minute, intake.TrafficKey{off, none, none, "ping", "priced"}}:                                         2,
		{minute, intake.TrafficKey{off, none, none, "ping", "payload"}}:                                        1,
		{minute, intake.TrafficKey{none, none, none, "ping", "priced"}}:                                        2,
		{minute, intake.TrafficKey{n.ReportOnly.ID, none, none, "ping", "excluded"}}:                           1,
		{minute, intake.TrafficKey{off, account, none, "post", "delivered_unsigned"}}:                          1,
		{minute, intake.TrafficKey{off, account, secret, "post", "replayed"}}:                                  1,
		{minute, intake.TrafficKey{off, account, secret, "post", "delivered"}}:                                 1,
		{minute, intake.TrafficKey{off, account, secret, "post", "transaction_format"}}:                        1,
		{minute, intake.TrafficKey{off, account, secret, "post", "already_delivered"}}:                         1, // no lead
		{next, intake.TrafficKey{n.Required.ID, n.Required.Accounts[0].ID, none, "post", "signature_missing"}}: 1,
		{next, intake.TrafficKey{none, none, none, "post", "unknown_account"}}:                                 1,
	}
	if got := n.counts(t); !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	n.Traffic.Flush(t.Context()) // nothing to add
	if got := n.counts(t); !maps.Equal(got, want) {
		t.Errorf("got %v after another flush", got)
	}
}

// In report-only mode, unsigned posts and their retries have outcomes that show that they would be
// rejected if signatures were required (decision 14).
func TestTrafficCountsUnsignedPostsBySigningMode(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for partner, outcomes := range map[*testkit.Partner][2]string{
		&n.ReportOnly: {"delivered_would_be_rejected", "replayed_would_be_rejected"},
		&n.Off:        {"delivered_unsigned", "replayed_unsigned"},
	} {
		b := body(n.quote(t, partner.Slug))
		for _, want := range outcomes {
			if got := n.post(t, unsigned(partner.Slug, b)); got.Outcome != want {
				t.Errorf("%s: got %q, want %q", partner.Slug, got.Outcome, want)
			}
		}
		n.Traffic.Flush(t.Context())
		for _, want := range outcomes {
			k := counter{n.Time.Now().Truncate(time.Minute), intake.TrafficKey{
				Partner:  partner.ID,
				Account:  partner.Accounts[0].ID,
				Endpoint: "post",
				Outcome:  want,
			}}
			if got := n.counts(t)[k]; got != 1 {
				t.Errorf("%s: %s has count %d", partner.Slug, want, got)
			}
		}
	}
}

func TestLatencyBuckets(t *testing.T) {
	t.Parallel()
	n := newRecording(t, testkit.NewDatabase(t))
	k := intake.TrafficKey{Endpoint: intake.EndpointPost, Outcome: "delivered"}
	want := make([]int64, len(models.LatencyBounds)+1)
	for i, bound := range models.LatencyBounds {
		n.Traffic.Count(k, n.Time.Now(), bound) // bounds are inclusive
		n.Traffic.Count(k, n.Time.Now(), bound+1)
		want[i]++
		want[i+1]++
	}
	n.Traffic.Count(k, n.Time.Now(), -time.Second) // the clock was set back
	want[0]++
	n.Traffic.Flush(t.Context())
	got := n.counters(t)
	if c := got[counter{n.Time.Now().Truncate(time.Minute), k}]; len(got) != 1 || !slices.Equal(c.latency, want) {
		t.Errorf("got %d rows, buckets %v, want %v", len(got), c.latency, want)
	}
}

// Two nodes can add to the same rows at the same time.
func TestTwoNodesAddToTheSameRows(t *testing.T) {
	t.Parallel()
	n := newRecording(t, testkit.NewDatabase(t))
	log, lines := testkit.NewLog()
	const flushes, keys = 10, 30
	var wg sync.WaitGroup
	for range 2 {
		writer := intake.NewTraffic(testkit.Open(t, n.DB.AppURL).Pool, log, testkit.RequestLogRows)
		wg.Go(func() {
			for range flushes {
				for i := range keys {
					writer.Count(intake.TrafficKey{Endpoint: "ping", Outcome: fmt.Sprint(i)}, n.Time.Now(),
						time.Duration(i)*time.Millisecond)
				}
				writer.Flush(t.Context())
			}
		})
	}
	wg.Wait()
	got := n.counts(t)
	for k, count := range got {
		if count != 2*flushes {
			t.Errorf("%s: got %d, want %d", k.Outcome, count, 2*flushes)
		}
	}
	if len(got) != keys || lines.Count(`"level":"WARN"`) != 0 {
		t.Errorf("got %d rows, want %d; %s", len(got), keys, lines)
	}
}

// If a write fails, its data is queued again and merged with later data.
func TestTrafficSurvivesADatabaseOutage(t *testing.T) {
	t.Parallel()
	d, proxy := testkit.NewDatabaseBehind(t)
	n := nodeOn(t, d)
	only := intake.TrafficKey{Endpoint: "ping", Outcome: "only before"}
	both := intake.TrafficKey{Endpoint: "ping", Outcome: "before and after"}
	n.Traffic.Count(only, n.Time.Now(), time.Second)
	n.Traffic.Count(both, n.Time.Now(), time.Second)
	before := n.signed(n.Off, n.Off.Slug, body("tx_1"))
	n.rejected(t, before, badTransactionID)
	proxy.Down()
	d.Pool.Reset() // so that no connection is in use
	n.Traffic.Flush(t.Context())
	if n.Log.Count(`"level":"WARN"`) != 2 {
		t.Errorf("want a warning for each failed write: %s", n.Log)
	}
	n.Traffic.Count(both, n.Time.Now(), time.Microsecond)
	after := n.signed(n.Off, n.Off.Slug, body("tx_2"))
	n.rejected(t, after, badTransactionID)
	proxy.Up()
	run(t, n.Traffic.Run)() // writes at shutdown
	got := n.counts(t)
	minute := n.Time.Now().Truncate(time.Minute)
	rejected := intake.TrafficKey{
		Partner:  n.Off.ID,
		Account:  n.Off.Accounts[0].ID,
		Secret:   n.Off.SecretID,
		Endpoint: "post",
		Outcome:  "transaction_format",
	}
	want := map[counter]int64{{minute, only}: 1, {minute, both}: 2, {minute, rejected}: 2}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	kept := n.rejections(t, n.Off) // newest first
	if len(kept) != 2 || kept[0].request != after.ID || kept[1].request != before.ID || n.Traffic.Dropped() != 0 {
		t.Errorf("got %+v; %d dropped", kept, n.Traffic.Dropped())
	}
}

// Data from a commit with an unknown outcome is not written again, so that it is not counted twice.
func TestTrafficIsNeverCountedTwice(t *testing.T) {
	t.Parallel()
	d, proxy := testkit.NewDatabaseBehind(t)
	n := newRecording(t, d)
	k := intake.TrafficKey{Endpoint: "ping", Outcome: "priced"}
	n.Traffic.Count(k, n.Time.Now(), time.Second)
	proxy.DropResponse("COMMIT", nil)
	n.Traffic.Flush(t.Context())
	if n.Traffic.Dropped() == 0 {
		t.Error("possibly lost counts are not counted as dropped")
	}
	n.Traffic.Flush(t.Context())
	if got := n.counts(t); !maps.Equal(got, map[counter]int64{{n.Time.Now().Truncate(time.Minute), k}: 1}) {
		t.Errorf("got %v", got)
	}
}

// The number of counters between two writes is limited. Requests above the limit are counted as
// dropped.
func TestTrafficLimitsItsCounters(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const keys = 50_000
	for i := range keys + 3 {
		n.Traffic.Count(intake.TrafficKey{Endpoint: "ping", Outcome: fmt.Sprint(i)}, n.Time.Now(), 0)
	}
	n.Traffic.Count(intake.TrafficKey{Endpoint: "ping", Outcome: "0"}, n.Time.Now(), 0) // an existing key
	if got := n.Traffic.Dropped(); got != 3 {
		t.Errorf("got %d dropped counts, want 3", got)
	}
}

// A flood of invalid requests to one partner's base URL does not displace the rejections of other
// partners.
func TestFloodKeepsOtherPartnersRejections(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	junk := func(slug string) uuid.UUID {
		r := intake.PingRequest{ID: uuid.New(), Slug: slug, Body: []byte("{")}
		if _, err := n.in.Ping(r); err == nil {
			t.Fatal("an empty ping was priced")
		}
		return r.ID
	}
	before := junk(n.Required.Slug)
	var newest uuid.UUID
	for range 6_000 {
		newest = junk(n.Off.Slug)
	}
	after := junk(n.ReportOnly.Slug)
	n.Traffic.Flush(t.Context())
	for _, c := range []struct {
		p    testkit.Partner
		want uuid.UUID
		kept int
	}{{n.Required, before, 1}, {n.ReportOnly, after, 1}, {n.Off, newest, testkit.RequestLogRows}} {
		if got := n.rejections(t, c.p); len(got) != c.kept || got[0].request != c.want {
			t.Errorf("%s: got %+v", c.p.Slug, got)
		}
	}
	if got := n.Traffic.Dropped(); got != 0 {
		t.Errorf("got %d dropped, want 0", got)
	}
}

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
