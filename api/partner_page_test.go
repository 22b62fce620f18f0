package api

import (
	"encoding/hex"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func newPages(t *testing.T, platform models.SigningMode) *partnerPages {
	t.Helper()
	taxonomy, markets, _, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := newPartnerPages(Options{Taxonomy: taxonomy, Markets: markets, PublicURL: "https://leads.example.com", DefaultMode: platform})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// pageOf is the page of a partner, and the text that people read on it.
func pageOf(t *testing.T, platform models.SigningMode, p models.Partner, accounts ...models.Account) (page, text string) {
	t.Helper()
	rendered, err := newPages(t, platform).render(p, accounts)
	if err != nil {
		t.Fatal(err)
	}
	plain := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(rendered), ""))
	return string(rendered), plain
}

var northgate = models.Partner{Slug: "northgate", Name: "Northgate Ltd", Status: models.PartnerApproved, SigningMode: models.SigningDefault}

func paid(identifier string) models.Account {
	return models.Account{Identifier: identifier, IsDefault: true, Status: models.AccountActive, SigningMode: models.SigningInherit}
}

func trial(identifier string) models.Account {
	return models.Account{Identifier: identifier, Sandbox: true, Status: models.AccountActive, SigningMode: models.SigningInherit}
}

func TestPartnerPageIsSoundHTML(t *testing.T) {
	pending := northgate
	pending.Status = models.PartnerPending
	for name, accounts := range map[string][]models.Account{"two accounts": {paid("northgate-web"), trial("northgate-trial")}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			page, text := pageOf(t, models.SigningRequired, pending, accounts...)
			isSoundHTML(t, page, "../docs", "../docs.css", "../api/industries")
			for _, not := range []string{"{origin}", "{partnerSlug}", "<no value>", "x-source", "D12", "ZgotmplZ"} {
				if strings.Contains(text, not) {
					t.Errorf("the page has %q", not)
				}
			}
		})
	}
}

func TestPartnerPageIsComplete(t *testing.T) {
	_, text := pageOf(t, models.SigningRequired, northgate, paid("northgate-web"), trial("northgate-trial"))
	pages := newPages(t, models.SigningRequired)
	wanted := []string{
		"POST https://leads.example.com/p/northgate/api/lead/ping", "POST https://leads.example.com/p/northgate/api/lead/post",
		"pays nothing", "deleted after 7 days", "300 seconds", "UTF-8 bytes of the secret exactly as shown", "X-Signature-SHA256", "Idempotent-Replayed", "any other",
	}
	for _, e := range pages.docs.Errors {
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
		wanted = append(wanted, m.Name+m.Currency.String())
	}
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if industries != 336 || len(pages.markets) < 10 || len(pages.docs.Errors) < 13 {
		t.Errorf("%d industries, %d markets, %d errors", industries, len(pages.markets), len(pages.docs.Errors))
	}
}

// What a partner reads of itself is as it is set up.
func TestPartnerPageTellsTheConfiguration(t *testing.T) {
	suspended, own, trialAsDefault := paid("northgate-old"), paid("northgate-own"), trial("northgate-trial")
	suspended.Status, own.SigningMode, trialAsDefault.IsDefault = models.AccountSuspended, models.SigningOff, true
	pending, reporting := northgate, northgate
	pending.Status, reporting.SigningMode = models.PartnerPending, models.SigningReportOnly
	const required, watched, off = "Required. An unsigned", "Not required yet. An unsigned", "Not required. An unsigned"
	const notApproved, noSandbox, sandboxFirst, noAccount = "not approved yet", "You have no sandbox account", "sandbox account is your default for now", "You have no account yet"
	all := []string{required, watched, off, notApproved, noSandbox, sandboxFirst, noAccount, "suspended: its posts are refused"}
	for name, c := range map[string]struct {
		partner  models.Partner
		platform models.SigningMode
		accounts []models.Account
		sample   string // the account that the samples post for
		want     []string
	}{
		"by the platform's default": {northgate, models.SigningRequired, []models.Account{paid("a"), trial("b")}, "b", []string{required}},
		"another default":           {northgate, models.SigningOff, []models.Account{paid("a"), trial("b")}, "b", []string{off}},
		"the partner's own":         {reporting, models.SigningRequired, []models.Account{paid("a"), trial("b")}, "b", []string{watched}},
		"the account's own":         {reporting, models.SigningRequired, []models.Account{own, trial("b")}, "b", []string{watched, off}},
		"pending":                   {pending, models.SigningRequired, []models.Account{trialAsDefault}, "northgate-trial", []string{required, notApproved, sandboxFirst}},
		"without a sandbox":         {northgate, models.SigningRequired, []models.Account{suspended, paid("a")}, "a", []string{required, noSandbox, "suspended: its posts are refused"}},
		"without an account":        {northgate, models.SigningRequired, nil, "", []string{noAccount, noSandbox}},
	} {
		t.Run(name, func(t *testing.T) {
			_, text := pageOf(t, c.platform, c.partner, c.accounts...)
			for _, one := range all {
				want := false
				for _, w := range c.want {
					want = want || w == one
				}
				if strings.Contains(text, one) != want {
					t.Errorf("%q on the page: %t", one, !want)
				}
			}
			if c.sample != "" && !strings.Contains(text, `partnerId: "`+c.sample+`"`) || c.sample == "" && strings.Contains(text, "partnerId: ") {
				t.Error("the samples post for another account")
			}
		})
	}
}

// The figures of the worked example are of one calculation, with a secret that no
// partner can have been given.
func TestWorkedExampleOfPartner(t *testing.T) {
	page, _ := pageOf(t, models.SigningRequired, northgate, paid("northgate-web"))
	figure := map[string]string{}
	for _, m := range regexp.MustCompile(`<dt>([^<]*)</dt><dd><code>([^<]*)</code>`).FindAllStringSubmatch(page, -1) {
		figure[m[1]] = html.UnescapeString(m[2])
	}
	if figure["What is signed"] != figure["Timestamp"]+"."+figure["Body"] || !strings.Contains(figure["Body"], `"partnerId":"northgate-web"`) {
		t.Errorf("signs %s", figure["What is signed"])
	}
	if got := signing.Sign([]byte(figure["Secret"]), figure["Timestamp"], []byte(figure["Body"])); got != figure["Signature"] {
		t.Errorf("the signature is %s, not %s", got, figure["Signature"])
	}
	if figure["Key, in hex"] != hex.EncodeToString([]byte(figure["Secret"])) || !strings.Contains(figure["Secret"], "example") || strings.HasPrefix(figure["Secret"], "pp_") {
		t.Errorf("the secret %s has the key %s", figure["Secret"], figure["Key, in hex"])
	}
}

// Nothing that a partner is called becomes a part of the page.
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
		t.Errorf("%d elements, %d without the signs", got, want)
	}
	if !strings.Contains(text, p.Name) || !strings.Contains(text, a.Identifier) {
		t.Error("the page does not show them as they are")
	}
}
