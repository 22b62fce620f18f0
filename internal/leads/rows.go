package leads

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pingpost/pingpost/models"
)

// columns are the rows of a group as arrays, one a column, in the order of the
// statement's parameters.
type columns struct {
	args []any
}

// column adds one array.
func column[T any](c *columns, rows []*waiting, value func(*Delivery) T) {
	values := make([]T, len(rows))
	for i, w := range rows {
		values[i] = value(w.delivery)
	}
	c.args = append(c.args, values)
}

// lead and consent shorten the list below.
func lead[T any](c *columns, rows []*waiting, value func(*models.Lead) T) {
	column(c, rows, func(d *Delivery) T { return value(&d.Lead) })
}

func consent[T any](c *columns, rows []*waiting, value func(*models.Consent) T) {
	column(c, rows, func(d *Delivery) T { return value(&d.Consent) })
}

func known(u uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: u, Valid: true} }

func optional(u *uuid.UUID) pgtype.UUID {
	if u == nil {
		return pgtype.UUID{}
	}
	return known(*u)
}

// arguments are deliverSQL's parameters.
func arguments(rows []*waiting) []any {
	c := &columns{args: make([]any, 0, 42)}
	lead(c, rows, func(l *models.Lead) pgtype.UUID { return known(l.ID) })
	lead(c, rows, func(l *models.Lead) pgtype.UUID { return known(l.Transaction) })
	lead(c, rows, func(l *models.Lead) pgtype.UUID { return known(l.PartnerID) })
	lead(c, rows, func(l *models.Lead) pgtype.UUID { return known(l.AccountID) })
	lead(c, rows, func(l *models.Lead) pgtype.UUID { return optional(l.SecretID) })
	lead(c, rows, func(l *models.Lead) string { return l.TransactionID })
	lead(c, rows, func(l *models.Lead) bool { return l.HMACVerified })
	lead(c, rows, func(l *models.Lead) bool { return l.Sandbox })
	lead(c, rows, func(l *models.Lead) int64 { return l.PriceMinor })
	lead(c, rows, func(l *models.Lead) string { return l.Currency })
	lead(c, rows, func(l *models.Lead) string { return l.Industry })
	lead(c, rows, func(l *models.Lead) int32 { return int32(l.TermID) })
	lead(c, rows, func(l *models.Lead) string { return l.Urgency })
	lead(c, rows, func(l *models.Lead) int32 { return int32(l.CardVersion) })
	lead(c, rows, func(l *models.Lead) pgtype.UUID { return optional(l.QuotedPartner) })
	lead(c, rows, func(l *models.Lead) string { return l.QuotedCountry })
	lead(c, rows, func(l *models.Lead) string { return l.QuotedPostcode })
	lead(c, rows, func(l *models.Lead) time.Time { return l.ReceivedAt })
	lead(c, rows, func(l *models.Lead) time.Time { return l.QuotedAt })
	lead(c, rows, func(l *models.Lead) string { return l.Country })
	lead(c, rows, func(l *models.Lead) string { return l.Postcode })
	lead(c, rows, func(l *models.Lead) []byte { return l.EmailDigest })
	lead(c, rows, func(l *models.Lead) []byte { return l.PhoneDigest })
	lead(c, rows, func(l *models.Lead) bool { return l.PhoneFlagged })
	lead(c, rows, func(l *models.Lead) []byte { return l.BodyDigest })
	lead(c, rows, func(l *models.Lead) []byte { return l.Ciphertext })
	lead(c, rows, func(l *models.Lead) []byte { return l.IV })
	lead(c, rows, func(l *models.Lead) []byte { return l.AuthTag })
	lead(c, rows, func(l *models.Lead) []byte { return l.Salt })
	lead(c, rows, func(l *models.Lead) []byte { return l.WrappedKey })
	lead(c, rows, func(l *models.Lead) string { return l.KeyWrapper })
	lead(c, rows, func(l *models.Lead) string { return l.KeyVersion })
	consent(c, rows, func(k *models.Consent) *time.Time { return k.AcknowledgedAt })
	consent(c, rows, func(k *models.Consent) *string { return k.DisclosureText })
	consent(c, rows, func(k *models.Consent) *string { return k.RecipientHash })
	consent(c, rows, func(k *models.Consent) *string { return k.FormCertURL })
	consent(c, rows, func(k *models.Consent) *string { return k.ThirdPartyLeadID })
	column(c, rows, func(d *Delivery) *string {
		return accrual(d, func(e *models.LedgerEntry) string { return string(e.Kind) })
	})
	column(c, rows, func(d *Delivery) *string {
		return accrual(d, func(e *models.LedgerEntry) string { return e.Reference })
	})
	column(c, rows, func(d *Delivery) *int64 {
		return accrual(d, func(e *models.LedgerEntry) int64 { return e.AmountMinor })
	})
	column(c, rows, func(d *Delivery) string { return d.Event.Kind })
	column(c, rows, func(d *Delivery) string { return d.Event.Detail })
	return c.args
}

// accrual is null for a sandbox lead.
func accrual[T any](d *Delivery, value func(*models.LedgerEntry) T) *T {
	if d.Accrual == nil {
		return nil
	}
	v := value(d.Accrual)
	return &v
}
