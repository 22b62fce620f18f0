package leads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/iso3166"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

// MaxFound is the maximum number of leads that a search for a consumer returns.
const MaxFound = 100

// SearchResult contains a consumer's leads, newest first. More reports whether there are more than
// MaxFound.
type SearchResult struct {
	Rows []Row
	More bool
}

// FindTransaction returns the id of the lead with the given transactionId, which must be exactly as the
// partner received it.
func (r *Reader) FindTransaction(ctx context.Context, sc scope.Scope, token string) (lead uuid.UUID, err error) {
	lead, err = quote.Identity(token)
	if err != nil {
		return uuid.Nil, ErrNotFound
	}
	var partner uuid.UUID
	err = r.db.Pool.QueryRow(ctx, `SELECT partner_id FROM leads WHERE id = $1 AND transaction_id = $2`, lead, token).
		Scan(&partner)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !sc.Allows(partner) {
		return uuid.Nil, ErrNotFound
	}
	return lead, postgres.Translate(err)
}

// requestWindow is the maximum difference between the time in a request's id and the time at which its
// lead was received. The request's body arrives between these two times.
const requestWindow = time.Minute

// FindRequest returns the id of the lead that a request delivered. The request's id contains its time,
// so the search reads only the leads received in the minute after that time.
func (r *Reader) FindRequest(ctx context.Context, sc scope.Scope, request uuid.UUID) (lead uuid.UUID, err error) {
	from := id.Time(request)
	until := from.Add(requestWindow)
	first, end := quote.IDRange(from, until)
	var partner uuid.UUID
	err = r.db.Pool.QueryRow(ctx, `SELECT l.id, l.partner_id FROM leads l JOIN lead_events e ON e.lead_id = l.id
		WHERE l.id >= $1 AND l.id < $2 AND e.lead_id >= $1 AND e.lead_id < $2 AND l.received_at >= $3 AND l.received_at < $4
			AND e.kind = 'delivered' AND e.detail ->> 'request_id' = $5`,
		postgres.PlanEachTime, first, end, from, until, id.Format(id.Request, request)).Scan(&lead, &partner)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !sc.Allows(partner) {
		return uuid.Nil, ErrNotFound
	}
	return lead, postgres.Translate(err)
}

// FindEmail returns a consumer's leads by email address. It ignores the letter case, and accepts the
// domain in Unicode or ASCII form. The search is recorded in the audit log, without the address.
func (r *Reader) FindEmail(ctx context.Context, sc scope.Scope, address string) (SearchResult, error) {
	digests, err := r.emailDigests(address)
	if err != nil {
		return SearchResult{}, err
	}
	return r.find(ctx, sc, "email", digests)
}

func (r *Reader) emailDigests(address string) (digests [][]byte, err error) {
	if !payload.IsEmail(plaintext.Trim(address)) {
		return nil, invalidField("email", "Enter a complete email address, such as name@example.com.")
	}
	return r.keys.Digests(keyring.Lookup, []byte(payload.NormaliseEmail(address))), nil
}

// FindPhone returns a consumer's leads by phone number. The number either begins with + and the country
// code, or is written as it is dialled in one of the given countries, which are two-letter codes.
// FindPhone also searches for the digits as typed, because numbers that are not valid in their country are
// stored as sent.
func (r *Reader) FindPhone(
	ctx context.Context, sc scope.Scope, number string, countries ...string,
) (SearchResult, error) {
	digests, err := r.phoneDigests(number, countries...)
	if err != nil {
		return SearchResult{}, err
	}
	return r.find(ctx, sc, "phone", digests)
}

func (r *Reader) phoneDigests(number string, countries ...string) (digests [][]byte, err error) {
	if payload.PhoneDigits(number) == "" {
		return nil, invalidField("phone",
			"Enter a phone number with + and the country code, or as dialled in the country.")
	}
	if strings.Join(countries, "") == "" && !strings.HasPrefix(plaintext.Trim(number), "+") {
		return nil, invalidField("country",
			"Choose the country of this number, or enter it with + and the country code.")
	}
	forms := map[string]bool{}
	for _, country := range append(slices.Clone(countries), "") {
		for _, form := range payload.PhoneForms(number, iso3166.Country(country)) {
			forms[form] = true
		}
	}
	for form := range forms {
		digests = append(digests, r.keys.Digests(keyring.Lookup, []byte(form))...)
	}
	return digests, nil
}

// Person identifies a consumer by email address, phone number or both.
type Person struct {
	Email   string
	Phone   string
	Country string // of a phone number without +, as a two-letter code
}

// PersonLead is one of a consumer's leads. Its digests are nil if it was erased or, for PhoneDigest, if it has
// no phone number.
type PersonLead struct {
	ID, Partner              uuid.UUID
	EmailDigest, PhoneDigest []byte
}

// PersonDigests contains the lookup digests of a person, for all forms of each identifier and all platform keys.
type PersonDigests struct{ Email, Phone [][]byte }

// PersonDigests returns the lookup digests of a person.
//
// Errors: Invalid at the field email, phone or country.
func (r *Reader) PersonDigests(p Person) (d PersonDigests, err error) {
	if p.Email != "" {
		if d.Email, err = r.emailDigests(p.Email); err != nil {
			return d, err
		}
	}
	if p.Phone != "" {
		d.Phone, err = r.phoneDigests(p.Phone, p.Country)
	}
	return d, err
}

// FindPerson returns all leads at all partners that have the person's email address or phone number,
// newest first. Unlike FindEmail and FindPhone, it has no limit and does not write to the audit log.
//
// Errors: Invalid at the field email, phone or country.
func (r *Reader) FindPerson(ctx context.Context, p Person) (all []PersonLead, err error) {
	digests, err := r.PersonDigests(p)
	if err != nil {
		return nil, err
	}
	parts, err := r.periods(ctx, earliest.ReceivedAt, latest.ReceivedAt, false)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		first, end := quote.IDRange(part.From, part.Until)
		rows, err := r.db.Pool.Query(ctx, allOfPersonSQL, postgres.PlanEachTime, first, end, digests.Email, digests.Phone,
			part.From, part.Until)
		if err != nil {
			return nil, postgres.Translate(err)
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[PersonLead])
		if err != nil {
			return nil, postgres.Translate(err)
		}
		all = append(all, found...)
	}
	return all, nil
}

func invalidField(field, message string) error {
	return apperr.AtField(apperr.Invalid, field, apperr.InvalidValue, field, message)
}

// findPersonSQL selects the newest of a consumer's leads in a period. OFFSET 0 makes Postgres plan the
// lookup by digest separately from the other conditions. If there are many partitions, this halves the
// time of the search.
const findPersonSQL = `SELECT received_at, id FROM (
		SELECT received_at, id, partner_id FROM leads WHERE %s_digest = ANY ($3) AND id >= $1 AND id < $2 OFFSET 0) l
	WHERE received_at >= $4 AND received_at < $5 AND ($6 OR partner_id = ANY ($7)) ORDER BY received_at DESC, id DESC
	LIMIT $8`

// allOfPersonSQL selects all of a consumer's leads in a period.
const allOfPersonSQL = `SELECT id, partner_id, email_digest, phone_digest FROM (
		SELECT id, partner_id, email_digest, phone_digest, received_at FROM leads WHERE email_digest = ANY ($3) AND id >= $1
		AND id < $2
		UNION SELECT id, partner_id, email_digest, phone_digest, received_at FROM leads WHERE phone_digest = ANY ($4)
		AND id >= $1 AND id < $2 OFFSET 0) l
	WHERE received_at >= $5 AND received_at < $6 ORDER BY id DESC`

func personSQL(by string) string { return fmt.Sprintf(findPersonSQL, by) }

func (r *Reader) find(ctx context.Context, sc scope.Scope, by string, digests [][]byte) (f SearchResult, err error) {
	parts, err := r.periods(ctx, earliest.ReceivedAt, latest.ReceivedAt, false)
	if err != nil {
		return f, err
	}
	var chosen []Cursor
	for _, p := range parts {
		first, end := quote.IDRange(p.From, p.Until)
		more, err := r.positions(ctx, personSQL(by), first, end, digests, p.From, p.Until, sc.All(), sc.IDs(),
			MaxFound+1-len(chosen))
		if err != nil {
			return f, err
		}
		if chosen = append(chosen, more...); len(chosen) > MaxFound {
			chosen, f.More = chosen[:MaxFound], true
			break
		}
	}
	if f.Rows, err = r.rows(ctx, chosen); err != nil {
		return f, err
	}
	note := audit.Event{Action: "lead.find", Kind: "lead", After: map[string]any{"by": by, "found": len(f.Rows)}}
	return f, audit.New(r.db, r.clock).LogDone(ctx, r.by, note)
}
