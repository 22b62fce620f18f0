package admin_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin"
	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

var update = flag.Bool("update", false, "write testdata/statuses.txt")

// statusFile contains a line for each request in TestStatuses, with its status, the page that it redirects to
// and the allowed methods. Review each removed line.
const statusFile = "testdata/statuses.txt"

var anyID = regexp.MustCompile(`\b([a-z]{2})_[0-9A-Z]{26}`)

// TestStatuses requests all routes with each role, for all partners and for one, and without
// signing in. It also tries other methods and slightly wrong URLs. The expected statuses are in
// statusFile.
func TestStatuses(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	harbour := b.Harbour()
	lead, earned := b.Deliver(t, harbour)
	list := b.UploadPartnerFile(t, "harbour-leads", "leadId,amount,currency", lead+","+earned.Decimal()+",GBP")
	draft := b.AddDraft(t, "Spring")
	account, secret := id.Format(id.Account, harbour.Accounts[0].ID), id.Format(id.Secret,
		testkit.Value[uuid.UUID](t, b.Database, `SELECT id FROM signing_secrets WHERE partner_id = $1 LIMIT 1`, harbour.ID))
	const disclosures = "/privacy/disclosures"
	fills := map[string]string{
		"/staff":          b.StaffID(models.Auditor),
		"/partners":       id.Format(id.Partner, harbour.ID),
		"/pricing":        id.Format(id.RateCard, draft.ID),
		"/leads":          lead,
		"/reconciliation": path.Base(list),
		"/jobs":           "1000000",
		"/payouts":        id.Format(id.Payout, uuid.New()),
		"/privacy":        admintest.PrivacyRequest(t, b.Console),
		disclosures:       path.Base(admintest.AddDisclosure(t, b.Console, harbour.ID)),
	}
	at := func(route string) string {
		first := "/" + strings.SplitN(route+"/", "/", 3)[1]
		if strings.HasPrefix(route, disclosures) {
			first = disclosures
		}
		return strings.NewReplacer("{$}", "", "{id}", fills[first], "{session}", id.Format(id.Session, uuid.New()), "{token}", "no-such-token", "{account}", account, "{secret}", secret,
			"{n}", "0", "{position}", "0", "{line}", "1", "{partner}", fills["/partners"]).Replace(route)
	}
	const signedOut = "nobody"
	people := []string{signedOut}
	for _, role := range models.Roles {
		people = append(people, string(role))
		if role != models.Administrator { // administrators cannot be limited to some partners
			people = append(people, string(role)+" of one partner")
			b.AddStaff(t, string(role)+"-of-one@example.com", models.StaffRole{Role: role, PartnerID: &harbour.ID})
		}
	}
	b.Reload(t)
	var got strings.Builder
	record := func(v *admintest.Client, user, method, route, address string) {
		var body *strings.Reader
		header := http.Header{}
		if body = strings.NewReader(""); method == http.MethodPost {
			body, header = strings.NewReader(admintest.WithFormKey(nil).Encode()), http.Header{
				"Content-Type": {"application/x-www-form-urlencoded"},
				"Origin":       {b.URL},
			}
		}
		p := v.Send(t, method, address, body, header)
		to, _, _ := strings.Cut(anyID.ReplaceAllString(p.Location(), "$1"), "?")
		fmt.Fprintln(&got,
			strings.Join(strings.Fields(strings.Join([]string{user + ":", method, route, fmt.Sprint(p.Status), to,
				p.Header.Get("Allow")},
				" ")),
				" "))
	}
	routes := admin.Routes(b.Options)
	slices.SortFunc(routes, func(x, y web.Route) int { return strings.Compare(x.Path+" "+x.Method, y.Path+" "+y.Method) })
	for _, user := range people {
		v := b.Console.NewClient(t)
		if user != signedOut {
			v.SignIn(t, strings.Replace(user, " of one partner", "-of-one", 1)+"@example.com")
		}
		for _, r := range routes {
			if r.Path != "/logout" && r.Path != "/login" || user == signedOut {
				record(v, user, r.Method, r.Path, at(r.Path))
			}
		}
	}
	v := b.SignedInAs(t, models.Administrator)
	done := map[string]bool{}
	for _, r := range routes {
		if done[r.Path] {
			continue
		}
		done[r.Path] = true
		for _, method := range []string{http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete} {
			if r.Path != "/logout" {
				record(v, "methods", method, r.Path, at(r.Path))
			}
		}
		for _, near := range [][2]string{
			{r.Path + "/", at(r.Path) + "/"},
			{"/" + r.Path, "/" + at(r.Path)},
			{"%2F" + r.Path, "/%2F" + strings.TrimPrefix(at(r.Path), "/")},
			{r.Path + "%2F", at(r.Path) + "%2F"},
			{r.Path + "/.", at(r.Path) + "/."},
		} {
			if r.Path != "/{$}" && r.Path != "/logout" {
				record(v, "nearly", http.MethodGet, near[0], near[1])
			}
		}
	}
	for _, address := range []string{"/", "//", "/%2F", "/.", "/..", "/%2e%2e/staff", "/staff/../audit", "/assets/",
		"/assets/nope", "/assets", "/Staff", "/no-such-page", "/staff?q=%zz", "/staff;a"} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			record(v, "other", method, address, address)
		}
	}
	if *update {
		if err := os.WriteFile(statusFile, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(statusFile)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := lineSet(got.String()), lineSet(string(want))
	for line := range strings.Lines(got.String()) {
		if !wantLines[line] {
			t.Errorf("got a line that is not in %s: %s", statusFile, line)
		}
	}
	for line := range strings.Lines(string(want)) {
		if !gotLines[line] {
			t.Errorf("missing line: %s", line)
		}
	}
}

func lineSet(text string) map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(text) {
		set[line] = true
	}
	return set
}
