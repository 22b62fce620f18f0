package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/browser"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// trialPost is a lead for an account that is named.
const trialPost = `{"transactionId":"$TX","partnerId":"%s","contact":{"name":"Jo Bloggs","email":"jo@example.com","phone":"020 7946 0018"},"consent":{"acknowledged":true}}`

// TestPartnersInBrowser takes partners on as an account manager does, while the
// partner API serves.
func TestPartnersInBrowser(t *testing.T) {
	chromium := browser.Start(t)
	for name, use := range map[string]func(*testing.T, *node, *browser.Browser, *browser.Page){
		"from nothing to the first post": takesOn, "a rotation under traffic": rotates, "signatures become required": requires,
		"two at once": conflicts, "a secret is revoked": revokes, "suspended and back": suspends,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startNode(t, onMachineClock)
			use(t, n, chromium, n.manager(t, chromium))
		})
	}
}

// manager is the page of an account manager who has signed in.
func (n *node) manager(t *testing.T, chromium *browser.Browser) *browser.Page {
	t.Helper()
	const password = "correct horse battery"
	people := staff.NewService(n.db.DB, n.keys, n.clock, staff.Settings{Idle: time.Hour, Lifetime: time.Hour})
	if _, err := people.Seed(t.Context(), audit.Operator, staff.NewPerson{Email: "ben@example.com", Name: "Ben Okafor", Roles: []models.StaffRole{{Role: models.AccountManager}}}, password); err != nil {
		t.Fatal(err)
	}
	p := chromium.Page(t, browser.Look{})
	p.Open(n.admin + "/login")
	p.Type(`input[name="email"]`, "ben@example.com")
	p.Type(`input[name="password"]`, password)
	p.Submit(`form[action="/login"] button[type="submit"]`)
	p.Wait(`document.querySelector("h1")?.textContent === "Overview"`)
	return p
}

// page is the address of a partner's page in the console.
func (n *node) page(p partner) string { return n.admin + "/partners/" + id.Format(id.Partner, p.ID) }

// status posts a lead of a partner, quoted and signed now, and says how it was answered.
func (n *node) status(t testing.TB, p partner) int {
	t.Helper()
	tx := n.ping(t, p.base(), leastPing).TransactionID
	return n.post(t, p, withTransaction(fmt.Sprintf(trialPost, p.accounts[0]), tx)).status
}

// becomes waits until posts of a partner are answered so: a change holds within a second.
func (n *node) becomes(t testing.TB, p partner, want int) {
	t.Helper()
	tx := n.ping(t, p.base(), leastPing).TransactionID
	body := withTransaction(fmt.Sprintf(trialPost, p.accounts[0]), tx)
	for end := time.Now().Add(time.Second); ; {
		a := n.post(t, p, body)
		if a.status == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("a second later: %d %s", a.status, a.body)
		}
	}
}

func takesOn(t *testing.T, n *node, chromium *browser.Browser, p *browser.Page) {
	p.Open(n.admin + "/partners")
	p.Submit(`a[href="/partners/new"]`)
	p.Type(`input[name="name"]`, "North Road Ltd")
	p.Type(`input[name="slug"]`, "north-road")
	p.Submit(`form[action="/partners/new"] button[type="submit"]`)
	now := func(step string) {
		t.Helper()
		p.Wait(`document.querySelector("[aria-current=step] h2")?.textContent.trim() === ` + fmt.Sprintf("%q", step))
	}
	now("Give it an account")
	p.Axe()
	p.Submit(`[aria-current=step] a.button`)
	p.Submit(`form[action$="/accounts/new"] button[type="submit"]`)
	now("Approve it")
	p.Submit(`[aria-current=step] form button`)
	now("Make its first secret")
	p.Submit(`[aria-current=step] a.button`)
	p.Type(`input[name="label"]`, "first")
	p.Submit(`form[action$="/secrets/new"] button[type="submit"]`)
	p.Axe()
	partner := partner{secret: p.Text(".once-secret code"), accounts: [2]string{"north-road-sandbox"}}
	partner.Slug = "north-road"
	if !strings.HasPrefix(partner.secret, "pp_") || strings.Contains(p.Address(), partner.secret) {
		t.Fatalf("at %s", p.Address())
	}
	p.Submit(`main a.button-primary`)
	now("Hand over")
	p.Submit(`[aria-current=step] form button`)
	p.Axe()
	link := browser.Eval[string](p, `[...document.querySelectorAll("main code")].map((e) => e.textContent).find((text) => text.includes("/partner/"))`)
	p.Submit(`main a.button-primary`)
	now("Watch the first post arrive")
	p.Axe()
	theirs := chromium.Page(t, browser.Look{})
	theirs.Open(link)
	if text := theirs.Text("main"); !strings.Contains(text, "north-road-sandbox") || strings.Contains(text, partner.secret) {
		t.Errorf("the partner's own page: %.300s", text)
	}
	// First a mistake, which the page explains, then the lead: both come by themselves.
	tx := n.ping(t, partner.base(), leastPing).TransactionID
	body := withTransaction(fmt.Sprintf(trialPost, "north-road-sandbox"), tx)
	wrong := partner
	wrong.secret += "x"
	if a := n.post(t, wrong, body); a.status != http.StatusUnauthorized {
		t.Errorf("a wrong secret: %d", a.status)
	}
	p.Wait(`document.querySelector("#arrivals").textContent.includes("wrong signature") && document.querySelector("#arrivals a[href$='/check']")`)
	if browser.Eval[bool](p, `document.querySelector("#first-post .status-good") !== null`) {
		t.Error("the last step is done before a lead was delivered")
	}
	a := decode[delivered](t, n.post(t, partner, body))
	p.Wait(`document.querySelector("#arrivals").textContent.includes("` + a.LeadID + `")`)
	p.Wait(`document.querySelector("#first-post .status-good") !== null`) // by itself
	if text := p.Text("#arrivals"); !strings.Contains(text, "sandbox") || !strings.Contains(text, "“first”") {
		t.Error(text)
	}
	p.Axe()
	p.Open(n.admin + "/partners")
	if text := p.Text("#list"); !strings.Contains(text, "North Road Ltd") {
		t.Error(text)
	}
}

// rotates changes the secret while posts come in: none is refused for it.
func rotates(t *testing.T, n *node, _ *browser.Browser, p *browser.Page) {
	who := n.required
	var secret atomic.Pointer[string]
	secret.Store(&who.secret)
	stop := make(chan struct{})
	var posts sync.WaitGroup
	var sent, refused atomic.Int64
	for range 2 {
		posts.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				now := who
				now.secret = *secret.Load()
				sent.Add(1)
				if status := n.status(t, now); status != http.StatusOK {
					refused.Add(1)
					t.Errorf("a post was answered %d", status)
				}
			}
		})
	}
	p.Open(n.page(who) + "?tab=secrets")
	p.Submit(`a[href$="/secrets/rotate"]`)
	p.Axe()
	p.Submit(`form[action$="/secrets/rotate"] button[type="submit"]`)
	fresh := p.Text(".once-secret code")
	before := sent.Load()
	p.Open(n.page(who) + "?tab=secrets") // its button leads there too, once a post has been counted
	p.Wait(`document.querySelector("main").textContent.includes("retiring in 23 h")`)
	// The node has heard of the new one when a post that it signed is taken.
	changed := who
	changed.secret = fresh
	n.becomes(t, changed, http.StatusOK)
	secret.Store(&fresh)
	for end := time.Now().Add(20 * time.Second); sent.Load() < before+50 && time.Now().Before(end); {
		n.status(t, changed)
	}
	close(stop)
	posts.Wait()
	if sent.Load() < before+50 || refused.Load() > 0 {
		t.Errorf("%d of %d posts were refused", refused.Load(), sent.Load())
	}
	// All has moved: the older one ends now.
	p.Submit(`a[href$="/retire"]:not([href*="` + newestSecret(t, n, who) + `"])`)
	p.Click(`input[name="when"][value="now"]`)
	p.Submit(`form[action$="/retire"] button[type="submit"]`)
	p.Wait(`document.querySelector("#main").textContent.includes("retired")`)
	n.becomes(t, who, http.StatusUnauthorized)
	if status := n.status(t, changed); status != http.StatusOK {
		t.Errorf("with the new secret: %d", status)
	}
}

func newestSecret(t *testing.T, n *node, who partner) string {
	t.Helper()
	all, err := n.service.Secrets(t.Context(), who.Partner)
	if err != nil {
		t.Fatal(err)
	}
	return id.Format(id.Secret, all[0].ID)
}

// requires switches enforcement on, having been told what that would refuse.
func requires(t *testing.T, n *node, _ *browser.Browser, p *browser.Page) {
	who := n.off
	unsigned := func() answer {
		tx := n.ping(t, who.base(), leastPing).TransactionID
		return n.do(t, request{path: who.base() + "/api/lead/post", body: withTransaction(fmt.Sprintf(trialPost, who.accounts[0]), tx)})
	}
	for range 3 {
		if a := unsigned(); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	if status := n.status(t, who); status != http.StatusOK {
		t.Fatalf("%d", status)
	}
	for end := time.Now().Add(10 * time.Second); ; { // counters are written every two seconds
		p.Open(n.page(who) + "?tab=signing")
		text := p.Text("main")
		if strings.Contains(text, "Of 4 posts in the last 24 hours 3 came without a signature") {
			break
		}
		if time.Now().After(end) {
			t.Fatal(text)
		}
	}
	p.Axe()
	p.Click(`input[name="signing"][value="required"]`)
	p.Submit(`form[action$="/signing"] button[type="submit"]`)
	for end := time.Now().Add(time.Second); ; {
		if a := unsigned(); a.status == http.StatusUnauthorized {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a second later unsigned posts are still taken")
		}
	}
	if status := n.status(t, who); status != http.StatusOK {
		t.Errorf("a signed post: %d", status)
	}
}

// conflicts has the command line change a partner while its form is open.
func conflicts(t *testing.T, n *node, _ *browser.Browser, p *browser.Page) {
	p.Open(n.page(n.required) + "?tab=signing")
	if err := n.service.By(audit.Operator).SetSigning(t.Context(), scope.Partners(n.required.ID), n.required.ID, n.required.RowVersion+1, models.SigningReportOnly, true); err != nil {
		t.Fatal(err)
	}
	p.Click(`input[name="signing"][value="off"]`)
	p.Submit(`form[action$="/signing"] button[type="submit"]`)
	p.Wait(`document.querySelector("main").textContent.includes("changed this while you had it open")`)
	if !browser.Eval[bool](p, `document.querySelector("input[name=signing][value=off]").checked`) {
		t.Error("what was chosen is gone")
	}
	p.Axe()
	for _, said := range p.Complaints() { // of the status, which is the point
		if !strings.Contains(said, "409") {
			t.Error(said)
		}
	}
	p.Submit(`form[action$="/signing"] button[type="submit"]`)
	p.Wait(`document.querySelector("main").textContent.includes("In force: off")`)
}

func revokes(t *testing.T, n *node, _ *browser.Browser, p *browser.Page) {
	who := n.required
	if status := n.status(t, who); status != http.StatusOK {
		t.Fatalf("%d", status)
	}
	p.Open(n.page(who) + "?tab=secrets")
	p.Submit(`a[href$="/revoke"]`)
	if text := p.Text("main"); !strings.Contains(text, "last valid secret") {
		t.Error(text)
	}
	p.Axe()
	p.Type(`main input[name="name"]`, who.Slug)
	p.Submit(`main form[action$="/revoke"] button[type="submit"]`)
	p.Wait(`document.querySelector("main").textContent.includes("No valid signing secret")`)
	n.becomes(t, who, http.StatusUnauthorized)
}

func suspends(t *testing.T, n *node, _ *browser.Browser, p *browser.Page) {
	who := n.required
	p.Open(n.page(who))
	p.Click(`a[data-dialog="suspend"]`)
	p.Wait(`document.querySelector("#suspend").open`)
	p.Axe()
	p.Type(`#suspend input[name="name"]`, who.Slug)
	p.Submit(`#suspend form[action$="/suspend"] button[type="submit"]`)
	p.Wait(`document.querySelector("main").textContent.includes("Lift the suspension")`)
	end := time.Now().Add(time.Second)
	for !strings.Contains(n.do(t, request{path: who.base() + "/api/lead/ping", body: leastPing}).body, `"reason":"paused"`) {
		if time.Now().After(end) {
			t.Fatal("a second later it still gets prices")
		}
	}
	p.Submit(`form[action$="/approve"] button[type="submit"]`)
	p.Wait(`document.querySelector("a[data-dialog=suspend]")`)
	for end := time.Now().Add(time.Second); strings.Contains(n.do(t, request{path: who.base() + "/api/lead/ping", body: leastPing}).body, `"paused"`); {
		if time.Now().After(end) {
			t.Fatal("a second later it gets no price")
		}
	}
	if status := n.status(t, who); status != http.StatusOK {
		t.Errorf("%d", status)
	}
}
