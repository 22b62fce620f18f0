package ledger

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/models"
)

func TestAccrual(t *testing.T) {
	partner, account, lead := uuid.New(), uuid.New(), uuid.New()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := Accrual(partner, account, lead, money.Amount{Minor: 4560, Currency: money.EUR}, at)

	if e.AmountMinor != 4560 || e.Currency != "EUR" || e.Kind != models.EntryAccrual {
		t.Errorf("%d %s, %s: an accrual adds what the lead earned", e.AmountMinor, e.Currency, e.Kind)
	}
	if e.Reference != id.Format(id.Lead, lead) || *e.LeadID != lead || e.PartnerID != partner ||
		e.AccountID != account || !e.OccurredAt.Equal(at) {
		t.Errorf("the entry does not name its lead: %+v", e)
	}
}
