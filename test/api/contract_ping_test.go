package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// serverTiming matches the Server-Timing header (decision 11).
var serverTiming = regexp.MustCompile(`^auction;dur=[0-9]+\.[0-9]{3};desc="rate card v1", ` +
	`buyer_cell;dur=[0-9]+\.[0-9]{3};desc="[a-z-]+/[A-Z]{2}/(emergency|immediate|urgent|standard|flexible)", total;dur=[0-9]+\.[0-9]{3}$`)

// minor converts an amount to hundredths.
func minor(t testing.TB, amount json.Number) int64 {
	t.Helper()
	whole, rest, _ := strings.Cut(amount.String(), ".")
	n, err := strconv.ParseInt(whole+(rest + "00")[:2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// price returns the bid price for a ping. It checks the response with a regular expression, because
// checking so many responses against the OpenAPI document would be too slow.
func price(t *testing.T, n *node.Node, body string) json.Number {
	t.Helper()
	_, a := n.Send(t, node.Request{Path: "/api/lead/ping", Body: body})
	found := node.PricedBody.FindStringSubmatch(a.Body)
	if found == nil {
		t.Fatalf("%s: got %d %s", body, a.Status, a.Body)
	}
	return json.Number(found[1])
}

// prices checks that the price of every industry is the same for its slug and its term id. It also
// checks which urgencies raise or lower the price.
func prices(t *testing.T, n *node.Node) {
	var listed struct {
		Industries []struct {
			Slug           string
			TaxonomyTermID int
		}
	}
	if err := json.Unmarshal([]byte(n.Get(t, n.API+"/api/industries")), &listed); err != nil || len(listed.Industries) != 336 {
		t.Fatalf("got %d industries: %v", len(listed.Industries), err)
	}
	decimals := map[int]bool{} // the numbers of decimals seen
	for _, industry := range listed.Industries {
		bySlug := price(t, n, fmt.Sprintf(`{"industry":%q,"postcode":"1"}`, industry.Slug))
		byTerm := price(t, n, fmt.Sprintf(`{"taxonomyTermId":%d,"postcode":"1"}`, industry.TaxonomyTermID))
		if bySlug != byTerm || minor(t, bySlug) <= 0 {
			t.Errorf("%s: got price %s by slug, %s by term", industry.Slug, bySlug, byTerm)
		}
		_, rest, _ := strings.Cut(bySlug.String(), ".")
		decimals[len(rest)] = true
	}
	if len(decimals) != 3 {
		t.Errorf("got amounts with %v decimals, want 0, 1 and 2", decimals)
	}
	for i := 0; i < len(listed.Industries); i += 12 {
		for _, country := range []string{"GB", "DE", "US", "CA", "AU", "ZZ"} {
			urgencyChangesPrice(t, n, listed.Industries[i].Slug, country)
		}
	}
}

func urgencyChangesPrice(t *testing.T, n *node.Node, industry, country string) {
	t.Helper()
	with := func(urgency string) int64 {
		return minor(t,
			price(t, n, fmt.Sprintf(`{"industry":%q,"postcode":"1","country":%q,"urgency":%q}`, industry, country, urgency)))
	}
	neutral := with("next week")
	for _, raising := range []string{"emergency", "immediate", "urgent", " Urgent "} {
		if with(raising) <= neutral {
			t.Errorf("%s in %s: %q does not raise the price", industry, country, raising)
		}
	}
	if with("flexible") >= neutral || with("") != neutral {
		t.Errorf("%s in %s: flexible does not lower the price, or an empty urgency changes it", industry, country)
	}
}

func pingFields(t *testing.T, n *node.Node) {
	t.Run("answer", func(t *testing.T) { pingAnswer(t, n) })
	for country, currency := range map[string]string{
		"GB":   "GBP",
		"FR":   "EUR",
		"BE":   "EUR",
		"DE":   "EUR",
		"AT":   "EUR",
		"ES":   "EUR",
		"IT":   "EUR",
		"NL":   "EUR",
		"IE":   "EUR",
		"US":   "USD",
		"CA":   "CAD",
		"AU":   "AUD",
		"CH":   "GBP",
		"ZZ":   "GBP",
		"JP":   "GBP",
		"fr":   "EUR",
		" us ": "USD",
		"":     "GBP",
	} {
		if got := n.Ping(t, "", fmt.Sprintf(`{"industry":"plumber","postcode":"1","country":%q}`, country)).Currency; got != currency {
			t.Errorf("%q: got currency %s, want %s", country, got, currency)
		}
	}
	plumber := n.Ping(t, "", node.MinimalPing).BidPrice.String()
	uk := n.Do(t, node.Request{Path: "/api/lead/ping", Body: `{"industry":"plumber","postcode":"SW1A 1AA","country":"UK"}`})
	for _, want := range []string{`"bidPrice":` + plumber + `,"currency":"GBP"`, `"warnings":[{"code":"country_alias","path":["country"],"message":"`} {
		if !strings.Contains(uk.Body, want) {
			t.Errorf("UK: got %s, want %s", uk.Body, want)
		}
	}
	post := n.Post(t, n.Required, node.WithTransaction(strings.Replace(node.MinimalPost, "{", `{"location":{"country":"UK"},`, 1),
		n.Ping(t, n.Required.Base(), node.MinimalPing).TransactionID))
	if want := `},"warnings":[{"code":"country_alias","path":["location","country"],"message":"`; post.Status != http.StatusOK || !strings.Contains(post.Body, want) {
		t.Errorf("a post with UK: got %d %s", post.Status, post.Body)
	}
	priced := func(name, body string) scenario {
		return scenario{
			name:   name,
			path:   "/api/lead/ping",
			body:   body,
			status: http.StatusOK,
			want:   []string{`{"accepted":true,"bidPrice":` + plumber + `,"currency":"GBP","transactionId":"tx_`},
			not:    []string{"reason", "errors"},
			header: map[string]string{
				"Content-Type":        "application/json; charset=utf-8",
				"Cache-Control":       "no-store",
				"Idempotent-Replayed": "",
			},
		}
	}
	play(t, n, []scenario{
		priced("industry", `{"industry":"plumber","postcode":"1"}`),
		priced("vertical", `{"vertical":"plumber","postcode":"1"}`),
		priced("a term as a string", `{"taxonomyTermId":"`+strconv.Itoa(termOf(t, n, "plumber"))+`","postcode":"1"}`),
		priced("postal_code", `{"industry":"plumber","postal_code":"1"}`),
		priced("both postcodes, equal except for spaces", `{"industry":"plumber","postal_code":" 1","postcode":"1 "}`),
		priced("a postcode of 16 characters", `{"industry":"plumber","postcode":"ÄÖÜß567890123456"}`),
		priced("null counts as missing",
			`{"industry":"plumber","vertical":null,"taxonomyTermId":null,"postcode":"1","country":null,"urgency":null,"budget":null}`),
		priced("empty alternatives count as missing",
			`{"industry":"plumber","vertical":"","taxonomyTermId":"","postcode":"1","postal_code":"","country":""}`),
		priced("every optional field",
			`{"industry":"plumber","postcode":"1","country":"GB","urgency":"whenever","job_type":"repair of the `+node.Marker+`","budget":"£100 `+node.Marker+`"}`),
		priced("jobType", `{"industry":"plumber","postcode":"1","jobType":"`+node.Marker+`"}`),
		priced("unknown fields", `{"industry":"plumber","postcode":"1","email":"`+node.PersonEmail+`","Country":"US"}`),
		priced("unknown fields that differ only in letter case", `{"industry":"plumber","Industry":"roofer","postcode":"1","POSTCODE":5}`),
		priced("white space", " \r\n\t{\"industry\" : \"plumber\" , \"postcode\":\"1\"}\n"),
	})
	media := priced("the media type is not enforced", `{"industry":"plumber","postcode":"1"}`)
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded",
		"application/json; charset=latin1", "image/" + node.Marker} {
		media.change = []func(*node.Request){with("Content-Type", kind)}
		play(t, n, []scenario{media})
	}
}

// pingAnswer checks the headers and times in the response to a ping.
func pingAnswer(t *testing.T, n *node.Node) {
	a := n.Do(t, node.Request{
		Path: "/api/lead/ping",
		Body: `{"industry":"plumber","postcode":"1","country":"de","urgency":"URGENT"}`,
	})
	q := node.Decode[node.Quoted](t, a)
	if want := n.Clock.Now().Add(15 * time.Minute); !q.ExpiresAt.Equal(want) {
		t.Errorf("got expiresAt %s, want %s", q.ExpiresAt, want)
	}
	if want := `"expiresAt":"` + n.Clock.Now().Add(15*time.Minute).Format("2006-01-02T15:04:05.000Z") +
		`"}`; !strings.HasSuffix(a.Body, want) {
		t.Errorf("got %s, want it to end with %s", a.Body, want)
	}
	if !strings.HasPrefix(q.TransactionID, "tx_") || len(q.TransactionID) > 200 {
		t.Errorf("got transactionId %s", q.TransactionID)
	}
	if got := a.Header.Get("Server-Timing"); !serverTiming.MatchString(got) ||
		!strings.Contains(got, `desc="plumber/DE/urgent"`) {
		t.Errorf("got Server-Timing %s", got)
	}
	if got := a.Header.Get("X-Response-Time"); got != "1ms" { // the manual clock does not advance
		t.Errorf("got X-Response-Time %s", got)
	}
	if again := n.Ping(t, "", node.MinimalPing).TransactionID; again == n.Ping(t, "", node.MinimalPing).TransactionID {
		t.Error("two pings have the same transaction")
	}
}

func termOf(t *testing.T, n *node.Node, slug string) int {
	t.Helper()
	_, after, found := strings.Cut(n.Get(t, n.API+"/api/industries"), `{"slug":"`+slug+`","taxonomyTermId":`)
	digits, _, _ := strings.Cut(after, ",")
	term, err := strconv.Atoi(digits)
	if !found || err != nil {
		t.Fatalf("no taxonomyTermId for %s: %v", slug, err)
	}
	return term
}

// entry returns the start of an entry in errors, up to its message.
func entry(code string, path ...string) string {
	text, _ := json.Marshal(append([]string{}, path...))
	return `{"code":"` + code + `","path":` + string(text) + `,"message":"`
}

func pingRejections(t *testing.T, n *node.Node) {
	rejected := func(name, body string, entries ...string) scenario {
		s := scenario{
			name:   name,
			path:   "/api/lead/ping",
			body:   body,
			status: http.StatusBadRequest,
			want:   invalidBody(),
		}
		if entries != nil {
			s.want = append([]string{spec.InvalidPing.Start() + `,"errors":[` + entries[0]}, entries...)
			s.errors = len(entries)
		}
		return s
	}
	play(t, n, []scenario{
		rejected("invalid JSON", `{"industry":"`+node.Marker),
		rejected("no body", ""),
		rejected("an empty object", `{}`, entry("required", "industry"), entry("required", "postcode")),
		rejected("no industry", `{"postcode":"1"}`, entry("required", "industry")),
		rejected("an empty industry", `{"industry":"","postcode":"1"}`, entry("required", "industry")),
		rejected("no postcode", `{"industry":"plumber"}`, entry("required", "postcode")),
		rejected("null for both", `{"industry":null,"postcode":null}`, entry("required", "industry"),
			entry("required", "postcode")),
		rejected("vertical and industry", `{"vertical":"plumber","industry":"plumber","postcode":"1"}`,
			entry("conflict", "vertical")),
		rejected("taxonomyTermId and vertical", `{"taxonomyTermId":1,"vertical":"plumber","postcode":"1"}`, entry("conflict", "taxonomyTermId")),
		rejected("taxonomyTermId, vertical and industry", `{"taxonomyTermId":1,"vertical":"plumber","industry":"plumber","postcode":"1"}`,
			entry("conflict", "vertical")),
		rejected("an unknown slug", `{"industry":"`+node.Marker+`","postcode":"1"}`, entry("invalid_value", "industry")),
		rejected("a slug with a capital letter", `{"vertical":"Plumber","postcode":"1"}`, entry("invalid_value", "vertical")),
		rejected("an unknown term", `{"taxonomyTermId":65000,"postcode":"1"}`, entry("invalid_value", "taxonomyTermId")),
		rejected("a fraction", `{"taxonomyTermId":1001.0,"postcode":"1"}`, entry("invalid_value", "taxonomyTermId")),
		rejected("a leading zero", `{"taxonomyTermId":"01001","postcode":"1"}`, entry("invalid_value", "taxonomyTermId")),
		rejected("true as a term", `{"taxonomyTermId":true,"postcode":"1"}`, entry("invalid_type", "taxonomyTermId")),
		rejected("different postcodes", `{"industry":"plumber","postcode":"1","postal_code":"2"}`,
			entry("conflict", "postal_code")),
		rejected("a blank postcode", `{"industry":"plumber","postcode":" \u200b"}`, entry("required", "postcode")),
		rejected("a long postcode", `{"industry":"plumber","postal_code":"12345678901234567"}`, entry("too_long", "postal_code")),
		rejected("a control character", `{"industry":"plumber","postcode":"1\u00072"}`, entry("invalid_value", "postcode")),
		rejected("a long urgency", `{"industry":"plumber","postcode":"1","urgency":"`+strings.Repeat("ä", 65)+`"}`,
			entry("too_long", "urgency")),
		rejected("a long budget", `{"industry":"plumber","postcode":"1","budget":"`+strings.Repeat("ä", 257)+`"}`,
			entry("too_long", "budget")),
		rejected("a three-letter country", `{"industry":"plumber","postcode":"1","country":"GBR"}`,
			entry("invalid_value", "country")),
		rejected("a country with non-ASCII letters", `{"industry":"plumber","postcode":"1","country":"ÄÖ"}`, entry("invalid_value", "country")),
		rejected("all errors at once", `{"industry":1,"postcode":1,"country":1,"urgency":1,"job_type":1,"budget":1}`,
			entry("invalid_type", "industry"), entry("invalid_type", "postcode"), entry("invalid_type", "country"),
			entry("invalid_type", "urgency"), entry("invalid_type", "job_type"), entry("invalid_type", "budget")),
	})
}
