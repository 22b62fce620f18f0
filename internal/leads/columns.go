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

// column is a parameter of deliverSQL: a value of each post of a group.
type column struct {
	name  string
	kind  string                          // its Postgres type
	array func([]*waitingDelivery) any    // its values of a group
	field func(into *models.Lead) (p any) // where a lead's is scanned to; nil for what is not in leads
}

// readableColumns are the columns of leads that a lead's page shows.
func readableColumns() []column {
	return []column{
		leadUUID("id", func(l *models.Lead) *uuid.UUID { return &l.ID }),
		leadUUID("transaction", func(l *models.Lead) *uuid.UUID { return &l.Transaction }),
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
		leadColumn("phone_flagged", "bool", func(l *models.Lead) *bool { return &l.PhoneFlagged }),
		leadColumn("key_wrapper", "text", func(l *models.Lead) *string { return &l.KeyWrapper }),
		leadColumn("key_version", "text", func(l *models.Lead) *string { return &l.KeyVersion }),
	}
}

// internalColumns are the columns of leads that are not shown: digests, and what is
// sealed.
func internalColumns() []column {
	return []column{
		leadColumn("email_digest", "bytea", func(l *models.Lead) *[]byte { return &l.EmailDigest }),
		leadColumn("phone_digest", "bytea", func(l *models.Lead) *[]byte { return &l.PhoneDigest }),
		leadColumn("body_digest", "bytea", func(l *models.Lead) *[]byte { return &l.BodyDigest }),
		leadColumn("ciphertext", "bytea", func(l *models.Lead) *[]byte { return &l.Ciphertext }),
		leadColumn("iv", "bytea", func(l *models.Lead) *[]byte { return &l.IV }),
		leadColumn("auth_tag", "bytea", func(l *models.Lead) *[]byte { return &l.AuthTag }),
		leadColumn("salt", "bytea", func(l *models.Lead) *[]byte { return &l.Salt }),
		leadColumn("wrapped_key", "bytea", func(l *models.Lead) *[]byte { return &l.WrappedKey }),
	}
}

// consentColumns are the columns of consents that are not a lead's too.
func consentColumns() []column {
	return []column{
		newColumn("acknowledged_at", "timestamptz", func(d *Delivery) *time.Time { return d.Consent.AcknowledgedAt }),
		newColumn("disclosure_text", "text", func(d *Delivery) *string { return d.Consent.DisclosureText }),
		newColumn("recipient_hash", "text", func(d *Delivery) *string { return d.Consent.RecipientHash }),
		newColumn("form_cert_url", "text", func(d *Delivery) *string { return d.Consent.FormCertURL }),
		newColumn("third_party_lead_id", "text", func(d *Delivery) *string { return d.Consent.ThirdPartyLeadID }),
	}
}

// childColumns are the values of a post's ledger entry and timeline event.
func childColumns() []column {
	return []column{
		accrual("entry_kind", "text", func(e models.LedgerEntry) string { return string(e.Kind) }),
		accrual("reference", "text", func(e models.LedgerEntry) string { return e.Reference }),
		accrual("amount_minor", "bigint", func(e models.LedgerEntry) int64 { return e.AmountMinor }),
		newColumn("event_kind", "text", func(d *Delivery) string { return d.Event.Kind }),
		newColumn("detail", "text", func(d *Delivery) string { return d.Event.Detail }),
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

// leadColumnAs is a column of leads whose values are sent to Postgres as another type.
func leadColumnAs[T, A any](name, kind string, field func(*models.Lead) *T, argument func(T) A) column {
	c := newColumn(name, kind, func(d *Delivery) A { return argument(*field(&d.Lead)) })
	c.field = func(l *models.Lead) any { return field(l) }
	return c
}

func leadInt(name string, field func(*models.Lead) *int) column {
	return leadColumnAs(name, "int", field, func(n int) int32 { return int32(n) }) //nolint:gosec // these count terms and versions
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

// accrual is a column of a lead's ledger entry. deliverSQL stores none for a sandbox lead (D25).
func accrual[T any](name, kind string, value func(models.LedgerEntry) T) column {
	return newColumn(name, kind, func(d *Delivery) T { return value(ledger.Accrual(&d.Lead)) })
}

// statement is deliverSQL with its lists filled in, and the columns of its parameters.
type statement struct {
	sql     string
	columns []column
}

func newStatement() statement {
	leads, consents := append(readableColumns(), internalColumns()...), consentColumns()
	all := slices.Concat(leads, consents, childColumns())
	parameters := make([]string, len(all))
	for i, c := range all {
		parameters[i] = fmt.Sprintf("$%d::%s[]", i+1, c.kind)
	}
	return statement{
		sql:     fmt.Sprintf(deliverSQL, strings.Join(parameters, ", "), names("", all), names("", leads), names("", consents)),
		columns: all,
	}
}

// arguments are the statement's parameters for a group.
func (s statement) arguments(rows []*waitingDelivery) []any {
	args := make([]any, len(s.columns))
	for i, c := range s.columns {
		args[i] = c.array(rows)
	}
	return args
}

// names lists columns, each with a prefix.
func names(prefix string, columns []column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = prefix + c.name
	}
	return strings.Join(list, ", ")
}

// fields are where the columns of a lead are scanned to.
func fields(columns []column, into *models.Lead) []any {
	list := make([]any, len(columns))
	for i, c := range columns {
		list[i] = c.field(into)
	}
	return list
}
