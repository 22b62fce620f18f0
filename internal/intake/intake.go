// Package intake is the main use case: a ping is priced, a post is delivered.
//
// A ping does no I/O before its answer. A post does one round trip to the
// database. What either did is offered to the recorder and counted as traffic,
// neither of which a request ever waits for.
//
// intake owns the order of the checks (decision 12), whose post it is (decision 13), what a
// refusal is called, and the record of pings and refusals. It does not know
// HTTP: api turns its results and faults into answers.
package intake

import (
	"cmp"
	"crypto/rand"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/internal/snapshot"
	"github.com/pingpost/pingpost/models"
)

// The specification's refusals that are intake's own.
var (
	ErrUnknownSlug   = apperr.New(apperr.NotFound, "unknown_partner", "Not Found")
	errTransactionID = apperr.New(apperr.Invalid, "transaction_format", "Invalid transactionId format")
	errQuoteOwner    = apperr.New(apperr.Invalid, "quote_owner", "Invalid transactionId format")
	errExpired       = apperr.New(apperr.Expired, "expired", "Transaction has expired")
	errDelivered     = apperr.New(apperr.Delivered, "already_delivered", "Transaction has already been delivered")
	errNoWrapper     = apperr.New(apperr.Unavailable, "no_key_wrapper",
		"Lead intake encryption key (LEAD_VAULT_KEK) is not configured.").Retry(retryAfter)
	errNotStored     = apperr.New(apperr.Unavailable, "storing", "Unable to save lead record.").Retry(retryAfter)
	errMatchTooLarge = apperr.New(apperr.TooLarge, "match_too_large", "Payload Too Large")
	errNotLoaded     = apperr.New(apperr.Internal, "not_loaded", "The prices are not loaded yet. Send the ping again.")
	errTooMany       = apperr.New(apperr.TooMany, "too_many", "Too Many Requests")
)

// retryAfter is what a 503 asks for (decision 21).
const retryAfter = 2 * time.Second

// Settings are the configured choices.
type Settings struct {
	DefaultMode      models.SigningMode // of partners without their own, and of the house account
	MatchConcurrency int                // matches by secret at once; 0 for no bound
	MatchWait        time.Duration      // for a place among them
	MatchFailures    int                // failed matches an address may have a minute; 0 for no bound
	WrongSignatures  int                // wrong signatures an address may send a minute; 0 for no bound
	PingRate         int                // pings an address may send to partners' base URLs a second; 0 for no bound
	SharedPingRate   int                // pings an address may send to the shared address a second; 0 for no bound
	PostRate         int                // verified signed posts a partner may send a second; 0 for no bound
	UnsignedRate     int                // unsigned posts an address may send a second; 0 for no bound
	PostConcurrency  int                // posts at the database at once; 0 for no bound
	PostWait         time.Duration      // for a place among them
}

// Deps are what intake works with. All are required.
type Deps struct {
	Directory *snapshot.Holder[partners.Directory]
	Card      *snapshot.Holder[ratecard.CompiledVersion]
	Caps      *partners.Caps
	Quotes    *quote.Sealer
	Keys      *keyring.Keys
	Wrappers  *envelope.Wrappers
	Leads     *leads.Store
	Recorder  *Recorder
	Traffic   *Traffic
	Clock     clock.Clock
}

// Intake answers pings and posts. Safe for concurrent use.
type Intake struct {
	Deps
	settings       Settings
	dummyVerifiers sync.Pool // verifiers of a secret that nobody has

	match           *admission
	matchReserved   *admission      // for addresses that matched recently
	matched         recentAddresses // those addresses
	storing         *admission
	storingUnsigned *admission // separate, so that unsigned posts never fill the one above

	pings           *rateLimiter[netip.Addr] // of partners' base URLs
	posts           *rateLimiter[uuid.UUID]  // of partners: spent by verified signed posts only (decision 28)
	unsigned        *rateLimiter[netip.Addr]
	unmatched       *rateLimiter[netip.Addr] // signatures for which a partner was searched in vain
	wrongSignatures *rateLimiter[netip.Addr] // wrong signatures, whomever they name

	sharedPings    *rateLimiter[netip.Addr]
	unmatchedSites *rateLimiter[netip.Addr] // unmatched, by IPv6 /48
}

const (
	// matchQueue is how many posts wait for their partner to be searched: at well
	// under a millisecond each, as many as are served within the wait.
	matchQueue = 64
	// siteFailures is how many times the failures of an address an IPv6 /48 may have.
	siteFailures = 4
	// postQueue is how many posts wait for each that is on its way to the database:
	// with a database at its usual speed, a second's.
	postQueue = 4
	// unsignedShare is the fraction of the posts at the database, 1 in so many, that
	// may be unsigned.
	unsignedShare = 4
)

// New puts the parts to work.
func New(p Deps, s Settings) *Intake {
	unsignedConcurrency := (s.PostConcurrency + unsignedShare - 1) / unsignedShare
	in := &Intake{
		Deps: p, settings: s,
		match:           newAdmission(s.MatchConcurrency, matchQueue, s.MatchWait),
		matchReserved:   newAdmission(min(s.MatchConcurrency, 1), matchQueue, s.MatchWait),
		storing:         newAdmission(s.PostConcurrency, postQueue*s.PostConcurrency, s.PostWait),
		storingUnsigned: newAdmission(unsignedConcurrency, postQueue*unsignedConcurrency, s.PostWait),
		pings:           newRateLimiter[netip.Addr](s.PingRate, time.Second),
		sharedPings:     newRateLimiter[netip.Addr](s.SharedPingRate, time.Second),
		posts:           newRateLimiter[uuid.UUID](s.PostRate, time.Second),
		unsigned:        newRateLimiter[netip.Addr](s.UnsignedRate, time.Second),
		unmatched:       newRateLimiter[netip.Addr](s.MatchFailures, time.Minute),
		unmatchedSites:  newRateLimiter[netip.Addr](siteFailures*s.MatchFailures, time.Minute),
		wrongSignatures: newRateLimiter[netip.Addr](s.WrongSignatures, time.Minute),
	}
	var dummy [32]byte
	rand.Read(dummy[:])
	in.dummyVerifiers.New = func() any { return signing.NewVerifier(dummy[:]) }
	return in
}

// admission is where a post waits for the database.
func (in *Intake) admission(claim signing.Claim) *admission {
	if claim.Signed {
		return in.storing
	}
	return in.storingUnsigned
}

// Timing is what Server-Timing tells (decision 11).
type Timing struct {
	Auction time.Duration // finding the price
	Cell    time.Duration // of which the table look-up
}

// findBasePartner finds the partner of a base URL: nil for the shared address. It fails for an
// unknown slug and on a node that has not loaded a directory yet.
func findBasePartner(d *partners.Directory, slug string) (*partners.Partner, error) {
	if d == nil {
		return nil, errNotLoaded
	}
	if slug == "" {
		return nil, nil
	}
	p := d.BySlug(slug)
	if p == nil {
		return nil, ErrUnknownSlug
	}
	return p, nil
}

func partnerID(p *partners.Partner) uuid.UUID {
	if p == nil {
		return uuid.Nil
	}
	return p.ID
}

// RecordRejection counts a request that was refused before it could be read: too large,
// or cut off on its way.
func (in *Intake) RecordRejection(endpoint, slug string, request uuid.UUID, start time.Time, err error) {
	partner, unknown := findBasePartner(in.Directory.Get(), slug)
	if unknown == nil {
		in.recordRejection(TrafficKey{Partner: partnerID(partner), Endpoint: endpoint}, request, start, err)
	}
}

// recordRejection counts a refusal and keeps it for its partner, by the names of the
// fields at fault and never their values. Its outcome is the error's, unless staff
// are told more than the partner is.
func (in *Intake) recordRejection(k TrafficKey, request uuid.UUID, start time.Time, err error) {
	outcome, fields := "error", []string{}
	if f := apperr.As(err); f != nil {
		outcome = f.Reason
		for _, one := range f.Fields {
			fields = append(fields, strings.Join(one.Path, "."))
		}
	}
	k.Outcome = cmp.Or(k.Outcome, outcome)
	in.Traffic.Count(k, start, in.Clock.Now().Sub(start))
	if f := apperr.As(err); f != nil && f.Code == apperr.Incomplete {
		return // nothing about it is recorded but the counter (decision 26)
	}
	in.Traffic.recordRejection(rejection{TrafficKey: k, request: request, at: start, fields: fields})
}
