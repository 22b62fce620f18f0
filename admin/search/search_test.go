package search_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
)

func TestJump(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Administrator)
	person, mine := h.StaffID(models.Auditor), h.AddPartner(t, "mine")
	for q, want := range map[string]string{
		person:                              "/staff/" + person,
		" " + strings.ToLower(person) + " ": "/staff/" + person,
		"ld_00000000000000000000000001":     "/audit?object=ld_00000000000000000000000001",
		id.Format(id.Partner, mine):         web.PartnerURL(mine),
	} {
		if p := b.Get(t, "/jump?q="+url.QueryEscape(q)); p.Location() != want {
			t.Errorf("%q: got %d to %q, want %q", q, p.Status, p.Location(), want)
		}
	}
	for _, q := range []string{"", "x", "st_", "pt_00000000000000000000000001", "rq_00000000000000000000000001",
		"//evil", "<script>alert(1)</script>", strings.Repeat("y", 9000)} {
		if p := b.Get(t, "/jump?q="+url.QueryEscape(q)); p.Status != http.StatusNotFound ||
			strings.Contains(p.Body, "<script>alert") {
			t.Errorf("%.30q: got %d", q, p.Status)
		}
	}
	// The id of a rate card redirects to the draft, or to the version if it has been published.
	draft, err := h.Options.Prices.CreateDraft(t.Context(), "Spring", 0)
	if err != nil {
		t.Fatal(err)
	}
	published, err := h.Options.Prices.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pricing, manager := h.SignedInAs(t, models.PricingManager), h.SignedInAs(t, models.AccountManager)
	for card, want := range map[string]string{
		ratecard.ID(draft.ID):                      web.DraftURL(draft.ID),
		strings.ToLower(ratecard.ID(published.ID)): "/pricing/versions/1",
		"rc_00000000000000000000000001":            "/audit?object=rc_00000000000000000000000001",
	} {
		for _, b := range []*admintest.Client{pricing, manager} {
			if p := b.Get(t, "/jump?q="+card); p.Location() != want {
				t.Errorf("%s: got %d to %q, want %q", card, p.Status, p.Location(), want)
			}
		}
		if p := b.Get(t, "/jump?q="+card); !strings.HasPrefix(p.Location(), "/audit?object=rc_") {
			t.Errorf("user without pricing.read is redirected to %q", p.Location())
		}
	}
	if p := h.SignedInAs(t, models.Finance).Get(t, "/jump?q="+person); p.Status == http.StatusSeeOther &&
		strings.HasPrefix(p.Location(), "/staff") {
		t.Error("finance is redirected to a page that finance cannot see")
	}
}
