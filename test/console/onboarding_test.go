package console

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/browser"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
)

// trialPost is the body of a post. %s is the account's partnerId.
const trialPost = `{"transactionId":"$TX","partnerId":"%s","contact":{"name":"Jo Bloggs","email":"jo@example.com","phone":"020 7946 0018"},"consent":{"acknowledged":true}}`

// TestPartnersInBrowser onboards and changes partners as an account manager while the partners are
// sending requests.
func TestPartnersInBrowser(t *testing.T) {
	chromium := browser.Start(t)
	for name, use := range map[string]func(*testing.T, *node.Node, *browser.Browser, *browser.Page){
		"onboarding":                 onboarding,
		"secret rotation under load": rotation,
		"required signatures":        requiredSignatures,
		"conflicting change":         conflict,
		"secret revocation":          revocation,
		"suspension and approval":    suspension,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := node.Start(t, node.OnMachineClock)
			use(t, n, chromium, manager(t, n, chromium))
		})
	}
}

// manager returns a page on which an account manager is signed in.
func manager(t *testing.T, n *node.Node, chromium *browser.Browser) *browser.Page {
	t.Helper()
	const password = "correct horse battery"
	people := staff.NewService(n.DB.DB, n.Keys, n.Clock, staff.Settings{
		Idle:         time.Hour,
		Lifetime:     time.Hour,
		PasswordCost: testkit.CheapPasswords(),
	})
	if _, err := people.By(audit.Operator).Seed(t.Context(), staff.NewMember{Email: "ben@example.com", Name: "Ben Okafor", Roles: []models.StaffRole{{Role: models.AccountManager}}}, password); err != nil {
		t.Fatal(err)
	}
	p := chromium.Page(t, browser.Emulation{})
	p.Open(n.Admin + "/login")
	p.Type(`input[name="email"]`, "ben@example.com")
	p.Type(`input[name="password"]`, password)
	p.Submit(`form[action="/login"] button[type="submit"]`)
	p.Wait(`location.pathname === "/" && document.querySelector("h1")`)
	return p
}

// partnerPage returns the address of a partner's page in the console.
func partnerPage(n *node.Node, p node.Partner) string {
	return n.Admin + "/partners/" + id.Format(id.Partner, p.ID)
}

// postStatus requests a quote, sends a signed post and returns the response's status.
func postStatus(t testing.TB, n *node.Node, p node.Partner) int {
	t.Helper()
	tx := n.Ping(t, p.Base(), node.MinimalPing).TransactionID
	return n.Post(t, p, node.WithTransaction(fmt.Sprintf(trialPost, p.Accounts[0]), tx)).Status
}

// awaitStatus waits until the responses to the partner's posts have the given status.
func awaitStatus(t testing.TB, n *node.Node, p node.Partner, want int) {
	t.Helper()
	tx := n.Ping(t, p.Base(), node.MinimalPing).TransactionID
	body := node.WithTransaction(fmt.Sprintf(trialPost, p.Accounts[0]), tx)
	testkit.Eventually(t, node.Patience, fmt.Sprintf("a post is answered with %d", want),
		func() bool { return n.Post(t, p, body).Status == want })
}

func onboarding(t *testing.T, n *node.Node, chromium *browser.Browser, p *browser.Page) {
	p.Open(n.Admin + "/partners")
	p.Submit(`a[href="/partners/new"]`)
	p.Type(`input[name="name"]`, "North Road")
	p.Submit(`form[action="/partners/new"] button[type="submit"]`)
	awaitStep := func(control string) {
		t.Helper()
		p.Wait(fmt.Sprintf("document.querySelector(%q) !== null", "[aria-current=step] "+control))
	}
	awaitStep(`a[href*="/accounts/new"]`)
	p.Axe()
	p.Submit(`[aria-current=step] a.button`)
	p.Submit(`form[action$="/accounts/new"] button[type="submit"]`)
	awaitStep(`form[action$="/approve"]`)
	p.Submit(`[aria-current=step] form button`)
	awaitStep(`a[href*="/secrets/new"]`)
	p.Submit(`[aria-current=step] a.button`)
	p.Type(`input[name="label"]`, "launch-2026")
	p.Submit(`form[action$="/secrets/new"] button[type="submit"]`)
	p.Axe()
	partner := node.Partner{Secret: p.Text(".once-secret code"), Accounts: [2]string{"north-road-sandbox"}}
	partner.Slug = "north-road"
	if !strings.HasPrefix(partner.Secret, "pp_") || strings.Contains(p.Address(), partner.Secret) {
		t.Fatalf("the secret does not start with pp_ or is in the address %s", p.Address())
	}
	p.Submit(`main a.button-primary`)
	awaitStep(`form[action$="/link"]`)
	p.Submit(`[aria-current=step] form button`)
	p.Axe()
	link := browser.Eval[string](p,
		`[...document.querySelectorAll("main code")].map((e) => e.textContent).find((text) => text.includes("/partner/"))`)
	p.Submit(`main a.button-primary`)
	p.Wait(`document.querySelector("[aria-current=step] #first-post") !== null`)
	p.Axe()
	theirs := chromium.Page(t, browser.Emulation{})
	theirs.Open(link)
	if text := theirs.Text("main"); !strings.Contains(text, "north-road-sandbox") ||
		strings.Contains(text, partner.Secret) {
		t.Errorf("the partner's own page: %.300s", text)
	}
	// The page shows a rejected post and then a delivered lead without being reloaded.
	tx := n.Ping(t, partner.Base(), node.MinimalPing).TransactionID
	body := node.WithTransaction(fmt.Sprintf(trialPost, "north-road-sandbox"), tx)
	wrong := partner
	wrong.Secret += "x"
	if a := n.Post(t, wrong, body); a.Status != http.StatusUnauthorized {
		t.Errorf("post with a wrong secret: got %d, want 401", a.Status)
	}
	p.Wait(`document.querySelector("#arrivals a[href$='/check']")`)
	if browser.Eval[bool](p, `document.querySelector("#first-post .status-good") !== null`) {
		t.Error("the last step is complete before a lead is delivered")
	}
	a := node.Decode[node.Delivered](t, n.Post(t, partner, body))
	p.Wait(`document.querySelector("#arrivals").textContent.includes("` + a.LeadID + `")`)
	p.Wait(`document.querySelector("#first-post .status-good") !== null`) // without a reload
	if text := p.Text("#arrivals"); !strings.Contains(text, "north-road-sandbox") ||
		!strings.Contains(text, "launch-2026") {
		t.Error(text)
	}
	p.Axe()
	p.Open(n.Admin + "/partners")
	if text := p.Text("#list"); !strings.Contains(text, "North Road") {
		t.Error(text)
	}
}

// rotation replaces the secret while the partner is sending posts. No post may be rejected.
func rotation(t *testing.T, n *node.Node, _ *browser.Browser, p *browser.Page) {
	partner := n.Required
	var secret atomic.Pointer[string]
	secret.Store(&partner.Secret)
	stop := make(chan struct{})
	var posts sync.WaitGroup
	var sent, rejected atomic.Int64
	for range 2 {
		posts.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				now := partner
				now.Secret = *secret.Load()
				sent.Add(1)
				if status := postStatus(t, n, now); status != http.StatusOK {
					rejected.Add(1)
					t.Errorf("got status %d for a post, want 200", status)
				}
			}
		})
	}
	p.Open(partnerPage(n, partner) + "?tab=secrets")
	p.Submit(`a[href$="/secrets/rotate"]`)
	p.Axe()
	p.Submit(`form[action$="/secrets/rotate"] button[type="submit"]`)
	fresh := p.Text(".once-secret code")
	before := sent.Load()
	p.Open(partnerPage(n, partner) + "?tab=secrets")
	p.Wait(`document.querySelector("main a[href$='/expire']")`)
	// Wait until the node accepts the new secret before the clients use it.
	changed := partner
	changed.Secret = fresh
	awaitStatus(t, n, changed, http.StatusOK)
	secret.Store(&fresh)
	testkit.Eventually(t, node.Patience, "posts are sent with the new secret", func() bool {
		postStatus(t, n, changed)
		return sent.Load() >= before+50
	})
	close(stop)
	posts.Wait()
	if sent.Load() < before+50 || rejected.Load() > 0 {
		t.Errorf("got %d of %d posts rejected, want 0", rejected.Load(), sent.Load())
	}
	// All posts use the new secret now, so the old one can expire.
	oldSecret := `main a[href$="/expire"]:not([href*="` + newestSecret(t, n, partner) + `"])`
	p.Submit(oldSecret)
	p.Click(`input[name="when"][value="now"]`)
	p.Submit(`form[action$="/expire"] button[type="submit"]`)
	p.Wait("document.querySelector(`" + oldSecret + "`) === null")
	awaitStatus(t, n, partner, http.StatusUnauthorized)
	if status := postStatus(t, n, changed); status != http.StatusOK {
		t.Errorf("post with the new secret: got %d, want 200", status)
	}
}

// newestSecret returns the ID of the partner's newest secret.
func newestSecret(t *testing.T, n *node.Node, partner node.Partner) string {
	t.Helper()
	all, err := n.Partners.Secrets(t.Context(), scope.System, partner.Partner)
	if err != nil {
		t.Fatal(err)
	}
	return id.Format(id.Secret, all[0].ID)
}

// requiredSignatures requires signatures after the page has shown which posts would be rejected.
func requiredSignatures(t *testing.T, n *node.Node, _ *browser.Browser, p *browser.Page) {
	partner := n.Off
	unsigned := func() node.Answer {
		tx := n.Ping(t, partner.Base(), node.MinimalPing).TransactionID
		return n.Do(t, node.Request{
			Path: partner.Base() + "/api/lead/post",
			Body: node.WithTransaction(fmt.Sprintf(trialPost, partner.Accounts[0]), tx),
		})
	}
	for range 3 {
		if a := unsigned(); a.Status != http.StatusOK {
			t.Fatalf("unsigned post: got %d %s, want 200", a.Status, a.Body)
		}
	}
	if status := postStatus(t, n, partner); status != http.StatusOK {
		t.Fatalf("%d", status)
	}
	testkit.Eventually(t, node.Patience, "the page shows 4 posts and 3 unsigned posts", func() bool {
		p.Open(partnerPage(n, partner) + "?tab=signing")
		return browser.Eval[string](p,
			`[...document.querySelectorAll("[aria-labelledby=forecast] td.number")].map((cell) => cell.textContent.trim()).slice(0, 2).join(" ")`) == "4 3"
	})
	p.Axe()
	p.Click(`input[name="signing"][value="required"]`)
	p.Submit(`form[action$="/signing"] button[type="submit"]`)
	p.Wait(`document.activeElement.matches("main form > p")`)
	p.Axe()
	p.Submit(`form[action$="/signing"] button[type="submit"]`)
	testkit.Eventually(t, node.Patience, "unsigned posts are rejected",
		func() bool { return unsigned().Status == http.StatusUnauthorized })
	if status := postStatus(t, n, partner); status != http.StatusOK {
		t.Errorf("signed post: got %d, want 200", status)
	}
}

// conflict changes a partner on the command line while the partner's form is open in the browser.
func conflict(t *testing.T, n *node.Node, _ *browser.Browser, p *browser.Page) {
	p.Open(partnerPage(n, n.Required) + "?tab=signing")
	if err := n.Partners.By(audit.Operator).SetSigning(t.Context(), scope.Partners(n.Required.ID), n.Required.ID,
		n.Required.RowVersion+1, models.SigningReportOnly, true); err != nil {
		t.Fatal(err)
	}
	p.Click(`input[name="signing"][value="off"]`)
	p.Submit(`form[action$="/signing"] button[type="submit"]`)
	p.Submit(`form[action$="/signing"] button[type="submit"]`)
	p.Wait(`document.querySelector("main .notice-warn[role=alert]") !== null`)
	if !browser.Eval[bool](p, `document.querySelector("input[name=signing][value=off]").checked`) {
		t.Error("the form has lost the selected option")
	}
	p.Axe()
	for _, message := range p.ConsoleErrors() { // the browser reports the expected 409
		if !strings.Contains(message, "409") {
			t.Error(message)
		}
	}
	p.Submit(`form[action$="/signing"] button[type="submit"]`)
	p.Submit(`form[action$="/signing"] button[type="submit"]`)
	p.Wait(`document.querySelector("main .notice-warn[role=alert]") === null && document.querySelector("input[name=signing][value=off]").checked`)
}

func revocation(t *testing.T, n *node.Node, _ *browser.Browser, p *browser.Page) {
	partner := n.Required
	if status := postStatus(t, n, partner); status != http.StatusOK {
		t.Fatalf("%d", status)
	}
	p.Open(partnerPage(n, partner) + "?tab=secrets")
	p.Submit(`a[href$="/revoke"]`)
	p.Axe()
	p.Type(`main input[name="name"]`, partner.Slug)
	p.Submit(`main form[action$="/revoke"] button[type="submit"]`)
	p.Wait(`document.querySelector("main form[action$='/revoke']") === null`)
	awaitStatus(t, n, partner, http.StatusUnauthorized)
}

func suspension(t *testing.T, n *node.Node, _ *browser.Browser, p *browser.Page) {
	partner := n.Required
	p.Open(partnerPage(n, partner))
	p.Submit(`main a[href$="/suspend"]`)
	p.Axe()
	p.Type(`main input[name="name"]`, partner.Slug)
	p.Submit(`main form[action$="/suspend"] button[type="submit"]`)
	p.Wait(`document.querySelector("main form[action$='/approve']") !== null`)
	reason := func() string { return n.Ping(t, partner.Base(), node.MinimalPing).Reason }
	testkit.Eventually(t, node.Patience, "the suspended partner gets no prices",
		func() bool { return reason() == "paused" })
	p.Submit(`form[action$="/approve"] button[type="submit"]`)
	p.Wait(`document.querySelector("main a[href$='/suspend']")`)
	testkit.Eventually(t, node.Patience, "the approved partner gets prices", func() bool { return reason() != "paused" })
	if status := postStatus(t, n, partner); status != http.StatusOK {
		t.Errorf("%d", status)
	}
}
