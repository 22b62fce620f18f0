package leads_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
)

// TestQuotePage checks the page of a transactionId, with and without a lead. A user who may not see the quote's
// partner gets the same response as for a forged transactionId.
func TestQuotePage(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	taxonomy := s.Options.Prices.Taxonomy()
	plumber, _ := taxonomy.BySlug("plumber")
	issue := func(by *quote.Sealer, partner uuid.UUID, n byte) string {
		t.Helper()
		token, _, err := by.Seal(nil, quote.Quote{
			Price: money.Amount{Minor: 4560, Currency: money.GBP}, Country: [2]byte{'G', 'B'}, TermID: taxonomy.At(plumber).TermID, CardVersion: 1,
			Urgency: 1, Postcode: "SW1A 1AA", Partner: partner, Reference: quote.Tag{Value: "form-7"},
		}, s.Time.Now(), [quote.RandomSize]byte{n})
		if err != nil {
			t.Fatal(err)
		}
		return string(token)
	}
	foreign, err := quote.NewSealer(testkit.PlatformKeys(t, 7).QuoteKeys())
	if err != nil {
		t.Fatal(err)
	}
	mine, others, shared := issue(s.Options.Quotes, s.Harbour.ID, 1), issue(s.Options.Quotes, s.Other.ID, 2), issue(s.Options.Quotes, uuid.Nil, 3)
	lead := s.AddLead(t, s.Harbour, admintest.JoContact, nil)
	s.AddStaff(t, "of-harbour@example.com", models.StaffRole{Role: models.AccountManager, PartnerID: &s.Harbour.ID})
	s.Reload(t)
	scoped := s.NewClient(t)
	scoped.SignIn(t, "of-harbour@example.com")
	manager, officer := s.SignedInAs(t, models.AccountManager), s.SignedInAs(t, models.Privacy)

	manager.Get(t, "/jump?q="+mine).ExpectRedirect(t, web.QuoteURL(mine))
	manager.Get(t, web.QuoteURL(mine)).Expect(t, "a valid quote", http.StatusOK, `data-state="valid"`, "Harbour", "form-7",
		"SW1A 1AA", "45.60", "plumber", `href="/pricing/versions/1"`, `<span class="main">Base price</span>`)
	manager.Get(t, web.QuoteURL(lead.TransactionID)).Expect(t, "a delivered quote", http.StatusOK, `data-state="delivered"`,
		`href="`+web.LeadURL(lead.ID)+`"`, "harbour-leads-main")
	if p := officer.Get(t, web.QuoteURL(mine)); p.Status != http.StatusOK || strings.Contains(p.Body, "45.60") {
		t.Errorf("a user without permission to see prices: got status %d: %s", p.Status, p.Text())
	}
	scoped.Get(t, web.QuoteURL(mine)).Expect(t, "a quote in the user's scope", http.StatusOK, `data-state="valid"`)
	unknown := mine[:len(mine)-1] + map[bool]string{true: "Q", false: "A"}[strings.HasSuffix(mine, "A")]
	want := scoped.Get(t, web.QuoteURL(unknown))
	for name, token := range map[string]string{
		"another partner's quote":    others,
		"a quote for any partner":    shared,
		"another platform's quote":   issue(foreign, s.Harbour.ID, 4),
		"a quote without its ending": mine[:len(mine)-4],
		"text that is not base64":    "tx_%2B",
	} {
		if p := scoped.Get(t, web.QuoteURL(token)); p.Status != http.StatusNotFound || p.Text() != want.Text() {
			t.Errorf("%s: got status %d, want the response for a forged transactionId", name, p.Status)
		}
		if p := scoped.Get(t, "/jump?q="+token); p.Status != http.StatusNotFound ||
			!slices.Equal(p.Values("data-search-state"), []string{"token"}) {
			t.Errorf("%s: search: got status %d: %s", name, p.Status, p.Text())
		}
	}
	manager.Get(t, web.QuoteURL(shared)).Expect(t, "a quote for any partner", http.StatusOK, `data-state="valid"`)
	s.Time.Advance(quote.Validity + time.Second)
	manager.Get(t, web.QuoteURL(mine)).Expect(t, "an expired quote", http.StatusOK, `data-state="expired"`)

	s.Exec(t, `UPDATE leads SET state = 'erased', transaction_id = '', quoted_postcode = '', postcode = '', ciphertext = NULL, iv = NULL,
		auth_tag = NULL, email_digest = NULL, phone_digest = NULL WHERE id = $1`, lead.ID)
	p := manager.Get(t, web.QuoteURL(lead.TransactionID))
	p.Expect(t, "the quote of an erased lead", http.StatusOK, `data-state="delivered"`)
	if strings.Contains(p.Body, "SW1A 1AA") {
		t.Error("the quote of an erased lead shows its postcode")
	}
	s.PutJournalAhead(t)
	manager.Get(t, web.QuoteURL(mine)).Expect(t, "while the journal is ahead", http.StatusServiceUnavailable)
}
