// Package sample creates the requests for benchmarks: pings and signed posts like those that partners
// send. The requests differ from one another. Every run gets the same requests, apart from times,
// identifiers and signatures. The people in them are fictional, and their domains and phone numbers are
// reserved for examples.
package sample

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// PingPath returns the path to which a partner sends pings on its own base URL.
func PingPath(slug string) string { return "/p/" + slug + "/api/lead/ping" }

// PostPath returns the path to which a partner sends posts on its own base URL.
func PostPath(slug string) string { return "/p/" + slug + "/api/lead/post" }

// countries lists the countries of the pings, some several times so that they are picked more often. NZ
// has no prices of its own and belongs to the market "other".
var countries = [...]string{
	"GB", "GB", "GB", "US", "US", "DE", "FR", "IE", "ES", "IT", "NL", "BE", "AT", "CA", "AU", "CH", "NZ",
}

// urgencies lists the urgencies of the pings. "" stands for no urgency, and the service does not
// recognise "next week".
var urgencies = [...]string{"", "", "emergency", "immediate", "urgent", "flexible", "flexible", "next week"}

// Pings returns n pings as complete HTTP requests.
func Pings(address, slug string, tax *pricingrules.Taxonomy, n int) [][]byte {
	random := rand.New(rand.NewPCG(1, 2))
	requests := make([][]byte, n)
	for i := range requests {
		requests[i] = request(address, PingPath(slug), "", pingBody(random, tax))
	}
	return requests
}

func pingBody(random *rand.Rand, tax *pricingrules.Taxonomy) []byte {
	body := fmt.Appendf(nil, `{"industry":%q,"postcode":%q,"country":%q`,
		tax.At(random.IntN(tax.Len())).Slug, postcode(random), pick(random, countries[:]))
	if urgency := pick(random, urgencies[:]); urgency != "" {
		body = fmt.Appendf(body, `,"urgency":%q`, urgency)
	}
	if random.IntN(3) == 0 {
		body = fmt.Appendf(body, `,"job_type":%q`,
			pick(random, []string{"repair", "installation", "replacement", "inspection"}))
	}
	if random.IntN(4) == 0 {
		body = fmt.Appendf(body, `,"budget":"%d-%d"`, 100*(1+random.IntN(9)), 1000*(1+random.IntN(9)))
	}
	return append(body, '}')
}

func pick(random *rand.Rand, from []string) string { return from[random.IntN(len(from))] }

func postcode(random *rand.Rand) string {
	if random.IntN(2) == 0 {
		return strconv.Itoa(10000 + random.IntN(90000))
	}
	letter := func() rune { return 'A' + random.Int32N(26) }
	return fmt.Sprintf("%c%c%d %d%c%c", letter(), letter(), 1+random.IntN(20), random.IntN(10), letter(), letter())
}

// request returns a complete HTTP/1.1 request. The parameter headers contains complete lines, each with
// its line ending.
func request(address, path, headers string, body []byte) []byte {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n",
		path, address, headers, len(body))
	return append([]byte(head), body...)
}
