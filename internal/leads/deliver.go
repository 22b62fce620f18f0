package leads

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/fault"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/store"
)

// statementWithin bounds a statement from this side: the server's own time-out
// does not help when the network between has gone.
const statementWithin = 8 * time.Second

// readBackWithin bounds how long a post waits to learn what became of a commit
// whose answer was lost.
const readBackWithin = 3 * time.Second

// deliverSQL stores a lead with its consent, ledger entry and timeline event in
// one round trip and one transaction of its own. The unique transaction is the
// guard (D3): of many at once one inserts, the others find a conflict and store
// nothing. Who delivers must be active now, whatever a snapshot said (D21).
const deliverSQL = `
WITH active AS (
	SELECT FROM partners p JOIN accounts a ON a.id = $4 AND a.partner_id = p.id AND a.status = 'active'
	WHERE p.id = $3 AND p.status = 'approved' AND ($5::uuid IS NULL OR EXISTS (
		SELECT FROM signing_secrets s WHERE s.id = $5 AND s.partner_id = p.id AND s.state = 'active'
			AND s.not_before <= $18 AND (s.retires_at IS NULL OR s.retires_at > $18)))
), lead AS (
	INSERT INTO leads (id, transaction, partner_id, account_id, secret_id, transaction_id, hmac_verified, sandbox,
		price_minor, currency, industry, term_id, urgency, card_version, quoted_partner, quoted_country,
		quoted_postcode, received_at, quoted_at, country, postcode, email_digest, phone_digest, phone_flagged,
		body_digest, ciphertext, iv, auth_tag, salt, wrapped_key, key_wrapper, key_version)
	SELECT $1::uuid, $2::uuid, $3::uuid, $4::uuid, $5::uuid, $6::text, $7::bool, $8::bool,
		$9::bigint, $10::text, $11::text, $12::int, $13::text, $14::int, $15::uuid, $16::text,
		$17::text, $18::timestamptz, $19::timestamptz, $20::text, $21::text, $22::bytea, $23::bytea, $24::bool,
		$25::bytea, $26::bytea, $27::bytea, $28::bytea, $29::bytea, $30::bytea, $31::text, $32::text
	FROM active
	ON CONFLICT (transaction) DO NOTHING
	RETURNING id, partner_id, account_id, sandbox, received_at, currency
), consent AS (
	INSERT INTO consents (lead_id, partner_id, acknowledged, acknowledged_at, disclosure_text, recipient_hash,
		form_cert_url, third_party_lead_id, sandbox, received_at)
	SELECT id, partner_id, true, $33::timestamptz, $34::text, $35::text, $36::text, $37::text, sandbox, received_at FROM lead
), accrual AS (
	INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
	SELECT partner_id, account_id, id, $38::text, $39::text, $40::bigint, currency, received_at FROM lead WHERE NOT sandbox
), event AS (
	INSERT INTO lead_events (lead_id, kind, detail, at) SELECT id, $41::text, $42::jsonb, received_at FROM lead
)
SELECT EXISTS (SELECT FROM lead)`

func (d *Delivery) args() []any {
	l, c := &d.Lead, &d.Consent
	var kind, reference *string
	var amount *int64
	if d.Accrual != nil {
		text := string(d.Accrual.Kind)
		kind, reference, amount = &text, &d.Accrual.Reference, &d.Accrual.AmountMinor
	}
	return []any{
		l.ID, l.Transaction, l.PartnerID, l.AccountID, l.SecretID, l.TransactionID, l.HMACVerified, l.Sandbox,
		l.PriceMinor, l.Currency, l.Industry, l.TermID, l.Urgency, l.CardVersion, l.QuotedPartner, l.QuotedCountry,
		l.QuotedPostcode, l.ReceivedAt, l.QuotedAt, l.Country, l.Postcode, l.EmailDigest, l.PhoneDigest, l.PhoneFlagged,
		l.BodyDigest, l.Ciphertext, l.IV, l.AuthTag, l.Salt, l.WrappedKey, l.KeyWrapper, l.KeyVersion,
		c.AcknowledgedAt, c.DisclosureText, c.RecipientHash, c.FormCertURL, c.ThirdPartyLeadID,
		kind, reference, amount, d.Event.Kind, d.Event.Detail,
	}
}

// Deliver stores the lead, or finds the one that its transaction already holds;
// stored tells which. The context's end does not undo a commit under way: pass
// one that outlives the client's connection. Errors: ErrInactive, or a failure
// after which the same post may be sent again.
func (s *Store) Deliver(ctx context.Context, d *Delivery) (r Receipt, stored bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, statementWithin)
	defer cancel()
	err = s.pool.QueryRow(bounded, deliverSQL, d.args()...).Scan(&stored)
	switch {
	case err == nil && stored:
		r, err = d.receipt()
		return r, true, err
	case err == nil:
		r, err = s.Find(ctx, scope.System, d.Lead.Transaction)
		if f := fault.As(err); f != nil && f.Code == fault.NotFound {
			err = ErrInactive
		}
		return r, false, err
	case store.Ambiguous(err):
		return s.readBack(ctx, d, err)
	}
	return Receipt{}, false, store.Translate(err)
}

// readBack asks on a fresh connection what became of a statement whose answer
// was lost. Not found is no proof that it never commits, so that is a failure
// too: the same post again gives the truth (D21).
func (s *Store) readBack(ctx context.Context, d *Delivery, lost error) (Receipt, bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readBackWithin)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig.Copy())
	if err != nil {
		return Receipt{}, false, store.Translate(errors.Join(lost, err))
	}
	defer conn.Close(ctx)
	r, err := find(ctx, conn, scope.System, d.Lead.Transaction)
	if err != nil {
		return Receipt{}, false, store.Translate(lost)
	}
	return r, r.is(d), nil
}

// Find returns the receipt of a delivered transaction; a NotFound fault when
// there is none in the scope.
func (s *Store) Find(ctx context.Context, sc scope.Scope, transaction uuid.UUID) (Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, statementWithin)
	defer cancel()
	return find(ctx, s.pool, sc, transaction)
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func find(ctx context.Context, q querier, sc scope.Scope, transaction uuid.UUID) (Receipt, error) {
	var r Receipt
	var currency string
	err := q.QueryRow(ctx, `SELECT id, partner_id, price_minor, currency, received_at, body_digest, ciphertext, iv, auth_tag, wrapped_key
		FROM leads WHERE transaction = $1 AND ($2 OR partner_id = ANY ($3))`, transaction, sc.All(), sc.IDs()).
		Scan(&r.LeadID, &r.PartnerID, &r.Payout.Minor, &currency, &r.ReceivedAt, &r.BodyDigest,
			&r.Envelope.Ciphertext, &r.Envelope.IV, &r.Envelope.AuthTag, &r.Envelope.Wrapped)
	if err != nil {
		return r, store.Translate(err)
	}
	r.ReceivedAt = r.ReceivedAt.UTC()
	r.Payout.Currency, err = money.ParseCurrency(currency)
	return r, err
}
