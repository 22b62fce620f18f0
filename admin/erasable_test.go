package admin_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin"
	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/consents"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

// TestExportsWhileJournalIsAhead requests the routes that must be closed once the erasure journal contains an entry
// that the database does not. It requests them before and after this.
func TestExportsWhileJournalIsAhead(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	h.SamplePartner = h.AddPartner(t, "mine")
	b := h.SignedInEverywhere(t)
	closed := func() (paths []string) {
		for _, r := range admin.Routes(h.Options) {
			if !r.Erasable {
				continue
			}
			p := b.Send(t, r.Method, admintest.FillIn(r.Path, objectID(h, r)), strings.NewReader(admintest.WithFormKey(nil).Encode()),
				http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
			if p.Status == http.StatusServiceUnavailable {
				paths = append(paths, r.Path)
				if !strings.Contains(p.Body, "privacy.erasure_journal") || !strings.Contains(p.Body, "000000000001.json") {
					t.Errorf("%s does not say what to do: %s", r.Path, p.Text())
				}
			}
		}
		slices.Sort(paths)
		return paths
	}
	if paths := closed(); paths != nil {
		t.Errorf("before: %v are closed", paths)
	}
	h.PutJournalAhead(t)
	want := []string{
		"/leads/quotes/{transaction}",
		"/payouts/exports",
		"/payouts/exports/{id}/file",
		"/payouts/ledger.csv",
		"/payouts/runs/{id}/statements/{partner}/entries.csv",
		"/privacy/disclosures/{id}/replace",
		"/privacy/disclosures/{id}/replace",
		"/privacy/notes/find",
		"/privacy/requests/{id}/add",
		"/privacy/requests/{id}/add",
		"/privacy/requests/{id}/export.zip",
		"/privacy/requests/{id}/identity",
		"/privacy/requests/{id}/identity",
		"/privacy/requests/{id}/leads.csv",
		"/privacy/requests/{id}/remove",
		"/privacy/requests/{id}/remove",
		"/reconciliation/{id}/lines.csv",
	}
	if paths := closed(); !slices.Equal(paths, want) {
		t.Errorf("got closed routes %v, want %v", paths, want)
	}
}

// canaryText matches the erasable values in this test.
var canaryText = regexp.MustCompile(`canary-[a-z]+`)

// canaryPages returns the erasable values that pages and exports contain, by path. It requests all GET routes and any
// additional paths that are given.
func canaryPages(
	t *testing.T, h *admintest.Console, b *admintest.Client, objects map[string]string, partner string, more ...string,
) map[string][]string {
	t.Helper()
	for _, r := range admin.Routes(h.Options) {
		if r.Method != http.MethodGet || r.Login != "" {
			continue
		}
		object, longest := uuid.NewString(), 0
		for start, of := range objects {
			if strings.HasPrefix(r.Path, start) && len(start) > longest {
				object, longest = of, len(start)
			}
		}
		more = append(more, admintest.FillIn(strings.ReplaceAll(r.Path, "{partner}", partner), object))
	}
	found := map[string][]string{}
	for _, path := range more {
		p := b.Get(t, path)
		if p.Status == http.StatusInternalServerError {
			t.Errorf("%s: got 500: %s", path, p.Text())
		}
		for _, canary := range canaryText.FindAllString(p.Body, -1) {
			if !slices.Contains(found[path], canary) {
				found[path] = append(found[path], canary)
			}
		}
	}
	return found
}

// TestPagesWhileJournalIsAhead requests all pages and exports with an object whose erasable values are known. Once
// the erasure journal contains an entry that the database does not, none of the values is shown.
func TestPagesWhileJournalIsAhead(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithDeliveries(t)
	b := c.SignedInEverywhere(t)
	rows, _ := admintest.EveryFinding(c, t)
	lead := strings.Split(rows[1], ",")[0]
	leadID, err := id.Parse(id.Lead, lead)
	if err != nil {
		t.Fatal(err)
	}
	reconciliation := c.UploadPartnerFile(t, "harbour-leads", rows...)
	form := c.ColumnForm(t, reconciliation)
	c.Compare(t, reconciliation, form)
	b.Post(t, reconciliation+"/save", url.Values{"version": {c.Version(t, reconciliation)}}).
		ExpectRedirect(t, reconciliation)
	b.Post(t, reconciliation+"/lines/2/resolve", url.Values{"note": {"canary-resolution"}})
	returned := b.Post(t, "/payouts/returns/new", url.Values{"lead": {lead}, "reason": {"fraud"}, "evidence": {"canary-evidence"}}).ExpectCreated(t, "/payouts/returns/")
	b.Post(t, returned+"/accept", url.Values{"answer": {"canary-answer"}})
	user := testkit.Actor(t, c.Database, "fay@example.com")
	if _, err := c.Options.Reveals.By(user).Reveal(t.Context(), scope.System, reveal.NewReveal{
		Lead: leadID, Field: models.ContactEmail, Reason: models.RevealForOther, Note: "canary-reveal",
	}); err != nil {
		t.Fatal(err)
	}
	request, err := c.Options.Requests.By(user).Create(t.Context(), requests.NewRequest{
		Kind: models.RequestAccess, ReceivedOn: c.Time.Now().UTC().
			Truncate(24 * time.Hour), Leads: []uuid.UUID{leadID}, Reference: "canary-request",
		Identity: requests.Identity{Check: models.IdentityReply, Note: "canary-identity"},
	})
	if err != nil {
		t.Fatal(err)
	}
	root := testkit.Connect(t, c.RootURL)
	for _, sql := range []string{
		`SET session_replication_role = replica`, // triggers prevent changes to these rows
		`UPDATE leads SET transaction_id = 'canary-transaction', postcode = 'canary-postcode', quoted_postcode = 'canary-quoted',
			partner_reference = 'canary-reference', sub_id = 'canary-sub' WHERE id = $1`,
		`INSERT INTO disclosures (digest, text, partner_id, first_used_at) SELECT sha256('canary'), 'canary-disclosure', partner_id, received_at FROM leads WHERE id = $1`,
		`INSERT INTO disclosure_uses (digest, lead_id) SELECT sha256('canary'), $1`,
		`UPDATE consents SET disclosure_digest = sha256('canary'), form_cert_url = 'https://example.com/canary-certificate', third_party_lead_id = 'canary-party' WHERE lead_id = $1`,
	} {
		args := []any{leadID}
		if !strings.Contains(sql, "$1") {
			args = nil
		}
		if _, err := root.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	disclosure := testkit.Value[uuid.UUID](t, c.Database, `SELECT id FROM disclosures WHERE text = 'canary-disclosure'`)
	partner := id.Format(id.Partner, c.Harbour().ID)
	objects := map[string]string{
		"/leads": lead, "/partners": partner, "/payouts/returns": strings.TrimPrefix(returned, "/payouts/returns/"),
		"/privacy/requests": requests.ID(request.ID), "/privacy/disclosures": consents.DisclosureID(disclosure),
		"/reconciliation": strings.TrimPrefix(reconciliation, "/reconciliation/"),
	}
	more := []string{
		"/partners/" + partner + "?tab=traffic", "/payouts?lead=" + lead, reconciliation + "?finding=amount_differs",
		reconciliation + "?finding=matched",
	}
	open := canaryPages(t, c.Console, b, objects, partner, more...)
	for path, want := range map[string][]string{
		"/leads/" + lead: {
			"canary-answer", "canary-certificate", "canary-disclosure", "canary-party", "canary-postcode", "canary-quoted",
			"canary-reference", "canary-reveal", "canary-sub", "canary-transaction",
		},
		"/leads":   {"canary-reference", "canary-sub"},
		"/payouts": {"canary-answer", "canary-reference", "canary-sub"},
		returned:   {"canary-answer", "canary-evidence"},

		"/payouts/ledger.csv":                      {"canary-answer", "canary-reference", "canary-sub"},
		"/privacy/requests":                        {"canary-request"},
		"/privacy/disclosures":                     {"canary-disclosure"},
		web.DisclosureURL(disclosure):              {"canary-disclosure"},
		web.DisclosureURL(disclosure) + "/replace": {"canary-disclosure"},
		web.RequestURL(request.ID):                 {"canary-identity", "canary-request"},
		web.RequestURL(request.ID) + "/identity":   {"canary-identity"},
		reconciliation + "?finding=amount_differs": {"canary-resolution"},
	} {
		got := open[path]
		slices.Sort(got)
		for _, canary := range want {
			if !slices.Contains(got, canary) {
				t.Errorf("before, %s contains %q, want also %s", path, got, canary)
			}
		}
	}
	c.PutJournalAhead(t)
	for path, canaries := range canaryPages(t, c.Console, b, objects, partner, more...) {
		t.Errorf("%s contains %q", path, canaries)
	}
	for _, path := range []string{"/leads/" + lead, "/leads", "/payouts", returned, "/privacy/requests", web.DisclosureURL(disclosure), web.RequestURL(request.ID)} {
		p := b.Get(t, path)
		if p.Status != http.StatusOK || !slices.Contains(p.Codes(), "erasable_hidden") ||
			!strings.Contains(p.Body, "000000000001.json") {
			t.Errorf("%s: got %d with the notices %q", path, p.Status, p.Codes())
		}
	}
	for _, query := range []string{"reference=canary-reference", "sub_id=canary-sub", "reference=unknown", "sub_id=unknown"} {
		if p := b.Get(t, "/leads?"+query); p.Status != http.StatusServiceUnavailable || strings.Contains(p.Body, lead) {
			t.Errorf("the filter %s: got %d: %s", query, p.Status, p.Text())
		}
	}
	if p := b.Get(t, web.RequestURL(request.ID)); strings.Contains(p.Body, lead) {
		t.Error("the page of a request contains the lead")
	}
	if p := b.Get(t, "/partners"); slices.Contains(p.Codes(), "erasable_hidden") {
		t.Error("a page without erasable values has a notice")
	}
}
