package admin_test

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin"
	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

var update = flag.Bool("update", false, "write testdata/statuses.txt")

// statusFile contains a line for each route. Each role has a column for users who have it for all partners and, except
// for administrators, a column for users who have it for one partner. The column "none" is for requests without a
// session. A dash stands for 403. Each line ends with the page to which successful requests redirect, if any.
const statusFile = "testdata/statuses.txt"

var anyID = regexp.MustCompile(`\b([a-z]{2})_[0-9A-Z]{26}`)

// signedOut is the column for requests without a session.
const signedOut = "none"

// statusMatrix is the content of statusFile.
type statusMatrix struct {
	columns []string
	rows    map[string][]string // statuses by method and path, in the order of columns
	targets map[string]string   // of redirects
}

func (m statusMatrix) String() string {
	var text strings.Builder
	line := func(name string, cells []string, target string) {
		fmt.Fprintf(&text, "%-62s", name)
		for _, cell := range cells {
			fmt.Fprintf(&text, " %-4s", cell)
		}
		text.WriteString(target)
		s := strings.TrimRight(text.String(), " ") + "\n"
		text.Reset()
		text.WriteString(s)
	}
	line("", m.columns, "")
	for _, route := range slices.Sorted(maps.Keys(m.rows)) {
		line(route, m.rows[route], m.targets[route])
	}
	return text.String()
}

// TestStatuses requests all routes with each role, for all partners and for one, and without signing in. It also tries
// other methods and slightly wrong URLs.
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
	abbreviations := map[models.Role]string{
		models.Administrator: "adm", models.AccountManager: "acc", models.PricingManager: "pri", models.Finance: "fin",
		models.Auditor: "aud", models.Privacy: "priv",
	}
	matrix := statusMatrix{columns: []string{signedOut}, rows: map[string][]string{}, targets: map[string]string{}}
	people := []string{""}
	for _, role := range models.Roles {
		matrix.columns, people = append(matrix.columns, abbreviations[role]), append(people, string(role))
		if role != models.Administrator { // administrators cannot be limited to some partners
			b.AddStaff(t, string(role)+"-of-one@example.com", models.StaffRole{Role: role, PartnerID: &harbour.ID})
			matrix.columns, people = append(matrix.columns, "one"), append(people, string(role)+"-of-one")
		}
	}
	b.Reload(t)
	send := func(v *admintest.Client, method, address string) admintest.Response {
		t.Helper()
		body, header := "", http.Header{}
		if method == http.MethodPost {
			body = admintest.WithFormKey(nil).Encode()
			header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {b.URL}}
		}
		return v.Send(t, method, address, strings.NewReader(body), header)
	}
	routes := admin.Routes(b.Options)
	methods := map[string][]string{}
	for _, r := range routes {
		methods[r.Path] = append(methods[r.Path], r.Method)
	}
	for column, user := range people {
		v := b.Console.NewClient(t)
		if user != "" {
			v.SignIn(t, user+"@example.com")
		}
		for _, r := range routes {
			route, status := r.Path+" "+r.Method, ""
			if r.Path != "/logout" && r.Path != "/login" || user == "" {
				p := send(v, r.Method, at(r.Path))
				if status = strconv.Itoa(p.Status); p.Status == http.StatusForbidden {
					status = "-"
				}
				target, _, _ := strings.Cut(anyID.ReplaceAllString(p.Location(), "$1"), "?")
				if before := matrix.targets[route]; user != "" && target != "" && before != "" && before != target {
					t.Errorf("%s redirects to %s and %s", route, before, target)
				}
				if user == "" && p.Status == http.StatusSeeOther && target != "/login" && r.Path != "/theme" {
					t.Errorf("%s redirects to %s without a session, want /login", route, target)
				}
				if user != "" && target != "" {
					matrix.targets[route] = target
				}
			}
			for len(matrix.rows[route]) < column {
				matrix.rows[route] = append(matrix.rows[route], "")
			}
			matrix.rows[route] = append(matrix.rows[route], status)
		}
	}
	checkMatrix(t, matrix)
	methods["/leads/find"] = append(methods["/leads/find"], http.MethodGet) // of /leads/{id}, which matches too
	v := b.SignedInAs(t, models.Administrator)
	for route, allowed := range methods {
		if route == "/logout" {
			continue
		}
		slices.Sort(allowed)
		for _, method := range []string{http.MethodOptions, http.MethodPut, http.MethodDelete} {
			if p := send(v, method, at(route)); p.Status != http.StatusMethodNotAllowed ||
				p.Header.Get("Allow") != strings.Join(allowed, ", ") {
				t.Errorf("%s %s: got status %d and Allow %q", method, route, p.Status, p.Header.Get("Allow"))
			}
		}
		want := http.StatusMethodNotAllowed
		if slices.Contains(allowed, http.MethodGet) {
			want = send(v, http.MethodGet, at(route)).Status
		}
		if p := send(v, http.MethodHead, at(route)); p.Status != want || p.Body != "" {
			t.Errorf("HEAD %s: got status %d, want %d without a body", route, p.Status, want)
		}
		if route == "/{$}" {
			continue
		}
		for _, near := range []string{at(route) + "/", "/" + at(route), "/%2F" + strings.TrimPrefix(at(route), "/"),
			at(route) + "%2F", at(route) + "/."} {
			// A route whose last part is an ID also matches "%2F" and ".".
			if p := send(v, http.MethodGet, near); p.Status != http.StatusNotFound && p.Status != http.StatusForbidden {
				t.Errorf("GET %s: got status %d, want 404 or 403", near, p.Status)
			}
		}
	}
	for _, address := range []string{"//", "/%2F", "/.", "/..", "/%2e%2e/staff", "/staff/../audit", "/assets", "/Staff",
		"/no-such-page", "/staff;a"} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			if p := send(v, method, address); p.Status != http.StatusNotFound {
				t.Errorf("%s %s: got status %d, want 404", method, address, p.Status)
			}
		}
	}
	for address, want := range map[string]int{"/": http.StatusOK, "/staff?q=%zz": http.StatusOK,
		"/assets/": http.StatusNotFound, "/assets/nope": http.StatusNotFound} {
		for method, want := range map[string]int{
			http.MethodGet: want, http.MethodHead: want, http.MethodPost: http.StatusMethodNotAllowed,
		} {
			if p := send(v, method, address); p.Status != want {
				t.Errorf("%s %s: got status %d, want %d", method, address, p.Status, want)
			}
		}
	}
}

// checkMatrix compares the matrix with statusFile, or writes the file.
func checkMatrix(t *testing.T, m statusMatrix) {
	t.Helper()
	if *update {
		if err := os.WriteFile(statusFile, []byte(m.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(statusFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(m.String(), "\n")); diff != "" {
		t.Errorf("the statuses differ from %s (-want +got):\n%s", statusFile, diff)
	}
}
