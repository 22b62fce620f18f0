package docs

import (
	"encoding/hex"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/models"
)

// pageOf returns a partner's page, and the page's text without tags.
func pageOf(t *testing.T, platform models.SigningMode, p models.Partner, accounts ...models.Account) (page, text string) {
	t.Helper()
	rendered, err := newPages(t, platform).Partner(p, accounts)
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
			isSoundHTML(t, page, "../docs", "../docs.css", "../api/industries")
			for _, not := range []string{"{origin}", "{partnerSlug}", "<no value>", "x-source", "decision 12", "ZgotmplZ"} {
				if strings.Contains(text, not) {
					t.Errorf("the page contains %q", not)
				}
			}
		})
	}
}

func TestPartnerPageIsComplete(t *testing.T) {
	page, text := pageOf(t, models.SigningRequired, northgate, paid("northgate-web"), trial("northgate-trial"))
	pages := newPages(t, models.SigningRequired)
	wanted := []string{
		"POST https://leads.example.com/p/northgate/api/lead/ping", "POST https://leads.example.com/p/northgate/api/lead/post",
		"X-Signature-SHA256", "Idempotent-Replayed",
	}
	for _, b := range pages.general.Signing.Blocks {
		for _, line := range slices.Concat(b.Items, [][]span{b.Text}) {
			said := ""
			for _, s := range line {
				said += s.Text
			}
			wanted = append(wanted, said)
		}
	}
	_, sandbox, _ := strings.Cut(page, `<section id="sandbox">`)
	sandbox, _, _ = strings.Cut(sandbox, "</section>")
	if !strings.Contains(sandbox, "<code>northgate-trial</code>") || !regexp.MustCompile(`\b7\b`).MatchString(sandbox) {
		t.Errorf("the sandbox account or the retention of its leads is missing: %s", sandbox)
	}
	for _, e := range pages.general.Errors {
		wanted = append(wanted, e.Message)
	}
	industries := 0
	for _, group := range pages.industries {
		for _, one := range group.Industries {
			industries++
			wanted = append(wanted, one.Slug+" "+strconv.Itoa(one.TermID))
		}
	}
	for _, m := range pages.markets {
		row := m.Name + m.Currency.String()
		if m.Code != "other" {
			row = m.Code + row
		}
		wanted = append(wanted, row)
	}
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if industries != 336 || len(pages.markets) < 10 || len(pages.general.Errors) < 13 || len(pages.general.Signing.Blocks) == 0 {
		t.Errorf("got %d industries, %d markets, %d errors", industries, len(pages.markets), len(pages.general.Errors))
	}
}

// TestPartnerPageShowsConfiguration checks that the page shows the partner's configuration.
func TestPartnerPageShowsConfiguration(t *testing.T) {
	suspended, own, trialAsDefault := paid("northgate-old"), paid("northgate-own"), trial("northgate-trial")
	suspended.Status, own.SigningMode, trialAsDefault.IsDefault = models.AccountSuspended, models.SigningOff, true
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
		"without a sandbox": {northgate, required, []models.Account{suspended, paid("a")}, "a",
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
