package docs

import (
	"encoding/hex"
	"html"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// pageOf returns a partner's page, and the page's text without tags.
func pageOf(t *testing.T, platform models.SigningMode, p models.Partner, accounts ...models.Account) (page, text string) {
	t.Helper()
	return renderLinked(t, platform, partners.Linked{Partner: p, Accounts: accounts})
}

func renderLinked(t *testing.T, platform models.SigningMode, l partners.Linked) (page, text string) {
	t.Helper()
	rendered, err := newPages(t, platform).Partner(l)
	if err != nil {
		t.Fatal(err)
	}
	plain := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(rendered), ""))
	return string(rendered), plain
}

var northgate = models.Partner{
	Slug:        "northgate",
	Name:        "Northgate Ltd",
	Status:      models.PartnerApproved,
	SigningMode: models.SigningDefault,
}

func paid(identifier string) models.Account {
	return models.Account{
		Identifier:  identifier,
		IsDefault:   true,
		Status:      models.AccountActive,
		SigningMode: models.SigningInherit,
	}
}

func trial(identifier string) models.Account {
	return models.Account{
		Identifier:  identifier,
		Sandbox:     true,
		Status:      models.AccountActive,
		SigningMode: models.SigningInherit,
	}
}

func TestPartnerPageIsSoundHTML(t *testing.T) {
	pending := northgate
	pending.Status = models.PartnerPending
	for name, accounts := range map[string][]models.Account{
		"two accounts": {paid("northgate-web"), trial("northgate-trial")},
		"none":         nil,
	} {
		t.Run(name, func(t *testing.T) {
			page, text := pageOf(t, models.SigningRequired, pending, accounts...)
			isSoundHTML(t, page, "../", "../openapi.yaml", "../docs", "../docs.css", "../docs.js", "../api/industries")
			for _, not := range []string{"{origin}", "{partnerSlug}", "{http.", "{limits.", "](#", "<no value>", "x-source", "decision 12", "ZgotmplZ"} {
				if strings.Contains(text, not) {
					t.Errorf("the page contains %q", not)
				}
			}
		})
	}
}

// A partner's page has every section and field of the page for all partners, with the partner's base URL.
func TestPartnerPageIsComplete(t *testing.T) {
	general := renderedDocs(t)
	page, text := pageOf(t, models.SigningRequired, northgate, paid("northgate-web"), trial("northgate-trial"))
	own := map[string]bool{}
	elements(t, page, func(_ string, attr map[string]string, _ []string) { own[attr["id"]] = true })
	elements(t, general, func(name string, attr map[string]string, _ []string) {
		if id := attr["id"]; !own[id] {
			t.Errorf("the page lacks the section %s", id)
		}
	})
	for _, id := range []string{"yours", "agreement", "sandbox", "ping-fields", "post-fields", "rate-limits", "samples"} {
		if !own[id] {
			t.Errorf("the page lacks the section %s", id)
		}
	}
	rows := regexp.MustCompile(`<tr role="row">`)
	if got, want := len(rows.FindAllString(page, -1)), len(rows.FindAllString(general, -1)); got != want+1 { // the head of the accounts
		t.Errorf("got %d rows, want %d", got, want+1)
	}
	for _, want := range []string{
		"POST https://leads.example.com/p/northgate/api/lead/ping", "POST https://leads.example.com/p/northgate/api/lead/post",
		"Your own base URL is https://leads.example.com/p/northgate.", "curl -i 'https://leads.example.com/p/northgate/api/lead/ping'",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	_, sandbox, _ := strings.Cut(page, `<section id="sandbox">`)
	sandbox, _, _ = strings.Cut(sandbox, "</section>")
	if !strings.Contains(sandbox, "<code>northgate-trial</code>") {
		t.Errorf("the sandbox account is missing: %s", sandbox)
	}
}

// Both pages list every industry with its number.
func TestPagesListIndustriesWithNumbers(t *testing.T) {
	_, partner := pageOf(t, models.SigningRequired, northgate)
	general := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(renderedDocs(t), ""))
	industries := options(t).Taxonomy.Industries()
	if len(industries) != 336 {
		t.Errorf("got %d industries", len(industries))
	}
	for _, industry := range industries {
		row := "\n" + industry.Slug + " " + strconv.Itoa(industry.TermID) + "\n"
		if !strings.Contains(partner, row) || !strings.Contains(general, row) {
			t.Errorf("a page lacks %q", row)
		}
	}
}

// terms returns the agreement on a page, by its data-term.
func terms(page string) map[string]string {
	all := map[string]string{}
	for _, m := range regexp.MustCompile(`<div data-term="([a-z]+)"><dt>[^<]*</dt><dd>(.*?)</dd>`).FindAllStringSubmatch(page, -1) {
		all[m[1]] = html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(strings.ReplaceAll(m[2], "<br>", "; "), ""))
	}
	return all
}

// A partner's page shows its prices, exclusions, cap, payment terms, expiring secrets and account manager.
func TestPartnerPageShowsAgreement(t *testing.T) {
	agreed := northgate
	agreed.PaymentTerms, agreed.AccountManager = "30 days <net>", "Dana & Co"
	expires := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	l := partners.Linked{
		Partner: agreed,
		Pricing: partners.Pricing{Price: partners.Price{
			PartnerPricing: pricingrules.PartnerPricing{
				Adjustment: 525,
				Exclusions: []pricingrules.PartnerExclusion{{Country: "DE"}, {Industry: "roofer", Country: "FR"}},
			},
			DailyLeadCap: 5,
		}},
		LeadsToday: 7,
		Expiring:   []models.SigningSecret{{LastFour: "x9_Q", ExpiresAt: &expires}},
	}
	page, text := renderLinked(t, models.SigningRequired, l)
	isSoundHTML(t, page, "../", "../openapi.yaml", "../docs", "../docs.css", "../docs.js", "../api/industries")
	want := map[string]string{
		"adjustment": "+5.25% on the platform's prices",
		"exclusions": "country: DE; industry: roofer, country: FR",
		"cap":        "5 leads per day. Delivered since 00:00 UTC: 7. Left today: 0",
		"payment":    "30 days <net>",
	}
	if got := terms(page); !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, want := range []string{"x9_Q", "4 March 2026 at 05:06:07 UTC", "Contact your account manager, Dana & Co."} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}

	none, _ := renderLinked(t, models.SigningRequired, partners.Linked{Partner: northgate, LeadsToday: 2})
	if got := terms(none); got["exclusions"] != "None" || got["cap"] != "None. Leads delivered since 00:00 UTC: 2" ||
		strings.Contains(got["adjustment"], "%") || !strings.Contains(got["payment"], "account manager") {
		t.Errorf("without an agreement: got %q", got)
	}
	l.Pricing.Unread = true
	if unread, _ := renderLinked(t, models.SigningRequired, l); !strings.Contains(unread, `data-notice="unread"`) ||
		terms(unread)["exclusions"] != "Unknown" {
		t.Error("exclusions that cannot be read are not reported")
	}
}

// TestPartnerPageShowsConfiguration checks that the page shows the partner's configuration.
func TestPartnerPageShowsConfiguration(t *testing.T) {
	suspended, own, trialAsDefault := paid("northgate-old"), paid("northgate-own"), trial("northgate-trial")
	suspended.Status, own.SigningMode, trialAsDefault.IsDefault = models.AccountSuspended, models.SigningOff, true
	other := suspended
	other.IsDefault = false
	pending, stopped, reporting := northgate, northgate, northgate
	pending.Status, stopped.Status, reporting.SigningMode = models.PartnerPending, models.PartnerSuspended, models.SigningReportOnly
	const required, watched, off = models.SigningRequired, models.SigningReportOnly, models.SigningOff
	for name, c := range map[string]struct {
		partner  models.Partner
		platform models.SigningMode
		accounts []models.Account
		sample   string   // the account in the samples
		rows     []string // account, status and mode
		notices  []string
	}{
		"by the platform's default": {northgate, required, []models.Account{paid("a"), trial("b")}, "b",
			[]string{"a active required", "b active required"}, nil},
		"another default": {northgate, off, []models.Account{paid("a"), trial("b")}, "b",
			[]string{"a active off", "b active off"}, nil},
		"the partner's own": {reporting, required, []models.Account{paid("a"), trial("b")}, "b",
			[]string{"a active report_only", "b active report_only"}, nil},
		"the account's own": {reporting, required, []models.Account{own, trial("b")}, "b",
			[]string{"northgate-own active off", "b active report_only"}, nil},
		"pending": {pending, required, []models.Account{trialAsDefault}, "northgate-trial",
			[]string{"northgate-trial active required"}, []string{"pending", "sandbox-default"}},
		"suspended": {stopped, required, []models.Account{trialAsDefault}, "northgate-trial",
			[]string{"northgate-trial active required"}, []string{"suspended", "sandbox-default"}},
		"default account suspended": {northgate, required, []models.Account{suspended, trial("b")}, "b",
			[]string{"northgate-old suspended required", "b active required"}, []string{"default-suspended"}},
		"partner and default account suspended": {stopped, required, []models.Account{suspended, trial("b")}, "b",
			[]string{"northgate-old suspended required", "b active required"}, []string{"suspended"}},
		"another account suspended": {northgate, required, []models.Account{other, paid("a")}, "a",
			[]string{"northgate-old suspended required", "a active required"}, []string{"no-sandbox"}},
		"without an account": {northgate, required, nil, "", nil, []string{"no-account", "no-sandbox"}},
	} {
		t.Run(name, func(t *testing.T) {
			page, text := pageOf(t, c.platform, c.partner, c.accounts...)
			var rows, notices []string
			elements(t, page, func(_ string, attr map[string]string, _ []string) {
				if account, ok := attr["data-account"]; ok {
					rows = append(rows, account+" "+attr["data-status"]+" "+attr["data-mode"])
				}
				if notice, ok := attr["data-notice"]; ok {
					notices = append(notices, notice)
				}
			})
			if !slices.Equal(rows, c.rows) || !slices.Equal(notices, c.notices) {
				t.Errorf("accounts %q, want %q; notices %q, want %q", rows, c.rows, notices, c.notices)
			}
			for _, mode := range []models.SigningMode{required, watched, off} {
				want := slices.ContainsFunc(c.rows, func(row string) bool { return strings.HasSuffix(row, " "+string(mode)) })
				if words := wordsOf(mode); strings.Contains(text, words.Title+". "+words.Meaning) != want ||
					strings.Contains(words.Meaning, "401") != (mode == required) {
					t.Errorf("the description of mode %s is on the page: %t", mode, !want)
				}
			}
			if c.sample != "" && !strings.Contains(text, `partnerId: "`+c.sample+`"`) ||
				c.sample == "" && strings.Contains(text, "partnerId: ") {
				t.Error("the samples post for a different account")
			}
		})
	}
}

// The values in the worked example are consistent, and its secret is not valid.
func TestWorkedExampleOfPartner(t *testing.T) {
	page, _ := pageOf(t, models.SigningRequired, northgate, paid("northgate-web"))
	figure := map[string]string{}
	for _, m := range regexp.MustCompile(`<div data-figure="([a-z]+)"><dt>[^<]*</dt><dd><code>([^<]*)</code>`).FindAllStringSubmatch(page, -1) {
		figure[m[1]] = html.UnescapeString(m[2])
	}
	if figure["signed"] != figure["timestamp"]+"."+figure["body"] ||
		!strings.Contains(figure["body"], `"partnerId":"northgate-web"`) {
		t.Errorf("got signed text %s", figure["signed"])
	}
	if got := signing.Sign([]byte(figure["secret"]), figure["timestamp"], []byte(figure["body"])); got != figure["signature"] {
		t.Errorf("computed signature %s, the page has %s", got, figure["signature"])
	}
	if figure["key"] != hex.EncodeToString([]byte(figure["secret"])) ||
		!strings.Contains(figure["secret"], "example") || strings.HasPrefix(figure["secret"], "pp_") {
		t.Errorf("secret %s, key %s", figure["secret"], figure["key"])
	}
}

// Names and identifiers are escaped.
func TestPartnerPageEscapes(t *testing.T) {
	plain, _ := pageOf(t, models.SigningRequired, northgate, paid("a"))
	p, a := northgate, paid(`"'><script>alert(1)</script>`)
	p.Name, p.Slug = `</title><img src=x onerror="alert('2')"> Čapek & Söhne 東京 {{.}}`, `"><b>`
	page, text := pageOf(t, models.SigningRequired, p, a)
	count := func(page string) (n int) {
		elements(t, page, func(string, map[string]string, []string) { n++ })
		return n
	}
	if got, want := count(page), count(plain); got != want {
		t.Errorf("got %d elements, want %d", got, want)
	}
	if !strings.Contains(text, p.Name) || !strings.Contains(text, a.Identifier) {
		t.Error("the page does not show the name and the identifier")
	}
}
