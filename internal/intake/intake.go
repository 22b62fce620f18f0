// Package intake prices pings and delivers posts.
//
// A ping does no I/O before its response. A post makes one round trip to the database. In the
// background, the package records pings and counts all requests.
//
// The package checks posts in the order of decision 12, finds their owners (decision 13),
// determines the outcome of each request, and records pings and requests. It does not use HTTP.
// Package api converts its results and errors to responses.
package intake

import (
	"crypto/rand"
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
)

// Errors for rejected requests, with the specification's messages.
var (
	ErrUnknownSlug   = apperr.New(apperr.NotFound, "unknown_partner", "Not Found").WithPublicCode(apperr.BaseURLUnknown)
	errTransactionID = apperr.New(apperr.Invalid, "transaction_format", "Invalid transactionId format").
				WithPublicCode(apperr.TransactionInvalid)
	errQuoteOwner = errTransactionID.WithReason("quote_owner")
	errInactive   = apperr.New(apperr.Forbidden, string(models.OutcomeInactive), "Account is not active").
			WithPublicCode(apperr.AccountInactive)
	errNoWrapper = apperr.New(apperr.Unavailable, "no_key_wrapper",
		"Lead intake encryption key (LEAD_VAULT_KEK) is not configured.").
		WithPublicCode(apperr.EncryptionKeyMissing).WithRetryAfter(retryAfter)
	errNotStored = apperr.New(apperr.Unavailable, "storing", "Unable to save lead record.").
			WithPublicCode(apperr.OutcomeUnknown).WithRetryAfter(retryAfter)
	errMatchTooLarge = apperr.New(apperr.TooLarge, "match_too_large", "Payload Too Large").
				WithPublicCode(apperr.UnidentifiedBodyTooLarge)
	errNotLoaded = apperr.New(apperr.Unavailable, "not_loaded", "The prices are not loaded yet. Send the ping again.").
			WithPublicCode(apperr.ServiceUnavailable).WithRetryAfter(retryAfter)
	errTooMany        = apperr.New(apperr.TooMany, "too_many", "Too Many Requests").WithPublicCode(apperr.RateLimited)
	errTooManyInvalid = errTooMany.WithPublicCode(apperr.TooManyInvalidSignatures)
)

// Errors for posts whose quote has expired, or whose transaction already has a lead. The variants of an
// error have different public codes, but errors.Is treats them as equal.
var (
	errExpired = apperr.New(apperr.Expired, "expired", "Transaction has expired").
			WithPublicCode(apperr.TransactionExpired)
	errExpiredDelivered = errExpired.WithPublicCode(apperr.TransactionExpiredDelivered)
	errExpiredUnsigned  = errExpired.WithPublicCode(apperr.TransactionExpiredUnsigned)
	errExpiredUnknown   = errExpired.WithPublicCode(apperr.TransactionExpiredUnknown).WithRetryAfter(retryAfter)

	errDelivered = apperr.New(apperr.Delivered, "already_delivered", "Transaction has already been delivered").
			WithPublicCode(apperr.TransactionDelivered)
	errDeliveredByOther  = errDelivered.WithPublicCode(apperr.TransactionDeliveredByOther)
	errDeliveredUnsigned = errDelivered.WithPublicCode(apperr.TransactionDeliveredUnsigned)
)

// retryAfter is the usual value of the Retry-After header, for example in responses with status 503
// (decision 21).
const retryAfter = 2 * time.Second

// Settings contains the limits and the default signing mode.
type Settings struct {
	DefaultMode      models.SigningMode // for partners without their own mode, and the platform account
	MatchConcurrency int                // posts matched by secret at the same time; 0 for no limit
	MatchWait        time.Duration      // maximum wait for a match slot
	MatchFailures    int                // failed matches per minute and address; 0 for no limit
	WrongSignatures  int                // invalid signatures per minute and address; 0 for no limit
	PingRate         int                // pings to partners' base URLs per second and address; 0 for no limit
	SharedPingRate   int                // pings to the shared base URL per second and address; 0 for no limit
	PostRate         int                // verified signed posts per second and partner; 0 for no limit
	UnsignedRate     int                // unsigned posts per second and address; 0 for no limit
	PostConcurrency  int                // posts that use the database at the same time; 0 for no limit
	PostWait         time.Duration      // maximum wait for a post slot
}

// Deps are the dependencies of Intake. All are required.
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

// Intake handles pings and posts. It is safe for concurrent use.
type Intake struct {
	Deps
	settings       Settings
	dummyVerifiers sync.Pool // verifiers with a random secret that no partner has

	matchSlots         *admission
	reservedMatchSlots *admission      // only for addresses in recentMatches
	recentMatches      recentAddresses // addresses whose posts were matched recently
	storeSlots         *admission
	unsignedStoreSlots *admission // for unsigned posts, so that they cannot take the slots of signed posts

	pingLimiter           *rateLimiter[netip.Addr] // on partners' base URLs
	postLimiter           *rateLimiter[uuid.UUID]  // by partner; counts verified signed posts only (decision 28)
	unsignedLimiter       *rateLimiter[netip.Addr]
	unmatchedLimiter      *rateLimiter[netip.Addr] // counts signatures that matched no partner
	wrongSignatureLimiter *rateLimiter[netip.Addr] // counts all invalid signatures

	sharedPingLimiter    *rateLimiter[netip.Addr]
	unmatchedSiteLimiter *rateLimiter[netip.Addr] // like unmatchedLimiter, but by IPv6 /48
}

const (
	// matchQueue is the maximum number of posts that wait for a slot in matchSecret, which finds the
	// partner whose secret signed a post. A match takes well under a millisecond, so all of them get a
	// slot within MatchWait.
	matchQueue = 64
	// siteFailures × MatchFailures is the maximum number of posts per minute from one IPv6 /48 network
	// that match no partner's secret.
	siteFailures = 4
	// postQueue × PostConcurrency is the maximum number of posts that wait to be stored. The database
	// can usually store that many within a second.
	postQueue = 4
	// unsignedShare limits concurrent unsigned posts to 1/unsignedShare of PostConcurrency.
	unsignedShare = 4
)

// New returns an Intake with the given dependencies and settings.
func New(p Deps, s Settings) *Intake {
	unsignedConcurrency := (s.PostConcurrency + unsignedShare - 1) / unsignedShare
	in := &Intake{
		Deps: p, settings: s,
		matchSlots:            newAdmission(s.MatchConcurrency, matchQueue, s.MatchWait),
		reservedMatchSlots:    newAdmission(min(s.MatchConcurrency, 1), matchQueue, s.MatchWait),
		storeSlots:            newAdmission(s.PostConcurrency, postQueue*s.PostConcurrency, s.PostWait),
		unsignedStoreSlots:    newAdmission(unsignedConcurrency, postQueue*unsignedConcurrency, s.PostWait),
		pingLimiter:           newRateLimiter[netip.Addr](s.PingRate, time.Second),
		sharedPingLimiter:     newRateLimiter[netip.Addr](s.SharedPingRate, time.Second),
		postLimiter:           newRateLimiter[uuid.UUID](s.PostRate, time.Second),
		unsignedLimiter:       newRateLimiter[netip.Addr](s.UnsignedRate, time.Second),
		unmatchedLimiter:      newRateLimiter[netip.Addr](s.MatchFailures, time.Minute),
		unmatchedSiteLimiter:  newRateLimiter[netip.Addr](siteFailures*s.MatchFailures, time.Minute),
		wrongSignatureLimiter: newRateLimiter[netip.Addr](s.WrongSignatures, time.Minute),
	}
	var dummy [32]byte
	rand.Read(dummy[:])
	in.dummyVerifiers.New = func() any { return signing.NewVerifier(dummy[:]) }
	return in
}

// admission returns the limit on concurrent posts that applies to a post. Signed and unsigned posts have
// separate limits.
func (in *Intake) admission(claim signing.Claim) *admission {
	if claim.Signed {
		return in.storeSlots
	}
	return in.unsignedStoreSlots
}

// PostSlots returns the state of the limit on concurrent signed or unsigned posts.
func (in *Intake) PostSlots(signed bool) PostSlots {
	return in.admission(signing.Claim{Signed: signed}).state()
}

// findBasePartner returns the partner that a base URL belongs to, or nil for the shared base URL. It
// returns an error if the slug is unknown or the node has not loaded the partners yet.
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
