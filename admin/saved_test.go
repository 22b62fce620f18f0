package admin_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/models"
)

// TestSavedIsAnnounced checks that the page that follows a form says what was saved, but only once and only to the user
// who saved it.
func TestSavedIsAnnounced(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	tab := o.PartnerURL + "?tab=signing"
	form := url.Values{
		"version": {admintest.VersionAt(t, o.Get(t, tab))}, "signing": {"report_only"}, "confirmed": {"report_only"},
	}
	if p := o.Post(t, o.PartnerURL+"/signing", form); p.Status != http.StatusSeeOther {
		t.Fatalf("got %d: %s", p.Status, p.Text())
	}
	other := o.SignedInAs(t, models.Auditor)
	at, err := url.Parse(o.URL)
	if err != nil {
		t.Fatal(err)
	}
	copied := false
	for _, cookie := range o.Client.Jar.Cookies(at) {
		if cookie.Name == "pingpost_saved" {
			other.Jar.SetCookies(at, []*http.Cookie{cookie})
			copied = true
		}
	}
	if !copied {
		t.Fatal("the form has set no cookie")
	}
	if p := other.Get(t, tab); slices.Contains(p.Codes(), "saved") {
		t.Errorf("another user sees what was saved: %s", p.Text())
	}
	if p := o.Get(t, tab); !slices.Contains(p.Codes(), "saved") || !strings.Contains(p.Body, "→ report_only).") {
		t.Errorf("nothing says what was saved: %s", p.Text())
	}
	if p := o.Get(t, tab); slices.Contains(p.Codes(), "saved") {
		t.Errorf("the notice is shown twice: %s", p.Text())
	}
}

// notices matches the notices of a page.
var notices = regexp.MustCompile(`(?s)<div id="notices".*?</ul>`)

// TestSavedLinks checks that the notice links to a changed object that is on another page, and to the page that rolls
// back published prices.
func TestSavedLinks(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	created := o.Post(t, o.PartnerURL+"/accounts/new", url.Values{
		"name": {"Second"}, "identifier": {"second-account"}, "status": {"active"}, "signing": {"inherit"},
	})
	if created.Status != http.StatusSeeOther {
		t.Fatalf("got %d: %s", created.Status, created.Text())
	}
	account := `href="` + o.PartnerURL + `/accounts/ac_`
	if found := notices.FindString(o.Get(t, created.Location()).Body); !strings.Contains(found, account) {
		t.Errorf("the notice does not link to the account: %s", found)
	}

	d := admintest.NewConsoleWithPrices(t, admintest.Setup{})
	draft := d.AddDraft(t, "Dearer", admintest.PlumbersIn("GB", money.GBP, 5000))
	at := web.DraftURL(draft.ID)
	published := d.Post(t, at+"/publish", url.Values{
		"version": {admintest.VersionAt(t, d.Get(t, at+"?tab=publish"))}, "note": {"x"},
	})
	rollback := `href="/pricing/versions/1/rollback"`
	if found := notices.FindString(d.Get(t, published.Location()).Body); !strings.Contains(found, rollback) {
		t.Errorf("the notice does not offer a rollback: %s", found)
	}
}
