package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const (
	defaultConnections = 64
	// grace is how long to wait for connections and for the last responses.
	grace = 30 * time.Second
	// differentPings is the number of different pings. When all have been sent, they are sent again.
	differentPings = 4096
)

// loadJob describes the requests to send. The run ends after the time Length, or after Count requests.
type loadJob struct {
	Address     string
	Posts       *poster // nil to send pings
	Length      time.Duration
	Count       int // 0 for no limit
	Rate        int // requests per second; 0 for as many as possible
	Connections int
	Rejections  float64 // largest share of the requests that the server may reject
}

// loadResult is the result of a run. Every request that was sent has received a response.
type loadResult struct {
	Acknowledged, Rejected int64
	Replays                int64         // among the acknowledged requests
	Elapsed                time.Duration // from the first request to the last response
	P99                    time.Duration // 99th percentile of the latency of acknowledged requests
	Rejection              string        // a response that was not 200
}

// run sends requests from a child. It returns an error if the server rejects too many of them.
func (j loadJob) run(ctx context.Context, length time.Duration) (turn, error) {
	j.Length, j.Connections = length, cmp.Or(j.Connections, defaultConnections)
	var r loadResult
	err := call(ctx, "load", j, &r)
	sent := r.Acknowledged + r.Rejected
	if err == nil && (sent == 0 || float64(r.Rejected) > j.Rejections*float64(sent)) {
		err = fmt.Errorf("%d of %d requests were rejected, one of them with %s", r.Rejected, sent, r.Rejection)
	}
	return turn{count: r.Acknowledged, replays: r.Replays, rejected: r.Rejected, elapsed: r.Elapsed, p99: r.P99}, err
}

// generateLoad is the role of the load generator. It uses one processor and leaves the others to the server.
func generateLoad(parent *link) error {
	s := sender{}
	if err := parent.Decode(&s.loadJob); err != nil {
		return err
	}
	runtime.GOMAXPROCS(1)
	var err error
	if s.Posts == nil {
		s.requests, err = pings(s.Address, differentPings)
	} else {
		s.requests, err = s.Posts.posts(s.Address, s.Count, now())
	}
	if err != nil {
		return err
	}
	if err := s.send(); err != nil {
		return err
	}
	for i := range int(s.result.Acknowledged + s.result.Rejected) {
		if s.Posts != nil && s.Posts.isReplay(i) {
			s.result.Replays++
		}
	}
	return parent.Encode(s.result)
}

// sender sends requests over keep-alive connections. Each connection sends a request, reads the whole response
// and sends the next request.
type sender struct {
	loadJob
	requests [][]byte
	start    time.Time
	next     atomic.Int64
	over     atomic.Bool

	mu        sync.Mutex
	latencies []time.Duration // of acknowledged requests
	result    loadResult
}

func (s *sender) send() error {
	connections := make([]net.Conn, s.Connections)
	for i := range connections {
		c, err := (&net.Dialer{Timeout: grace}).DialContext(context.Background(), "tcp", s.Address)
		if err != nil {
			return err
		}
		defer c.Close()
		connections[i] = c
	}
	s.start = now()
	defer time.AfterFunc(s.Length, func() { s.over.Store(true) }).Stop()
	var all errgroup.Group
	for _, c := range connections {
		all.Go(func() error { return s.use(c) })
	}
	err := all.Wait()
	s.result.Elapsed = now().Sub(s.start)
	slices.Sort(s.latencies)
	if n := len(s.latencies); n > 0 {
		s.result.Acknowledged, s.result.P99 = int64(n), s.latencies[n*99/100]
	}
	return err
}

// use sends requests on one connection until the run is over.
func (s *sender) use(c net.Conn) error {
	defer s.over.Store(true) // after an error, or after the last request
	if err := c.SetDeadline(s.start.Add(s.Length + grace)); err != nil {
		return err
	}
	var latencies []time.Duration
	var rejections []string
	for in := bufio.NewReader(c); !s.over.Load(); {
		i := s.next.Add(1) - 1
		if s.Count > 0 && i >= int64(s.Count) {
			break
		}
		due := s.await(i)
		if _, err := c.Write(s.requests[i%int64(len(s.requests))]); err != nil {
			return err
		}
		rejection, err := readResponse(in)
		if err != nil {
			return fmt.Errorf("reading a response: %w", err)
		}
		if rejection == "" {
			latencies = append(latencies, now().Sub(due))
		} else {
			rejections = append(rejections, rejection)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latencies = append(s.latencies, latencies...)
	if s.result.Rejected += int64(len(rejections)); len(rejections) > 0 {
		s.result.Rejection = rejections[0]
	}
	return nil
}

// await waits until request i is due. The latency of a request counts from the returned time. If no
// connection was free when the request was due, this is the time when it was due.
func (s *sender) await(i int64) (from time.Time) {
	if s.Rate == 0 {
		return now()
	}
	due := s.start.Add(time.Duration(float64(i) / float64(s.Rate) * float64(time.Second)))
	if wait := due.Sub(now()); wait > 0 {
		time.Sleep(wait)
		return now()
	}
	return due
}

// readResponse reads a response. The result rejection is "" if the status is 200, and otherwise the status
// line and the body.
func readResponse(in *bufio.Reader) (rejection string, err error) {
	status, err := in.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	ok, length := bytes.HasPrefix(status, []byte("HTTP/1.1 200")), -1
	if !ok {
		rejection = string(status)
	}
	for line := status; len(line) > 0; {
		if line, err = in.ReadSlice('\n'); err != nil {
			return "", err
		}
		line = bytes.TrimSpace(line)
		if value, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return "", err
			}
		}
	}
	if length < 0 {
		return "", errors.New("it has no Content-Length")
	}
	if ok {
		_, err = in.Discard(length)
		return "", err
	}
	body := make([]byte, length)
	_, err = io.ReadFull(in, body)
	return rejection + string(body), err
}

// The requests are like those that partners send, and differ from one another. Every run sends the same
// requests, apart from times, identifiers and signatures. The people in them are fictional, and their
// domains and phone numbers are reserved for examples.

// These are values of pings. Some are in a list several times so that they are picked more often, and "" leaves the
// value out. NZ has no prices of its own, and the service does not recognise the urgency "next week".
var (
	countries = []string{
		"GB", "GB", "GB", "US", "US", "DE", "FR", "IE", "ES", "IT", "NL", "BE", "AT", "CA", "AU", "CH", "NZ",
	}
	urgencies = []string{"", "", "emergency", "immediate", "urgent", "flexible", "flexible", "next week"}
	jobTypes  = []string{"", "", "", "", "repair", "installation"}
	budgets   = []string{"", "", "", "100-1000", "500-3000"}
)

// partnerPath returns the path below a partner's own base URL.
func partnerPath(slug, endpoint string) string { return "/p/" + slug + "/api/lead/" + endpoint }

// pings returns n pings as complete HTTP requests.
func pings(address string, n int) ([][]byte, error) {
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(1, 2))
	requests := make([][]byte, n)
	for i := range requests {
		industry := taxonomy.At(random.IntN(taxonomy.Len())).Slug
		body := fmt.Appendf(nil, `{"industry":%q,"postcode":%q`, industry, postcode(random))
		for i, name := range []string{"country", "urgency", "job_type", "budget"} {
			if value := pick(random, [][]string{countries, urgencies, jobTypes, budgets}[i]); value != "" {
				body = fmt.Appendf(body, `,%q:%q`, name, value)
			}
		}
		requests[i] = request(address, partnerPath(partnerSlug, "ping"), "", append(body, '}'))
	}
	return requests, nil
}

// poster creates posts for a partner. It seals their quotes with the service's keys, so that no pings are
// needed.
type poster struct {
	Partner   uuid.UUID
	Secret    string
	QuoteKeys [][]byte
	Replays   int // one post in this number is a replay; 0 for none
	Bad       int // one post in this number has badPostcode; 0 for none
}

const (
	// badPostcode is in posts that the database rejects, because a scenario adds a constraint against it.
	badPostcode = "BAD 1"
	// replayedAfter is the number of requests between a post and its replay. It is so large that the service
	// has usually responded to the post.
	replayedAfter = 501
)

// isReplay reports whether request i is a replay.
func (p *poster) isReplay(i int) bool { return p.Replays > 0 && i%p.Replays == 0 && i >= replayedAfter }

// posts returns n posts as complete HTTP requests that are signed with the given time. The service accepts them
// for 300 seconds.
func (p *poster) posts(address string, n int, at time.Time) (requests [][]byte, err error) {
	quotes, err := quote.NewSealer(p.QuoteKeys)
	if err != nil {
		return nil, err
	}
	taxonomy, markets, card, err := pricingrules.Shipped()
	if err != nil {
		return nil, err
	}
	table, err := pricingrules.Compile(card, taxonomy, markets)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(3, 4))
	stamp := strconv.FormatInt(at.Unix(), 10)
	for i := range n {
		if p.isReplay(i) {
			requests = append(requests, requests[i-replayedAfter])
			continue
		}
		transaction, err := p.transaction(random, quotes, table, at)
		if err != nil {
			return nil, err
		}
		body := postBody(random, transaction, at)
		if p.Bad > 0 && i%p.Bad == 0 {
			location := []byte(`"location":{`)
			body = bytes.Replace(body, location, append(location, `"country":"GB","postcode":"`+badPostcode+`",`...), 1)
		}
		headers := "X-Timestamp: " + stamp + "\r\n" +
			"X-Signature-SHA256: " + signing.Sign([]byte(p.Secret), stamp, body) + "\r\n"
		requests = append(requests, request(address, partnerPath(partnerSlug, "post"), headers, body))
	}
	return requests, nil
}

// transaction returns a transactionId like those that the service returns for pings.
func (p *poster) transaction(
	random *rand.Rand, quotes *quote.Sealer, table *pricingrules.Table, at time.Time,
) ([]byte, error) {
	taxonomy, country := table.Taxonomy(), [2]byte([]byte(pick(random, countries)))
	industry, class := random.IntN(taxonomy.Len()), pricingrules.Class(random.IntN(pricingrules.Classes))
	price := table.Price(industry, table.Markets().Index(country), class)
	var fresh [quote.RandomSize]byte
	crand.Read(fresh[:])
	token, _, err := quotes.Seal(nil, quote.Quote{
		Price: money.Amount{Minor: price.Minor, Currency: price.Currency}, Country: country, CardVersion: 1,
		TermID: taxonomy.At(industry).TermID, Urgency: uint8(class), Postcode: postcode(random), Partner: p.Partner,
	}, at, fresh)
	return token, err
}

// disclosures are the texts that consumers agree to. A partner has only a few forms.
var disclosures = func() (all []string) {
	for i := range 8 {
		all = append(all, fmt.Sprintf("%d. %s", i, words(250+12*i)))
	}
	return all
}()

// words returns a text of n characters.
func words(n int) string {
	return strings.Repeat("The boiler leaks, please call after five. ", n/40+1)[:n]
}

// postBody returns a body of 1 to 2 KiB with all common fields.
func postBody(random *rand.Rand, transaction []byte, at time.Time) []byte {
	person := random.IntN(1_000_000)
	body := fmt.Appendf(make([]byte, 0, 2<<10), `{"transactionId":%q,`, transaction)
	body = fmt.Appendf(body, `"contact":{"email":"person.%d@example.com","name":"Alex Example","phoneE164":"+4420794%d"},
		"location":{"address":"%d Example Street, Exampleton"},`, person, 60000+random.IntN(1000), 1+random.IntN(200))
	body = fmt.Appendf(body, `"consent":{"acknowledged":true,"acknowledgedAt":%q,"disclosureText":%q,`,
		at.UTC().Format(time.RFC3339), pick(random, disclosures))
	body = fmt.Appendf(body, `"recipientHash":"%064x","thirdPartyFormCertUrl":"https://cert.example.com/%032x",`,
		person, person)
	body = fmt.Appendf(body, `"thirdPartyLeadId":"%032x"},"answers":{"owner":%t,"rooms":%d,"when":%q,"details":%q},`,
		person, random.IntN(2) == 0, 1+random.IntN(9), pick(random, []string{"this week", "later"}),
		words(80+random.IntN(80)))
	body = fmt.Appendf(body, `"reference":"click-%030x","subId":"campaign-%02d",`, random.Uint64(), random.IntN(20))
	return fmt.Appendf(body, `"notes":%q}`, words(150+random.IntN(600)))
}

func pick(random *rand.Rand, from []string) string { return from[random.IntN(len(from))] }

func postcode(random *rand.Rand) string {
	letter := func() rune { return 'A' + random.Int32N(26) }
	return fmt.Sprintf("%c%c%d %d%c%c", letter(), letter(), 1+random.IntN(20), random.IntN(10), letter(), letter())
}

// request returns a complete HTTP request. Each line in headers ends with a line break.
func request(address, path, headers string, body []byte) []byte {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n",
		path, address, headers, len(body))
	return append([]byte(head), body...)
}
