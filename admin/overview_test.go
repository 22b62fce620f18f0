package admin

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

// passed counts traffic of a partner's account ten minutes ago.
func (h *house) passed(t *testing.T, partner, account uuid.UUID, endpoint, outcome string, n int) {
	t.Helper()
	h.Exec(t, `INSERT INTO traffic_minutes VALUES (date_trunc('minute', $1::timestamptz), $2, $3, $4, $5, $6, $7, '{}')`, h.time.Now().Add(-10*time.Minute), partner, account, uuid.Nil, endpoint, outcome, n)
}

// A partner whose unsigned posts are rejected by now needs no attention any more.
func TestOverviewReportsUnsignedLeadsByTheCurrentSigningMode(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	b, partner := h.as(t, models.Administrator), h.partner(t, "north-road")
	account, err := h.options.Partners.CreateAccount(t.Context(), models.Partner{ID: partner}, partners.NewAccount{Identifier: "north-road-1"})
	if err != nil {
		t.Fatal(err)
	}
	h.passed(t, partner, account.ID, "post", "delivered_unsigned", 3)
	for _, mode := range []struct {
		partner, account string
		listed           bool
	}{
		{"off", "inherit", true}, {"report_only", "inherit", true}, {"required", "inherit", false}, {"default", "inherit", false},
		{"required", "off", true}, {"off", "required", false},
	} {
		h.Exec(t, `UPDATE partners SET signing_mode = $2 WHERE id = $1`, partner, mode.partner)
		h.Exec(t, `UPDATE accounts SET signing_mode = $2 WHERE id = $1`, account.ID, mode.account)
		if p := b.get(t, "/"); p.status != http.StatusOK || strings.Contains(p.body, web.PartnerURL(partner)+"?tab=signing") != mode.listed {
			t.Errorf("%+v: %d, not so", mode, p.status)
		}
	}
}

func TestTilesCountWhatTheyName(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	b, partner := h.as(t, models.Administrator), h.partner(t, "north-road")
	for outcome, n := range map[string]int{"priced": 60, "excluded": 20, "payload": 20} {
		h.passed(t, partner, uuid.Nil, "ping", outcome, n)
	}
	for outcome, n := range map[string]int{"delivered": 40, "delivered_unsigned": 1, "replayed": 7, "signature": 5} {
		h.passed(t, partner, uuid.Nil, "post", outcome, n)
	}
	tile := regexp.MustCompile(`(?s)<a class="tile".*?tile-label">\s*(\w+).*?tile-value">(.*?)<.*?tile-note">(.*?)<`)
	for _, path := range []string{"/", web.PartnerURL(partner) + "?tab=traffic"} {
		got := map[string]string{}
		for _, m := range tile.FindAllStringSubmatch(b.get(t, path).body, -1) {
			got[m[1]] = m[2] + " " + strings.Join(regexp.MustCompile(`\d[\d,]*`).FindAllString(m[3], -1), " ")
		}
		for label, want := range map[string]string{"Pings": "100 20", "Accepted": "60.0 % 100", "Posts": "53 7 5"} {
			if got[label] != want {
				t.Errorf("%s: %s is %q, want %q", path, label, got[label], want)
			}
		}
	}
}

func TestPagesWithoutTrafficLinkToWhatIsOnThem(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	b, partner := h.as(t, models.Administrator), h.partner(t, "north-road")
	for _, path := range []string{"/", web.PartnerURL(partner) + "?tab=traffic"} {
		page := b.get(t, path)
		for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page.body, -1) {
			if !regexp.MustCompile(`\bid="` + link[1] + `"`).MatchString(page.body) {
				t.Errorf("%s links to #%s, which is not there", path, link[1])
			}
		}
	}
}

func TestFirstVersionOpenedByItsIDLinksToPagesThatExist(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	b := h.as(t, models.PricingManager)
	card, err := h.options.Prices.InForce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tab := range []string{"grid", "rules", "preview", "replay", "publish", "edits"} {
		page := b.get(t, web.DraftURL(card.ID)+"?tab="+tab)
		for _, link := range regexp.MustCompile(`href="(/pricing/versions/[^"]+)"`).FindAllStringSubmatch(page.body, -1) {
			if p := b.get(t, link[1]); p.status != http.StatusOK {
				t.Errorf("%s links to %s: %d", tab, link[1], p.status)
			}
		}
	}
}
