package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// The personal data of a consumer. Each text is too long to occur by chance in hexadecimal digits, IDs or
// numbers, or contains characters that do not occur there.
const (
	canaryEmail = "Canary-Email@example.com"
	canaryPing  = `{"industry":"plumber","postcode":"SW1A 6CN","urgency":"canary-urgency","job_type":"canary-job","budget":"canary-budget"}`
	canaryPost  = `{"transactionId":"$TX","contact":{"name":"canary-name","email":"` + canaryEmail + `","phone":"020 7946 0777"},
		"location":{"address":"canary-address","postcode":"SW1A 7CN"},"notes":"canary-notes","answers":{"canary-question":"canary-answer"},
		"consent":{"acknowledged":true,"disclosureText":"canary-disclosure","recipientHash":"cafe0777cafe0777cafe0777cafe0777cafe0777cafe0777cafe0777cafe0777",
			"thirdPartyFormCertUrl":"https://example.com/canary-certificate","thirdPartyLeadId":"canary-third-party"},"reference":"canary-click","subId":"canary-sub"}`
)

var (
	// encryptedCanaries are stored only in the contact record, which is encrypted.
	encryptedCanaries = []string{"Canary-Email", "canary-name", "7946 0777", "+442079460777", "canary-address", "canary-notes", "canary-question", "canary-answer"}
	// plainCanaries are stored as text until the lead is erased.
	plainCanaries = []string{
		"SW1A 6CN", "SW1A 7CN", "canary-urgency", "canary-job", "canary-budget", "canary-disclosure", "cafe0777cafe0777", "canary-certificate", "canary-third-party", "canary-click", "canary-sub",
		"canary-evidence", "canary-decision", "canary-adjustment", "canary-resolution", "canary-reveal",
	}
	// rejectedCanaries are only in requests that were rejected.
	rejectedCanaries = []string{"canary-rejected", "canary-unsigned", "canary-broken"}
	// staffCanaries are in notes that must not identify the consumer. They are stored only in these columns.
	staffCanaries = map[string]string{
		"canary-erasure": "erasures.note", "canary-identity": "privacy_requests.identity_note", "canary-reference": "privacy_requests.reference",
	}
)

func erasedCanaries() []string {
	return slices.Concat(encryptedCanaries, plainCanaries, rejectedCanaries)
}

// watched is a node whose files, log and database are searched for a consumer's data.
type watched struct {
	database  *testkit.Database
	env       []string
	node      *process
	addresses addresses
	temporary string // the node's temporary folder
	journal   string
	partners  [2]client
	staff     *admintest.Client
	other     *admintest.Client // another user, who decides returns
	leads     []string          // the consumer's leads
	pages     []string          // that showed the data
	prepared  string            // the file of a prepared ledger export
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{database: testkit.NewServer(t).NewDatabase(t), temporary: t.TempDir(), journal: t.TempDir()}
	w.env = append(onDatabase(w.database.AppURL), "TMPDIR="+w.temporary, "PINGPOST_PRIVACY_ERASURE_JOURNAL="+w.journal,
		"PINGPOST_LOG_LEVEL=debug", "PINGPOST_LOG_FORMAT=json")
	users := [2]string{"fay@example.com", "dan@example.com"}
	for i, slug := range []string{"harbour", "meadow"} {
		w.run(t, "", "partner", "create", slug, "--signing", "required")
		w.run(t, "", "account", "create", slug, slug)
		secret := printed[secretView](t, call(t, "", w.env, "secret", "create", slug, "--json"))
		w.run(t, "", "partner", "approve", slug)
		w.run(t, admintest.Password+"\n", "staff", "create", users[i], "--role", "finance", "--role", "privacy", "--password-stdin")
		w.partners[i] = client{slug: slug, secret: secret.Secret}
	}
	w.node, w.addresses = serveReady(t, w.env)
	for i := range w.partners {
		w.partners[i].origin = w.addresses.api
	}
	w.staff, w.other = admintest.SignedInAt(t, w.addresses.admin, users[0]), admintest.SignedInAt(t, w.addresses.admin, users[1])
	return w
}

// run runs a command, which must succeed.
func (w *watched) run(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	return call(t, stdin, w.env, args...).ok(t)
}

// deliver delivers a lead of the consumer.
func (w *watched) deliver(t *testing.T, by client) (lead string) {
	t.Helper()
	_, _, answer := by.send(t, "ping", canaryPing, false)
	body := strings.Replace(canaryPost, "$TX", member(t, answer, "transactionId"), 1)
	status, _, answer := by.send(t, "post", body, true)
	if status != http.StatusOK {
		t.Fatalf("post: got %d %s", status, answer)
	}
	lead = member(t, answer, "leadId")
	w.leads = append(w.leads, lead)
	return lead
}

// reject sends requests with personal data that are rejected.
func (w *watched) reject(t *testing.T) {
	t.Helper()
	by := w.partners[0]
	invalid := strings.NewReplacer("$TX", "canary-rejected", "true", `"canary-rejected"`, "SW1A 7CN", strings.Repeat("canary-rejected ", 20)).Replace(canaryPost)
	for body, signed := range map[string]bool{invalid: true, strings.ReplaceAll(canaryPost, "canary", "canary-unsigned"): false, canaryPost + `"canary-broken`: true} {
		for _, endpoint := range []string{"ping", "post"} {
			if status, _, answer := by.send(t, endpoint, body, signed); status < 400 || status >= 500 {
				t.Errorf("%s: got %d %s, want a rejection", endpoint, status, answer)
			}
		}
	}
}

// number returns the only number that a query returns.
func (w *watched) number(t *testing.T, sql string, args ...any) int {
	t.Helper()
	return testkit.Value[int](t, w.database, sql, args...)
}

// useLead reveals the contact record of a lead, returns the lead and adjusts its payout.
func (w *watched) useLead(t *testing.T, lead string) {
	t.Helper()
	at := "/leads/" + lead
	for _, field := range []string{"email", "name", "phone", "address", "notes", "answers"} {
		w.staff.Post(t, at+"/reveal", url.Values{"field": {field}, "reason": {"other"}, "note": {"canary-reveal"}, "proof": {admintest.Password}}).
			Expect(t, "reveal", http.StatusOK)
	}
	if pack := w.staff.Post(t, at+"/evidence", url.Values{"contact": {"yes"}, "proof": {admintest.Password}}); pack.Status != http.StatusOK || !strings.Contains(pack.Body, "canary-name") {
		t.Errorf("evidence pack: got %d: %s", pack.Status, pack.Text())
	}
	w.staff.Post(t, "/leads/find", url.Values{"q": {canaryEmail}}).Expect(t, "search", http.StatusOK, lead)
	asked := w.staff.Post(t, "/payouts/returns/new", url.Values{"lead": {lead}, "reason": {"fraud"}, "evidence": {"canary-evidence"}, "proof": {admintest.Password}}).
		ExpectCreated(t, "/payouts/returns/rt_")
	w.other.Post(t, asked+"/accept", url.Values{"answer": {"canary-decision"}, "proof": {admintest.Password}}).ExpectRedirect(t, asked)
	w.adjust(t, lead, "canary-adjustment")
}

// adjust adds an adjustment for a lead to the ledger.
func (w *watched) adjust(t *testing.T, lead, why string) {
	t.Helper()
	key, err := id.Parse(id.Lead, lead)
	if err != nil {
		t.Fatal(err)
	}
	account := testkit.Value[uuid.UUID](t, w.database, `SELECT account_id FROM leads WHERE id = $1`, key)
	w.staff.Post(t, "/payouts/adjust", url.Values{
		"own": {id.Format(id.Adjustment, id.New(clock.System{}.Now()))}, "account": {id.Format(id.Account, account)}, "lead": {lead},
		"amount": {"1.50"}, "currency": {"GBP"}, "why": {why}, "proof": {admintest.Password},
	}).ExpectRedirect(t, "/payouts?account="+id.Format(id.Account, account))
}

// compare uploads a partner's file, and starts its comparison with the ledger. The function before is called
// before the comparison.
func (w *watched) compare(t *testing.T, before func(), rows ...string) (at string) {
	t.Helper()
	file := "leadId,amount,currency,customer\n" + strings.Join(rows, "\n") + "\n"
	at = w.staff.Upload(t, w.partners[0].slug, "march.csv", file).ExpectCreated(t, "/reconciliation/rn_")
	before()
	today := time.Now().UTC()
	w.staff.Post(t, at+"/compare", url.Values{
		"version": {"1"}, "lead_id": {"leadId"}, "amount": {"amount"}, "currency": {"in:currency"},
		"from": {today.AddDate(0, 0, -1).Format(time.DateOnly)}, "to": {today.Format(time.DateOnly)},
	}).ExpectRedirect(t, at)
	return at
}

// reconcileLead compares a partner's file that contains a lead and personal data, and resolves the finding.
func (w *watched) reconcileLead(t *testing.T, lead string) {
	t.Helper()
	at := w.compare(t, func() {}, lead+",0.01,GBP,"+canaryEmail, "canary-broken,1.50,GBP,"+canaryEmail)
	testkit.Eventually(t, patience, "the file is compared", func() bool {
		return w.number(t, `SELECT count(*) FROM reconciliations WHERE state = 'compared'`) == 1
	})
	version := w.number(t, `SELECT row_version FROM reconciliations`)
	w.staff.Post(t, at+"/save", url.Values{"version": {fmt.Sprint(version)}}).ExpectRedirect(t, at)
	line := w.number(t, `SELECT line FROM reconciliation_lines WHERE finding = 'amount_differs'`)
	resolved := w.staff.Post(t, fmt.Sprintf("%s/lines/%d/resolve", at, line), url.Values{"note": {"canary-resolution"}})
	if resolved.Status != http.StatusSeeOther {
		t.Errorf("resolve: got %d: %s", resolved.Status, resolved.Text())
	}
	w.pages = append(w.pages, at, at+"/lines.csv")
}

// failJob compares a file that is damaged, so that the job fails, and then cancels the job.
func (w *watched) failJob(t *testing.T, lead string) {
	t.Helper()
	w.compare(t, func() {
		w.database.Exec(t, `UPDATE file_parts SET sealed = 'canary-broken' WHERE file_id = (SELECT file_id FROM reconciliations ORDER BY created_at DESC LIMIT 1)`)
	}, lead+",0.01,GBP,"+canaryEmail)
	testkit.Eventually(t, patience, "the job has failed", func() bool { return w.number(t, `SELECT count(*) FROM jobs WHERE failure <> ''`) == 1 })
	w.staff.Post(t, fmt.Sprintf("/jobs/%d/cancel", w.lastJob(t)), nil)
	w.database.Exec(t, `UPDATE file_parts SET sealed = '' WHERE sealed = 'canary-broken'`)
}

func (w *watched) lastJob(t *testing.T) int {
	t.Helper()
	return w.number(t, `SELECT max(id)::int FROM jobs`)
}

// exportLedger exports the ledger in both ways, and cancels a further export.
func (w *watched) exportLedger(t *testing.T) {
	t.Helper()
	const direct = "/payouts/ledger.csv"
	at := w.staff.Post(t, "/payouts/exports", url.Values{"currency": {"GBP"}}).ExpectCreated(t, "/payouts/exports/ex_")
	testkit.Eventually(t, patience, "the export is ready", func() bool { return w.staff.Get(t, at+"/file").Status == http.StatusOK })
	for _, path := range []string{direct, at + "/file"} {
		w.staff.Get(t, path).Expect(t, path, http.StatusOK, "canary-adjustment")
	}
	w.pages, w.prepared = append(w.pages, direct, at), at+"/file"

	// A lock makes the second export wait.
	lock, err := testkit.Connect(t, w.database.RootURL).Begin(t.Context())
	if err == nil {
		_, err = lock.Exec(t.Context(), `LOCK TABLE ledger_notes IN ACCESS EXCLUSIVE MODE`)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.staff.Post(t, "/payouts/exports", url.Values{"currency": {"GBP"}}).ExpectCreated(t, "/payouts/exports/ex_")
	w.staff.Post(t, fmt.Sprintf("/jobs/%d/cancel", w.lastJob(t)), nil).ExpectRedirect(t, "/jobs")
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// request creates a privacy request for the consumer in the console.
func (w *watched) request(t *testing.T, kind string) (at string) {
	t.Helper()
	at = w.staff.Post(t, "/privacy/requests/new", url.Values{
		"kind": {kind}, "received_on": {time.Now().UTC().Format(time.DateOnly)}, "email": {canaryEmail}, "reference": {"canary-reference"},
	}).ExpectCreated(t, "/privacy/requests/pr_")
	w.staff.Post(t, at+"/identity", url.Values{"identity": {"other"}, "note": {"canary-identity"}}).ExpectRedirect(t, at)
	return at
}

var passphraseText = regexp.MustCompile(`([A-Z2-7]{5}-){4}[A-Z2-7]{5}`)

// export exports the consumer's data, and returns the decrypted archive.
func (w *watched) export(t *testing.T) (at, data string) {
	t.Helper()
	at = w.request(t, "access")
	passphrase := passphraseText.FindString(w.staff.Post(t, at+"/export", url.Values{"proof": {admintest.Password}}).Body)
	file := filepath.Join(folder(t), "data.zip")
	if err := os.WriteFile(file, []byte(w.staff.Get(t, at+"/export.zip").Body), 0o600); err != nil {
		t.Fatal(err)
	}
	return at, shell(t, fmt.Sprintf("bsdtar -xO --passphrase %s -f %s data.json data.html", passphrase, file))
}

// TestErasedPersonIsNowhere uses the data of a consumer in all ways that the product offers, and then erases
// the consumer's leads. After that, none of the data is in the database and its files, or in the node's log,
// metrics, temporary files and erasure journal.
func TestErasedPersonIsNowhere(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	for _, by := range []client{w.partners[0], w.partners[1], w.partners[0], w.partners[1]} {
		w.deliver(t, by)
	}
	ordinary := w.partners[0].deliver(t) // of another consumer
	w.reject(t)
	w.useLead(t, w.leads[0])
	w.useLead(t, w.leads[1])
	w.adjust(t, ordinary.id, "goodwill")
	w.reconcileLead(t, w.leads[0])
	w.failJob(t, w.leads[0])
	w.exportLedger(t)
	if ended := w.number(t, `SELECT count(*) FROM jobs WHERE state IN ('failed', 'cancelled')`); ended != 2 {
		t.Errorf("%d jobs have failed or were cancelled, want 2", ended)
	}
	found := w.run(t, canaryEmail+"\n", "person", "find")
	for _, lead := range w.leads {
		if !strings.Contains(found, lead) {
			t.Errorf("lead %s was not found", lead)
		}
	}
	exported, data := w.export(t)
	for _, canary := range slices.Concat(encryptedCanaries, []string{"canary-third-party", "canary-evidence", "SW1A 7CN"}) {
		if !strings.Contains(strings.ToLower(data), strings.ToLower(canary)) {
			t.Errorf("%s is missing from the export", canary)
		}
	}
	w.checkBefore(t)

	w.run(t, "", "lead", "erase", w.leads[3], "--reason", "other", "--note", "canary-erasure", "--yes")
	erasure := w.request(t, "erasure")
	w.staff.Post(t, erasure+"/erase", url.Values{"proof": {admintest.Password}}).ExpectRedirect(t, erasure)
	testkit.Eventually(t, patience, "all leads are erased", func() bool {
		return w.number(t, `SELECT count(*) FROM leads WHERE state = 'erased'`) == len(w.leads)
	})
	w.staff.Get(t, erasure).Expect(t, "the request", http.StatusOK, `data-state="to_notify"`)
	if p := w.staff.Get(t, exported+"/export.zip"); p.Status != http.StatusConflict {
		t.Errorf("the consumer's export: got %d, want 409", p.Status)
	}
	w.run(t, canaryEmail+"\n", "person", "find")
	w.run(t, "", "erasures", "verify")
	w.run(t, "", "audit", "verify")
	w.checkPages(t)
	w.checkAfter(t)
}
