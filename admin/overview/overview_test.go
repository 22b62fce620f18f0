package overview_test

import (
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
)

// A partner with unsigned leads is listed only if its current signing mode accepts unsigned posts.
func TestOverviewReportsUnsignedLeadsByTheCurrentSigningMode(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b, partner := h.SignedInAs(t, models.Administrator), h.AddPartner(t, "north-road")
	account, err := h.Options.Partners.CreateAccount(t.Context(), scope.System, models.Partner{ID: partner},
		partners.NewAccount{Identifier: "north-road-1"})
	if err != nil {
		t.Fatal(err)
	}
	admintest.AddTraffic(h, t, partner, account.ID, "post", "delivered_unsigned", 3)
	for _, mode := range []struct {
		partner, account string
		listed           bool
	}{
		{"off", "inherit", true},
		{"report_only", "inherit", true},
		{"required", "inherit", false},
		{"default", "inherit", false},
		{"required", "off", true},
		{"off", "required", false},
	} {
		h.Exec(t, `UPDATE partners SET signing_mode = $2 WHERE id = $1`, partner, mode.partner)
		h.Exec(t, `UPDATE accounts SET signing_mode = $2 WHERE id = $1`, account.ID, mode.account)
		if p := b.Get(t, "/"); p.Status != http.StatusOK ||
			strings.Contains(p.Body, web.PartnerURL(partner)+"?tab=signing") != mode.listed {
			t.Errorf("%+v: got status %d, or the partner is not listed as expected", mode, p.Status)
		}
	}
}

// A partner with many rejected posts needs attention. Each reason links to the posts that were rejected for it.
func TestOverviewLeadsToRejectedPosts(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b, partner := h.SignedInAs(t, models.Administrator), h.AddPartner(t, "north-road")
	h.Exec(t, `UPDATE partners SET status = 'approved' WHERE id = $1`, partner)
	admintest.AddTraffic(h, t, partner, uuid.Nil, "post", "signature", 30)
	admintest.AddTraffic(h, t, partner, uuid.Nil, "post", "delivered", 6)
	rollup := reporting.NewRollup(h.DB, h.Time, slog.New(slog.DiscardHandler))
	if err := rollup.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := b.Get(t, "/")
	for _, link := range []string{
		web.PartnerURL(partner) + "?tab=requests&range=24h", "/partners/requests?endpoint=post&outcome=signature&range=24h",
	} {
		if !slices.Contains(p.Values("href"), link) {
			t.Errorf("the overview has no link to %s: %s", link, p.Text())
		}
		if p := b.Get(t, link); p.Status != http.StatusOK {
			t.Errorf("%s: status %d", link, p.Status)
		}
	}
	list := b.Get(t, "/partners?sort=-rejected")
	list.ExpectTexts(t, http.StatusOK, web.PartnerURL(partner)+"?range=24h&amp;tab=requests", ">30<", "+30", "16.7%")
}

func TestTilesShowCorrectNumbers(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b, partner := h.SignedInAs(t, models.Administrator), h.AddPartner(t, "north-road")
	for outcome, n := range map[string]int{"priced": 60, "excluded": 20, "payload": 20} {
		admintest.AddTraffic(h, t, partner, uuid.Nil, "ping", outcome, n)
	}
	for outcome, n := range map[string]int{"delivered": 40, "delivered_unsigned": 1, "replayed": 7, "signature": 5} {
		admintest.AddTraffic(h, t, partner, uuid.Nil, "post", outcome, n)
	}
	tile := regexp.MustCompile(`(?s)<div class="tile"[^>]* data-tile="(\w+)".*?tile-value">(.*?)<.*?tile-note">(.*?)<`)
	for _, path := range []string{"/", web.PartnerURL(partner) + "?tab=traffic"} {
		got := map[string]string{}
		for _, m := range tile.FindAllStringSubmatch(b.Get(t, path).Body, -1) {
			numbers := regexp.MustCompile(`\d[\d,]*`).FindAllString(m[3], -1)
			slices.Sort(numbers)
			got[m[1]] = m[2] + " " + strings.Join(numbers, " ")
		}
		for name, want := range map[string]string{"pings": "100 20", "accepted": "60.0% 100", "posts": "53 5 7"} {
			if got[name] != want {
				t.Errorf("%s: tile %s = %q, want %q", path, name, got[name], want)
			}
		}
	}
}

// The overview covers any range of dates, and compares it with the period before if requests were counted then.
func TestOverviewByDates(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b, partner := h.SignedInAs(t, models.Administrator), h.AddPartner(t, "north-road")
	for day, posts := range []int{40, 50, 60} {
		h.Exec(t, `INSERT INTO traffic_minutes VALUES ($1, $2, $2, $2, 'post', 'delivered', $3, '{}')`,
			h.Time.Now().Truncate(24*time.Hour).AddDate(0, 0, day-10), partner, posts)
	}
	date := func(daysAgo int) string { return h.Time.Now().AddDate(0, 0, -daysAgo).Format(time.DateOnly) }
	first, second, third := date(10), date(9), date(8)
	tile := regexp.MustCompile(`(?s)data-tile="leads".*?tile-value">(.*?)<(?:.*?Previous period: ([\d,]+))?`)
	yesterday, today, tomorrow := date(1), date(0), date(-1)
	h.Exec(t, `INSERT INTO traffic_minutes VALUES
			($1, $2, $2, $2, 'post', 'delivered', 7, '{}'), ($3, $2, $2, $2, 'post', 'delivered', 9, '{}')`,
		h.Time.Now().Truncate(24*time.Hour).AddDate(0, 0, -1), partner, h.Time.Now().Truncate(24*time.Hour).Add(-time.Minute))
	for query, want := range map[string]string{
		"from=" + second + "&to=" + second:   "50 40",
		"from=" + third + "&to=" + third:     "60 50",
		"from=" + first + "&to=" + third:     "150 ",
		"from=" + third:                      "76 ",  // the previous period begins earlier than the counts
		"from=" + today:                      "0 7",  // compared with yesterday until the same time
		"from=" + yesterday + "&to=" + today: "16 0", // compared with two days that ended at this time
		"from=" + today + "&to=" + tomorrow:  "0 7",
		"from=2025-12-31&to=2026-01-01":      "16 0",
		"range=24h":                          "9 7",
		"from=x":                             "9 7 date", // the default range
		"from=2999-01-01&to=2999-01-02":      "9 7 date",
		"to=2999-01-02":                      "9 7 date",
		"from=2999-01-01":                    "9 7 date",
		"from=x&range=1h":                    "0 0 date",
	} {
		page := b.Get(t, "/?"+query)
		got := tile.FindStringSubmatch(page.Body)
		if got == nil || strings.TrimSuffix(got[1]+" "+got[2]+" "+strings.Join(page.Codes(), ""), " ") != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}

func TestAnchorsExistOnPagesWithoutTraffic(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b, partner := h.SignedInAs(t, models.Administrator), h.AddPartner(t, "north-road")
	for _, path := range []string{"/", web.PartnerURL(partner) + "?tab=traffic"} {
		page := b.Get(t, path)
		for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page.Body, -1) {
			if !regexp.MustCompile(`\bid="` + link[1] + `"`).MatchString(page.Body) {
				t.Errorf("%s links to #%s, which is not on the page", path, link[1])
			}
		}
	}
}
