package leads

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pingpost/pingpost/internal/ledger"
	"github.com/pingpost/pingpost/models"
)

// column is an array parameter of deliverSQL that contains one value for each post in a group.
type column struct {
	name  string
	kind  string                          // Postgres type
	array func([]*waitingDelivery) any    // values for a group
	field func(into *models.Lead) (p any) // the field to scan into; nil if it is not a column of leads
}

// readableColumns returns the columns of the table leads that the console may show.
func readableColumns() []column {
	return []column{
		leadUUID("id", func(l *models.Lead) *uuid.UUID { return &l.ID }),
		leadUUID("partner_id", func(l *models.Lead) *uuid.UUID { return &l.PartnerID }),
		leadUUID("account_id", func(l *models.Lead) *uuid.UUID { return &l.AccountID }),
		optionalUUID("secret_id", func(l *models.Lead) **uuid.UUID { return &l.SecretID }),
		leadColumn("transaction_id", "text", func(l *models.Lead) *string { return &l.TransactionID }),
		leadColumn("hmac_verified", "bool", func(l *models.Lead) *bool { return &l.HMACVerified }),
		leadColumn("sandbox", "bool", func(l *models.Lead) *bool { return &l.Sandbox }),
		leadColumn("price_minor", "bigint", func(l *models.Lead) *int64 { return &l.PriceMinor }),
		leadColumn("currency", "text", func(l *models.Lead) *string { return &l.Currency }),
		leadColumn("industry", "text", func(l *models.Lead) *string { return &l.Industry }),
		leadInt("term_id", func(l *models.Lead) *int { return &l.TermID }),
		leadColumn("urgency", "text", func(l *models.Lead) *string { return &l.Urgency }),
		leadInt("card_version", func(l *models.Lead) *int { return &l.CardVersion }),
		optionalUUID("quoted_partner", func(l *models.Lead) **uuid.UUID { return &l.QuotedPartner }),
		leadColumn("quoted_country", "text", func(l *models.Lead) *string { return &l.QuotedCountry }),
		leadColumn("quoted_postcode", "text", func(l *models.Lead) *string { return &l.QuotedPostcode }),
		leadColumn("received_at", "timestamptz", func(l *models.Lead) *time.Time { return &l.ReceivedAt }),
		leadColumn("quoted_at", "timestamptz", func(l *models.Lead) *time.Time { return &l.QuotedAt }),
		leadColumn("country", "text", func(l *models.Lead) *string { return &l.Country }),
		leadColumn("postcode", "text", func(l *models.Lead) *string { return &l.Postcode }),
		leadColumn("partner_reference", "text", func(l *models.Lead) *string { return &l.PartnerReference }),
		leadColumn("sub_id", "text", func(l *models.Lead) *string { return &l.SubID }),
		leadColumn("phone_flagged", "bool", func(l *models.Lead) *bool { return &l.PhoneFlagged }),
	}
}

// internalColumns returns the columns of the table leads that are never shown: the attempt ID, digests
// and encrypted data.
func internalColumns() []column {
	return []column{
		leadUUID("attempt_id", func(l *models.Lead) *uuid.UUID { return &l.AttemptID }),
		leadColumn("email_digest", "bytea", func(l *models.Lead) *[]byte { return &l.EmailDigest }),
		leadColumn("phone_digest", "bytea", func(l *models.Lead) *[]byte { return &l.PhoneDigest }),
		leadColumn("ciphertext", "bytea", func(l *models.Lead) *[]byte { return &l.Ciphertext }),
		leadColumn("iv", "bytea", func(l *models.Lead) *[]byte { return &l.IV }),
		leadColumn("auth_tag", "bytea", func(l *models.Lead) *[]byte { return &l.AuthTag }),
	}
}

func keyColumns() []column {
	return []column{
		newColumn("salt", "bytea", func(d *Delivery) []byte { return d.Key.Salt }),
		newColumn("wrapped_key", "bytea", func(d *Delivery) []byte { return d.Key.WrappedKey }),
		newColumn("key_wrapper", "text", func(d *Delivery) string { return d.Key.KeyWrapper }),
		newColumn("key_version", "text", func(d *Delivery) string { return d.Key.KeyVersion }),
		newColumn("body_digest", "bytea", func(d *Delivery) []byte { return d.Key.BodyDigest }),
	}
}

// consentColumns returns the columns of the table consents that are not also columns of the table leads.
func consentColumns() []column {
	return []column{
		newColumn("acknowledged_at", "timestamptz", func(d *Delivery) *time.Time { return d.Consent.AcknowledgedAt }),
		newColumn("acknowledged_text", "text", func(d *Delivery) *string { return d.Consent.AcknowledgedText }),
		newColumn("disclosure_digest", "bytea", func(d *Delivery) []byte { return d.Consent.DisclosureDigest }),
		newColumn("recipient_hash", "text", func(d *Delivery) *string { return d.Consent.RecipientHash }),
		newColumn("form_cert_url", "text", func(d *Delivery) *string { return d.Consent.FormCertURL }),
		newColumn("third_party_lead_id", "text", func(d *Delivery) *string { return d.Consent.ThirdPartyLeadID }),
	}
}

// childColumns returns the columns of a post's disclosure text, ledger entry and event, and the wrapping
// key, which is checked but not stored.
func childColumns(cached *cachedTexts) []column {
	return []column{
		newColumn("disclosure_text", "text", cached.newText),
		accrual("entry_kind", "text", func(e models.LedgerEntry) string { return string(e.Kind) }),
		accrual("reference", "text", func(e models.LedgerEntry) string { return e.Reference }),
		accrual("amount_minor", "bigint", func(e models.LedgerEntry) int64 { return e.AmountMinor }),
		newColumn("event_kind", "text", func(d *Delivery) string { return string(d.Event.Kind) }),
		newColumn("detail", "text", func(d *Delivery) string { return d.Event.Detail }),
		newColumn("wrapping_key", "text", func(d *Delivery) string { return d.WrappingKey }),
	}
}

func newColumn[T any](name, kind string, value func(*Delivery) T) column {
	return column{name: name, kind: kind, array: func(rows []*waitingDelivery) any {
		values := make([]T, len(rows))
		for i, w := range rows {
			values[i] = value(w.delivery)
		}
		return values
	}}
}

func leadColumn[T any](name, kind string, field func(*models.Lead) *T) column {
	return leadColumnAs(name, kind, field, func(v T) T { return v })
}

// leadColumnAs returns a column of leads. The function argument converts each value to the type that is
// sent to Postgres.
func leadColumnAs[T, A any](name, kind string, field func(*models.Lead) *T, argument func(T) A) column {
	c := newColumn(name, kind, func(d *Delivery) A { return argument(*field(&d.Lead)) })
	c.field = func(l *models.Lead) any { return field(l) }
	return c
}

func leadInt(name string, field func(*models.Lead) *int) column {
	return leadColumnAs(name, "int", field, func(n int) int32 { return int32(n) }) //nolint:gosec // terms and versions are small
}

func leadUUID(name string, field func(*models.Lead) *uuid.UUID) column {
	return leadColumnAs(name, "uuid", field, func(u uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: u, Valid: true} })
}

func optionalUUID(name string, field func(*models.Lead) **uuid.UUID) column {
	return leadColumnAs(name, "uuid", field, func(u *uuid.UUID) pgtype.UUID {
		if u == nil {
			return pgtype.UUID{}
		}
		return pgtype.UUID{Bytes: *u, Valid: true}
	})
}

// accrual returns a column of a lead's ledger entry. The column is not used for sandbox leads, because
// deliverSQL stores no entry for them (decision 25).
func accrual[T any](name, kind string, value func(models.LedgerEntry) T) column {
	return newColumn(name, kind, func(d *Delivery) T { return value(ledger.Accrual(&d.Lead)) })
}

// deliverSQL stores a group of leads with their keys, consents, ledger entries and events in one
// round trip and one transaction. newDeliverStatement fills in the lists of columns.
//
// A lead has the id of its transaction, so the primary key makes deliveries idempotent (decision 3). If several posts
// for the same transaction arrive at once, one inserts the lead and the others store nothing. The lead's other rows are
// stored only for the attempt that inserted the lead. Leads are inserted in order of id, so that two groups cannot
// deadlock.
//
// Each disclosure text is stored once (decision 54). A text that is not standard is locked until the
// group is committed, so that it is not deleted with another lead. Texts are locked in order of their
// digests, so that neither two groups nor a group and an erasure can deadlock.
//
// The statement checks that the partner, account and secret are active, because the directory may be
// out of date (decision 21), and that the wrapping key is registered (decision 55). Each of them is
// looked up once per group, not once per post. The lookups are subqueries rather than joins, because a
// plan that was made while the tables were small might join all rows.
//
// The result has a row for each post (see outcome).
const deliverSQL = `
WITH post AS MATERIALIZED (
	SELECT * FROM unnest(%[1]s) AS post (%[2]s)
), sender AS MATERIALIZED (
	SELECT account_id, partner_id FROM (SELECT DISTINCT account_id, partner_id FROM post) AS named
	WHERE (SELECT status FROM partners WHERE id = named.partner_id) = 'approved'
		AND (SELECT status FROM accounts WHERE id = named.account_id AND partner_id = named.partner_id) = 'active'
), secret AS MATERIALIZED (
	SELECT secret_id, active.* FROM (SELECT DISTINCT secret_id FROM post) AS named CROSS JOIN LATERAL (
		SELECT partner_id, not_before, expires_at FROM signing_secrets WHERE id = named.secret_id AND state = 'active'
		LIMIT 1) AS active
), registered AS MATERIALIZED (
	SELECT key_wrapper, wrapping_key FROM (SELECT DISTINCT key_wrapper, wrapping_key FROM post) AS named
	WHERE (SELECT true FROM wrapping_keys WHERE wrapper = named.key_wrapper AND key = named.wrapping_key)
), checked AS MATERIALIZED (
	SELECT attempt_id, registered.wrapping_key IS NOT NULL AS key_registered, sender.partner_id IS NOT NULL AS sender_active,
		(post.secret_id IS NULL OR not_before <= received_at AND coalesce(expires_at > received_at, true)) IS TRUE AS secret_active
	FROM post LEFT JOIN registered USING (key_wrapper, wrapping_key) LEFT JOIN sender USING (account_id, partner_id)
		LEFT JOIN secret USING (secret_id, partner_id)
), lead AS (
	INSERT INTO leads (%[3]s)
	SELECT %[3]s FROM post JOIN checked USING (attempt_id) WHERE key_registered AND secret_active AND sender_active
	ORDER BY id
	ON CONFLICT (id) DO NOTHING
	RETURNING attempt_id
), key AS (
	INSERT INTO lead_keys (lead_id, %[5]s)
	SELECT id, %[5]s FROM post JOIN lead USING (attempt_id)
), consent AS (
	INSERT INTO consents (lead_id, partner_id, acknowledged, sandbox, received_at, %[4]s)
	SELECT id, partner_id, true, sandbox, received_at, %[4]s FROM post JOIN lead USING (attempt_id)
), disclosed AS MATERIALIZED (
	SELECT DISTINCT ON (disclosure_digest) disclosure_digest, disclosure_text, partner_id, received_at
	FROM post JOIN lead USING (attempt_id) WHERE disclosure_text IS NOT NULL ORDER BY disclosure_digest
), non_standard AS MATERIALIZED (
	SELECT * FROM disclosed WHERE (SELECT standard FROM disclosures WHERE digest = disclosure_digest) IS NOT TRUE
), disclosure AS (
	INSERT INTO disclosures (digest, text, partner_id, first_used_at)
	SELECT disclosure_digest, disclosure_text, partner_id, received_at FROM non_standard
	WHERE pg_advisory_xact_lock_shared(hashtext('disclosures'), disclosure_lock(disclosure_digest)) IS NOT NULL
	ON CONFLICT (digest) DO NOTHING
), disclosure_use AS (
	INSERT INTO disclosure_uses (lead_id, digest)
	SELECT id, disclosure_digest FROM post JOIN lead USING (attempt_id) JOIN non_standard USING (disclosure_digest)
), accrual AS (
	INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
	SELECT partner_id, account_id, id, entry_kind, reference, amount_minor, currency, received_at
	FROM post JOIN lead USING (attempt_id) WHERE NOT sandbox
), event AS (
	INSERT INTO lead_events (lead_id, kind, detail, at)
	SELECT id, event_kind, detail::jsonb, received_at FROM post JOIN lead USING (attempt_id)
)
SELECT attempt_id, key_registered, secret_active, sender_active, lead.attempt_id IS NOT NULL FROM checked LEFT JOIN lead
USING (attempt_id)`

// deliverStatement contains deliverSQL with its lists of columns filled in. The field columns contains the
// parameters of the SQL statement in order.
type deliverStatement struct {
	sql     string
	columns []column
}

func newDeliverStatement(cached *cachedTexts) deliverStatement {
	leads, keys, consents := append(readableColumns(), internalColumns()...), keyColumns(), consentColumns()
	all := slices.Concat(leads, keys, consents, childColumns(cached))
	parameters := make([]string, len(all))
	for i, c := range all {
		parameters[i] = fmt.Sprintf("$%d::%s[]", i+1, c.kind)
	}
	return deliverStatement{
		sql: fmt.Sprintf(deliverSQL, strings.Join(parameters, ", "), names("", all), names("", leads),
			names("", consents), names("", keys)),
		columns: all,
	}
}

func (s deliverStatement) arguments(rows []*waitingDelivery) []any {
	args := make([]any, len(s.columns))
	for i, c := range s.columns {
		args[i] = c.array(rows)
	}
	return args
}

func names(prefix string, columns []column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = prefix + c.name
	}
	return strings.Join(list, ", ")
}

// fields returns pointers to the lead's fields into which the columns are read, in the order of the
// columns.
func fields(columns []column, into *models.Lead) []any {
	list := make([]any, len(columns))
	for i, c := range columns {
		list[i] = c.field(into)
	}
	return list
}
