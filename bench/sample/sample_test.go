package sample

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const address = "127.0.0.1:8080"

func table(t testing.TB) *pricingrules.Table {
	t.Helper()
	tax, markets, card, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	table, err := pricingrules.Compile(card, tax, markets)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// sent parses a request as a server does. It fails the test if anything follows the request.
func sent(t *testing.T, raw []byte) (*http.Request, []byte) {
	t.Helper()
	in := bufio.NewReader(bytes.NewReader(raw))
	r, err := http.ReadRequest(in)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if in.Buffered() > 0 || r.Method != http.MethodPost || r.Host != address ||
		r.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d bytes over in %q", in.Buffered(), raw)
	}
	return r, body
}

func TestPingsAreValidAndVaried(t *testing.T) {
	tax := table(t).Taxonomy()
	industries, countries, classes := map[int]bool{}, map[[2]byte]bool{}, map[pricingrules.Class]bool{}
	for _, raw := range Pings(address, "harbour-leads", tax, 4096) {
		r, body := sent(t, raw)
		if r.URL.Path != "/p/harbour-leads/api/lead/ping" {
			t.Fatal(r.URL.Path)
		}
		ping, err := payload.ParsePing(body, tax)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		industries[ping.Industry], countries[ping.Country], classes[pricingrules.ClassOf(ping.Urgency)] = true, true, true
	}
	if len(industries) != tax.Len() || len(countries) != 14 || len(classes) != pricingrules.Classes {
		t.Errorf("%d industries, %d countries, %d urgencies", len(industries), len(countries), len(classes))
	}
}

func TestPostsAreValidSignedAndDistinct(t *testing.T) {
	quotes, err := quote.NewSealer([][]byte{make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	partner := Partner{ID: uuid.New(), Slug: "harbour-leads", Secret: "pp_a-secret-of-the-partner"}
	posts, err := Poster{Partner: partner, Quotes: quotes, Table: table(t)}.Posts(address, 500, now)
	if err != nil {
		t.Fatal(err)
	}
	transactions := map[uuid.UUID]bool{}
	for _, raw := range posts {
		r, body := sent(t, raw)
		if len(body) < 1<<10 || len(body) > 2<<10 || r.URL.Path != "/p/harbour-leads/api/lead/post" {
			t.Fatalf("%d bytes to %s", len(body), r.URL.Path)
		}
		claim, err := signing.Check(signing.Headers{
			Timestamp: r.Header["X-Timestamp"],
			Signature: r.Header["X-Signature-Sha256"],
		}, now)
		if err != nil || !signing.NewVerifier([]byte(partner.Secret)).Verify(claim, body) {
			t.Fatalf("not signed: %v", err)
		}
		post, err := payload.ParsePost(body)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		q, err := quotes.Open(post.TransactionID, now)
		if err != nil || q.Partner != partner.ID || q.Price.Minor <= 0 || transactions[q.ID] {
			t.Fatalf("%+v, %v", q, err)
		}
		transactions[q.ID] = true
	}
}
