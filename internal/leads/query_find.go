package leads

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/payload"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// MaxFound is the maximum number of leads that a search for a consumer returns.
const MaxFound = 100

var errNoAccount = apperr.New(apperr.NotFound, "account", "Not Found")

// SearchResult contains a consumer's leads, newest first. More reports whether there are more than
// MaxFound.
type SearchResult struct {
	Rows []Row
	More bool
}

// FindTransaction returns the id of the lead with a transactionId, which must be exactly as the
// partner received it.
func (o *Reader) FindTransaction(ctx context.Context, sc scope.Scope, token string) (lead uuid.UUID, err error) {
	transaction, err := quote.Identity(token)
	if err != nil {
		return uuid.Nil, errNotFound
	}
	var partner uuid.UUID
	err = o.db.Pool.QueryRow(ctx, `SELECT id, partner_id FROM leads WHERE transaction = $1 AND transaction_id = $2`,
		transaction, token).Scan(&lead, &partner)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !sc.Allows(partner) {
		return uuid.Nil, errNotFound
	}
	return lead, postgres.Translate(err)
}

// requestWindow is the maximum difference between the time in a request's id and the time in its
// lead's id. The request's body arrives between these two times.
const requestWindow = time.Minute

// FindRequest returns the id of the lead that a request delivered. Both ids contain the time, so the
// search reads a range of one minute in the primary key and needs no other index.
func (o *Reader) FindRequest(ctx context.Context, sc scope.Scope, request uuid.UUID) (lead uuid.UUID, err error) {
	at := id.Time(request)
	var partner uuid.UUID
	err = o.db.Pool.QueryRow(ctx, `SELECT l.id, l.partner_id FROM lead_events e JOIN leads l ON l.id = e.lead_id
		WHERE e.lead_id >= $1 AND e.lead_id < $2 AND e.kind = 'delivered' AND e.detail ->> 'request_id' = $3`,
		id.NewV7(at, [10]byte{}), id.NewV7(at.Add(requestWindow), [10]byte{}), id.Format(id.Request, request)).Scan(&lead, &partner)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !sc.Allows(partner) {
		return uuid.Nil, errNotFound
	}
	return lead, postgres.Translate(err)
}

// FindEmail returns a consumer's leads by email address. It ignores the letter case, and accepts the
// domain in Unicode or ASCII form. The search is recorded in the audit log, without the address.
func (o *Reader) FindEmail(ctx context.Context, sc scope.Scope, address string) (SearchResult, error) {
	if !payload.IsEmail(strings.TrimSpace(address)) {
		return SearchResult{}, invalidField("email", "Enter a complete email address, such as name@example.com.")
	}
	var digests [][]byte
	for _, form := range payload.EmailForms(address) {
		digests = append(digests, o.keys.Digests(keyring.Lookup, []byte(form))...)
	}
	return o.find(ctx, sc, "email", digests)
}

// FindPhone returns a consumer's leads by phone number. The number is in international form, or as
// dialled in country, which is a two-letter code. A number without + needs a country. FindPhone also
// searches for the number as typed, because numbers that are not valid in their country are stored as
// sent.
func (o *Reader) FindPhone(ctx context.Context, sc scope.Scope, number, country string) (SearchResult, error) {
	number = strings.TrimSpace(number)
	if country == "" && !strings.HasPrefix(number, "+") && strings.ContainsAny(number, "0123456789") {
		return SearchResult{}, invalidField("country",
			"Choose the country of this number, or enter it with + and the country code.")
	}
	digests := o.keys.Digests(keyring.Lookup, []byte(number))
	text, ok := payload.E164(number, country)
	if ok && text != number {
		digests = append(digests, o.keys.Digests(keyring.Lookup, []byte(text))...)
	}
	if !ok && !strings.ContainsAny(number, "0123456789") {
		return SearchResult{}, invalidField("phone",
			"Enter a phone number with + and the country code, or as dialled in the country.")
	}
	return o.find(ctx, sc, "phone", digests)
}

func invalidField(field, message string) error {
	return apperr.AtField(apperr.Invalid, field, apperr.InvalidValue, field, message)
}

// findPersonSQL looks up every index key that a consumer's leads may have. For a year of leads, this
// takes a few milliseconds. OFFSET 0 forces these lookups. Without it, Postgres might read all leads
// if it has no statistics yet.
const findPersonSQL = `SELECT l.id FROM (SELECT DISTINCT unnest($1::bytea[])) AS near (key) CROSS JOIN LATERAL (
		SELECT d.id, d.partner_id FROM leads d WHERE substr(uuid_send(d.id), 1, 3) || substr(d.%[1]s_digest, 5, 4) = near.key
			AND d.%[1]s_digest = ANY ($2) OFFSET 0) l
	WHERE $3 OR l.partner_id = ANY ($4) ORDER BY l.id DESC LIMIT %[2]d`

// personSQL fills in findPersonSQL for a search by "email" or "phone".
func personSQL(by string) string { return fmt.Sprintf(findPersonSQL, by, MaxFound+1) }

// nearKeys returns the index keys of all leads that have one of the digests and were received between
// two times. An index key is the first three bytes of the lead's id, which cover 2^24 ms, followed by
// the four bytes after the key id in the digest.
func nearKeys(from, until time.Time, digests [][]byte) (keys [][]byte) {
	for span := from.UnixMilli() >> 24; span <= until.UnixMilli()>>24; span++ {
		for _, d := range digests {
			keys = append(keys, append([]byte{byte(span >> 16), byte(span >> 8), byte(span)}, d[4:8]...)) //nolint:gosec // the last three bytes
		}
	}
	return keys
}

func (o *Reader) find(ctx context.Context, sc scope.Scope, by string, digests [][]byte) (f SearchResult, err error) {
	var first uuid.UUID
	err = o.db.Pool.QueryRow(ctx, `SELECT id FROM leads ORDER BY id LIMIT 1`).Scan(&first)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
	case err != nil:
		return f, postgres.Translate(err)
	default:
		// Another node's clock may be ahead.
		keys := nearKeys(id.Time(first), o.clock.Now().AddDate(0, 0, 1), digests)
		if f.Rows, err = o.collect(ctx, fmt.Sprintf(rowsSQL, personSQL(by), "DESC"), keys, digests, sc.All(), sc.IDs()); err != nil {
			return f, err
		}
	}
	if f.More = len(f.Rows) > MaxFound; f.More {
		f.Rows = f.Rows[:MaxFound]
	}
	note := audit.Event{Action: "lead.find", Kind: "lead", After: map[string]any{"by": by, "found": len(f.Rows)}}
	return f, audit.New(o.db, o.clock).LogDone(ctx, o.by, note)
}

// Account returns the account with exactly this partnerId, or a NotFound error if there is no such
// account in the scope.
func (o *Reader) Account(ctx context.Context, sc scope.Scope, identifier string) (a models.Account, err error) {
	q := o.db.Gorm.WithContext(ctx).Where("identifier = ?", identifier).Limit(1).Find(&a)
	if q.Error == nil && (q.RowsAffected == 0 || !sc.Allows(a.PartnerID)) {
		return models.Account{}, errNoAccount
	}
	return a, postgres.Translate(q.Error)
}
