package sample

import (
	"bytes"
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// Partner identifies the partner that sends the posts.
type Partner struct {
	ID     uuid.UUID
	Slug   string
	Secret string
}

// Poster creates posts for a partner. It seals the quotes for the posts with the service's keys, so
// that no pings are needed.
type Poster struct {
	Partner Partner
	Quotes  *quote.Sealer
	Table   *pricingrules.Table

	Again float64 // the share of posts that repeat an earlier one
	Bad   float64 // the share of posts with BadPostcode
}

// BadPostcode is the postcode of posts that the database rejects, because a benchmark adds a constraint
// against it.
const BadPostcode = "BAD 1"

// repeated is the number of requests between a post and its replay. It is large enough that the service
// has usually responded to the original post.
const repeated = 500

// Posts returns n posts as complete HTTP requests, signed with the given time. The service accepts them
// for 300 seconds.
func (p Poster) Posts(address string, n int, now time.Time) ([][]byte, error) {
	random := rand.New(rand.NewPCG(3, 4))
	stamp := strconv.FormatInt(now.Unix(), 10)
	requests := make([][]byte, n)
	for i := range requests {
		if i >= repeated && random.Float64() < p.Again {
			requests[i] = requests[i-repeated]
			continue
		}
		transaction, err := p.transaction(random, now)
		if err != nil {
			return nil, err
		}
		body := postBody(random, transaction, now)
		if int(p.Bad*float64(i+1)) > int(p.Bad*float64(i)) { // evenly distributed, so that the share is exact
			body = bytes.Replace(body, []byte(`"location":{`),
				[]byte(`"location":{"country":"GB","postcode":"`+BadPostcode+`",`), 1)
		}
		headers := "X-Timestamp: " + stamp + "\r\nX-Signature-SHA256: " +
			signing.Sign([]byte(p.Partner.Secret), stamp, body) + "\r\n"
		requests[i] = request(address, PostPath(p.Partner.Slug), headers, body)
	}
	return requests, nil
}

// transaction returns a transactionId like those that the service returns for pings from this partner.
func (p Poster) transaction(random *rand.Rand, now time.Time) ([]byte, error) {
	tax, markets := p.Table.Taxonomy(), p.Table.Markets()
	industry, country := random.IntN(tax.Len()), [2]byte([]byte(pick(random, countries[:])))
	class := pricingrules.Class(random.IntN(pricingrules.Classes))
	cell := p.Table.Price(industry, markets.Index(country), class)
	var fresh [quote.RandomSize]byte
	crand.Read(fresh[:])
	token, _, err := p.Quotes.Append(nil, quote.Quote{
		Price:       money.Amount{Minor: cell.Minor, Currency: cell.Currency},
		Country:     country,
		TermID:      tax.At(industry).TermID,
		Urgency:     uint8(class),
		Postcode:    postcode(random),
		CardVersion: 1,
		Partner:     p.Partner.ID,
	}, now, fresh)
	return token, err
}

// Disclosures are the texts that consumers agree to. A partner has only a few forms.
var Disclosures = func() (all [8]string) {
	random := rand.New(rand.NewPCG(5, 6))
	for i := range all {
		all[i] = words(random, 250+random.IntN(100))
	}
	return all
}()

// postBody returns a body of 1 to 2 KiB with all common fields.
func postBody(random *rand.Rand, transaction []byte, now time.Time) []byte {
	person := random.IntN(1_000_000)
	body := fmt.Appendf(make([]byte, 0, 2<<10), `{"transactionId":%q,"contact":{"email":"person.%d@example.com","name":"Alex Example %d","phoneE164":"+4420794%05d"},`,
		transaction, person, person, 60000+random.IntN(1000))
	body = fmt.Appendf(body, `"location":{"address":"%d Example Street, Exampleton"},`, 1+random.IntN(200))
	body = fmt.Appendf(body, `"consent":{"acknowledged":true,"acknowledgedAt":%q,"disclosureText":%q,"recipientHash":"%064x","thirdPartyFormCertUrl":"https://cert.example.com/%032x","thirdPartyLeadId":"%032x"},`,
		now.UTC().Format(time.RFC3339), pick(random, Disclosures[:]), person, person, person)
	body = fmt.Appendf(body, `"answers":{"owner":%t,"rooms":%d,"when":%q,"details":%q},`,
		random.IntN(2) == 0, 1+random.IntN(9), pick(random, []string{"this week", "this month", "later"}), words(random, 80+random.IntN(80)))
	body = fmt.Appendf(body, `"reference":"click-%030x","subId":"campaign-%02d",`, random.Uint64(), random.IntN(20))
	return fmt.Appendf(body, `"notes":%q}`, words(random, 150+random.IntN(600)))
}

// words returns about n characters of random words.
func words(random *rand.Rand, n int) string {
	const vocabulary = "I agree to be contacted about my request the boiler leaks and needs a visit before winter please call after five"
	list := strings.Fields(vocabulary)
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(pick(random, list))
		b.WriteByte(' ')
	}
	return strings.TrimSuffix(b.String(), " ")
}
