package api

import (
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/test/node"
)

// pricesOf returns the service that the console uses to publish versions.
func pricesOf(t testing.TB, n *node.Node) *ratecard.Service {
	t.Helper()
	s, err := ratecard.NewService(n.DB.DB, testkit.NewQueue(n.DB.DB, n.Clock), n.Clock)
	if err != nil {
		t.Fatal(err)
	}
	return s.By(audit.Operator)
}

// publishAt publishes a version in which the price of each cell, in major units, is the version number.
func publishAt(t testing.TB, s *ratecard.Service, version int) {
	t.Helper()
	var base pricingrules.Amounts
	for _, currency := range money.Currencies {
		base[currency] = int64(version) * 100
	}
	draft, err := s.CreateDraft(t.Context(), "everything costs the same", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Replace(t.Context(), draft.ID, draft.RowVersion, "one price", pricingrules.Card{Rules: []pricingrules.Rule{{Base: base}}}); err != nil {
		t.Fatal(err)
	}
	now, err := s.Publish(t.Context(), draft.ID, draft.RowVersion+1, "a test", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if now.Version != version {
		t.Fatalf("published version %d, want %d", now.Version, version)
	}
}

var cardVersion = regexp.MustCompile(`auction;dur=[0-9.]+;desc="rate card v([0-9]+)"`)

// TestPricesChangeUnderLoad publishes versions under full load. It checks that no ping fails, that each
// price belongs to the version that the response states, and that the node uses each new version.
func TestPricesChangeUnderLoad(t *testing.T) {
	n := node.Start(t, node.OnMachineClock)
	s := pricesOf(t, n)
	shipped := n.Ping(t, "", node.MinimalPing).BidPrice.String()
	var newest atomic.Int64
	newest.Store(1)
	stop := make(chan struct{})
	var pings atomic.Int64
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_, a := n.Send(t, node.Request{Path: "/api/lead/ping", Body: node.MinimalPing})
				named := cardVersion.FindStringSubmatch(a.Header.Get("Server-Timing"))
				if a.Status != http.StatusOK || named == nil {
					t.Errorf("got %d with %q", a.Status, a.Header.Get("Server-Timing"))
					return
				}
				want := named[1]
				if want == "1" {
					want = shipped
				}
				if got := node.Decode[node.Quoted](t, a); !got.Accepted || got.BidPrice.String() != want {
					t.Errorf("version %s: got price %s, want %s", named[1], got.BidPrice, want)
				}
				version, err := strconv.ParseInt(named[1], 10, 64)
				if err != nil {
					t.Error(err)
				}
				for seen := newest.Load(); version > seen && !newest.CompareAndSwap(seen, version); seen = newest.Load() {
				}
				pings.Add(1)
			}
		})
	}
	const versions = 20
	for version := 2; version <= versions; version++ {
		publishAt(t, s, version)
		testkit.Eventually(t, time.Minute, "version "+strconv.Itoa(version)+" is used for pings",
			func() bool { return newest.Load() == int64(version) })
	}
	close(stop)
	senders.Wait()
	if pings.Load() < versions {
		t.Errorf("got %d pings while %d versions were published", pings.Load(), versions-1)
	}
}

// TestQuoteIsPaidAfterNewVersion checks that a quoted price is paid even if a new version has been
// published in the meantime. The lead is stored with the version that priced the quote.
func TestQuoteIsPaidAfterNewVersion(t *testing.T) {
	n := node.Start(t)
	s := pricesOf(t, n)
	publishAt(t, s, 2)
	testkit.Eventually(t, time.Minute, "version 2 is used for pings",
		func() bool { return n.Ping(t, n.Off.Base(), node.MinimalPing).BidPrice.String() == "2" })
	quote := n.Ping(t, n.Off.Base(), node.MinimalPing)
	publishAt(t, s, 3)
	testkit.Eventually(t, time.Minute, "version 3 is used for pings",
		func() bool { return n.Ping(t, n.Off.Base(), node.MinimalPing).BidPrice.String() == "3" })
	got := node.Decode[node.Delivered](t, n.Post(t, n.Off, node.WithTransaction(node.MinimalPost, quote.TransactionID)))
	if got.Payout.String() != "2" {
		t.Errorf("got payout %s, want 2", got.Payout)
	}
	if version := testkit.Value[int](t, n.DB, `SELECT card_version FROM leads`); version != 2 {
		t.Errorf("got version %d, want 2", version)
	}
}

// TestScheduledDraftIsPublishedOnTime checks that a scheduled draft takes effect on time, and that
// creating and editing a draft changes no prices and causes no reload.
func TestScheduledDraftIsPublishedOnTime(t *testing.T) {
	n := node.Start(t)
	s := pricesOf(t, n)
	old := n.Ping(t, "", node.MinimalPing).BidPrice
	const loads = `SELECT version FROM snapshot_versions WHERE name = 'rate_card'`
	before := testkit.Value[int64](t, n.DB, loads)
	draft, err := s.CreateDraft(t.Context(), "later", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetBase(t.Context(), draft.ID, pricingrules.Target{Industry: "plumber", Country: "GB"}, 0, 12_300); err != nil {
		t.Fatal(err)
	}
	at := n.Manual.Now().Add(time.Hour)
	if _, err := s.Publish(t.Context(), draft.ID, draft.RowVersion+1, "from the next hour on", at); err != nil {
		t.Fatal(err)
	}
	if after := testkit.Value[int64](t, n.DB, loads); after != before {
		t.Errorf("got %d reloads of prices, want 0", after-before)
	}
	if now := n.Ping(t, "", node.MinimalPing).BidPrice; now != old {
		t.Errorf("price before the scheduled time: got %s, want %s", now, old)
	}
	n.Manual.Set(at)
	testkit.Eventually(t, time.Minute, "the draft is published",
		func() bool { return n.Ping(t, "", node.MinimalPing).BidPrice.String() == "123" })
	if by := testkit.Value[string](t, n.DB, `SELECT actor FROM audit_events WHERE action = 'pricing.publish' ORDER BY id DESC LIMIT 1`); by != audit.Service.Name {
		t.Errorf("published by %s, want %s", by, audit.Service.Name)
	}
}
