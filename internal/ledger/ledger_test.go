package ledger

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/models"
)

func TestAccrual(t *testing.T) {
	lead := models.Lead{
		ID: uuid.New(), PartnerID: uuid.New(), AccountID: uuid.New(), PriceMinor: 4560, Currency: "EUR",
		ReceivedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	e := Accrual(&lead)

	if e.AmountMinor != 4560 || e.Currency != "EUR" || e.Kind != models.EntryAccrual {
		t.Errorf("got %d %s of kind %s, want 4560 EUR of kind accrual", e.AmountMinor, e.Currency, e.Kind)
	}
	if e.Reference != id.Format(id.Lead, lead.ID) || *e.LeadID != lead.ID || e.PartnerID != lead.PartnerID ||
		e.AccountID != lead.AccountID || !e.OccurredAt.Equal(lead.ReceivedAt) {
		t.Errorf("the entry does not refer to its lead: %+v", e)
	}
}
