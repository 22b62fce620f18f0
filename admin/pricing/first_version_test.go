package pricing_test

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/models"
)

// The first version has no draft, but its ID opens the pages of a draft. Their links must work.
func TestDraftPagesOfFirstVersion(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.PricingManager)
	card, err := h.Options.Prices.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tab := range []string{"grid", "rules", "preview", "replay", "publish", "edits"} {
		page := b.Get(t, web.DraftURL(card.ID)+"?tab="+tab)
		for _, link := range regexp.MustCompile(`href="(/pricing/versions/[^"]+)"`).FindAllStringSubmatch(page.Body, -1) {
			if p := b.Get(t, link[1]); p.Status != http.StatusOK {
				t.Errorf("%s: got status %d for the link %s", tab, p.Status, link[1])
			}
		}
	}
}
