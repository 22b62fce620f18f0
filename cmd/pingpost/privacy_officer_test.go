package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/dev/devstack"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/evidence/pack"
)

const (
	officerEmail = "officer@example.com"
	backup       = "how-to/back-up-and-restore.md"
	evidencePage = "how-to/export-evidence.md"
)

// officer is a data-protection officer who follows the documentation. The consumer with the address in personal
// has two leads, and another consumer has the other two.
type officer struct {
	*platform
	guides  *reader
	running devstack.Running
	console *admintest.Client

	asked, held     string // of the consumer
	expired, recent string // of the other consumer; held and expired are 40 days old

	access, erasure string   // privacy requests
	receipt         string   // of the erasure of asked
	partners        []string // of the consumer's leads
}

// TestPrivacyOfficer follows the documentation: a legal hold, the export and erasure of a consumer's data,
// retention, the restore of an older backup, evidence that other programs verify, and the end of the request.
func TestPrivacyOfficer(t *testing.T) {
	t.Parallel()
	o := newOfficer(t)
	for _, step := range []struct {
		name string
		run  func(*officer, *testing.T)
	}{
		{"backup", (*officer).backUp}, {"requests", (*officer).answerRequests}, {"retention", (*officer).limitRetention},
		{"restore", (*officer).restore}, {"evidence", (*officer).exportEvidence}, {"stolen key", (*officer).revokeKey},
		{"release", (*officer).finishRequest},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(o, t) }) {
			t.FailNow() // later steps need this one
		}
	}
	o.on(t, "audit", "verify").ok(t)
	if code := o.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, o.stderr.String())
	}
}

// newOfficer starts a platform with leads, and sets a shorter retention period.
func newOfficer(t *testing.T) *officer {
	t.Helper()
	const other = "barnaby@merrythought.example"
	dir := filepath.Join(folder(t), "data")
	before := startDev(t, nil, "--data-dir", dir, "--clock-offset", "-960h")
	o := &officer{platform: &platform{dir: dir}, guides: newReader(t, "PINGPOST_DATA_DIR="+dir)}
	o.held, o.expired = before.partner(2).deliverFor(t, personal, "click 1"), before.partner(2).
		deliverFor(t, other, "click 2")
	if code := before.stop(t, syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d: %s", code, before.stderr.String())
	}
	o.development = startDev(t, []string{"PINGPOST_RETENTION_CONTACT_DAYS=30"}, "--data-dir", dir)
	o.asked, o.recent = o.partner(1).deliverFor(t, personal, personal), o.partner(1).deliverFor(t, other, "click 3")
	var err error
	if o.running, err = devstack.ReadRunning(dir); err != nil {
		t.Fatal(err)
	}
	call(t, admintest.Password+"\n", o.settings(), "staff", "create", officerEmail, "--role", "privacy", "--password-stdin").ok(t)
	o.console = admintest.SignedInAt(t, o.AdminURL, officerEmail)
	return o
}

// deliverFor delivers a lead with an email address. The post is not signed. The reference is stored as text until
// the lead is erased.
func (c client) deliverFor(t *testing.T, email, reference string) (lead string) {
	t.Helper()
	_, _, answer := c.send(t, "ping", `{"industry":"plumber","postcode":"SW1A 1AA"}`, false)
	body := fmt.Sprintf(`{"transactionId":%q,"email":%q,"reference":%q,"consent":{"acknowledged":true}}`,
		member(t, answer, "transactionId"), email, reference)
	status, _, answer := c.send(t, "post", body, false)
	if status != http.StatusOK {
		t.Fatalf("post: got %d %s", status, answer)
	}
	return member(t, answer, "leadId")
}

var (
	leadIDs    = regexp.MustCompile(`ld_[0-9A-Z]{26}`)
	requestIDs = regexp.MustCompile(`pr_[0-9A-Z]{26}`)
	partnerIDs = regexp.MustCompile(`pt_[0-9A-Z]{26}`)
	passphrase = regexp.MustCompile(`(?m)^[A-Z2-7]{5}(-[A-Z2-7]{5}){4}$`)
)

// namesLeads fails the test unless a text contains the IDs of exactly these leads.
func namesLeads(t *testing.T, what, text string, leads ...string) {
	t.Helper()
	found := leadIDs.FindAllString(text, -1)
	slices.Sort(found)
	slices.Sort(leads)
	if got := slices.Compact(found); !slices.Equal(got, leads) {
		t.Errorf("%s names the leads %v, want %v: %s", what, got, leads, text)
	}
}

// dump backs up a database as in the guide, and returns the number of lines that contain the consumer's address.
func (o *officer) dump(t *testing.T, ownerURL string) (lines string) {
	t.Helper()
	o.guides.follow(t, backup+"#1-dump-the-database", "OWNER_URL="+ownerURL)
	file := shellQuote(filepath.Join(o.guides.dir, "pingpost.dump"))
	return strings.TrimSpace(shell(t,
		"pg_restore --file=- "+file+" | { grep --ignore-case --count "+personal+" || true; }"))
}

// revealEmail prints the email address of a lead.
func revealEmail(t *testing.T, lead string, env ...string) outcome {
	t.Helper()
	return call(t, "", env, "lead", "reveal", lead, "--field", "email", "--reason", "request")
}

// states fails the test unless the leads have the given states, and the email address can be revealed only if the lead
// is not erased.
func (o *officer) states(t *testing.T, env []string, want map[string]string) {
	t.Helper()
	for lead, state := range want {
		if v := printed[leadView](t, call(t, "", env, "lead", "show", lead, "--json")); string(v.State) != state {
			t.Errorf("the lead %s is %s, want %s", lead, v.State, state)
		}
		if state == "erased" {
			revealEmail(t, lead, env...).rejected(t, "conflict/erased")
		} else if got := revealEmail(t, lead, env...).ok(t); (got == personal+"\n") != (lead == o.asked || lead == o.held) {
			t.Errorf("the lead %s has the address %q", lead, got)
		}
	}
}

func (o *officer) settings() []string { return []string{"PINGPOST_DATA_DIR=" + o.dir} }

// backUp places a legal hold in the console, as in the guide about retention, and dumps the database.
func (o *officer) backUp(t *testing.T) {
	at := "/leads/" + o.held
	o.console.Post(t, at+"/hold", url.Values{"person": {"no"}, "reason": {"case 7"}}).ExpectRedirect(t, at)
	if holds := o.console.Get(t, "/privacy/holds").Values("data-hold"); len(holds) != 1 {
		t.Errorf("got the holds %v, want one", holds)
	}
	if lines := o.dump(t, o.running.OwnerURL); lines == "0" {
		t.Error("the reference, which contains the address, is not in the dump")
	}
	o.rename(t, "pingpost.dump", "older.dump")
}

func (o *officer) rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(o.guides.dir, from), filepath.Join(o.guides.dir, to)); err != nil {
		t.Fatal(err)
	}
}

// answerRequests exports and erases the consumer's data.
func (o *officer) answerRequests(t *testing.T) {
	if err := os.WriteFile(filepath.Join(o.guides.dir, "address.txt"), []byte(personal+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := o.guides.follow(t, "how-to/answer-privacy-requests.md#on-the-command-line")
	namesLeads(t, "the output", out, o.asked, o.held)
	for _, part := range []string{"Erased 1 lead.\n", "Not erased: 1 lead under a legal hold."} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in %s", part, out)
		}
	}
	requests := slices.Compact(requestIDs.FindAllString(out, -1))
	o.partners = partnerIDs.FindAllString(out, 2) // the list of the leads comes first
	if len(requests) != 2 || len(slices.Compact(slices.Clone(o.partners))) != 2 {
		t.Fatalf("got the requests %v and the partners %v, want two of each: %s", requests, o.partners, out)
	}
	o.access, o.erasure = requests[0], requests[1]
	o.console.Get(t, "/privacy/requests/"+o.access).Expect(t, "access", http.StatusOK, `data-state="exported"`)
	o.console.Get(t, "/privacy/requests/"+o.erasure).
		Expect(t, "erasure", http.StatusOK, `data-state="open"`, `data-erased="1"`, "case 7")

	extract := exec.CommandContext(t.Context(), "bsdtar", "-xO", "--passphrase", passphrase.FindString(out), "-f",
		"data.zip", "data.json")
	extract.Dir = o.guides.dir
	data, err := extract.Output()
	if err != nil || !bytes.Contains(data, []byte(personal)) {
		t.Fatalf("the export: %v: %s", err, data)
	}
	namesLeads(t, "the export", string(data), o.asked, o.held)

	o.states(t, o.settings(),
		map[string]string{o.asked: "erased", o.held: "delivered", o.expired: "delivered", o.recent: "delivered"})
	receipts := printed[[]erasureView](t, o.on(t, "erasures", "list", "--json"))
	if len(receipts) != 1 || receipts[0].LeadID != o.asked {
		t.Fatalf("got the erasures %+v, want one of %s", receipts, o.asked)
	}
	o.receipt = receipts[0].Receipt
	if lines := o.dump(t, o.running.OwnerURL); lines != "0" {
		t.Errorf("after the erasure, the address is in %s lines of the dump", lines)
	}
}

// limitRetention puts the shorter period into effect.
func (o *officer) limitRetention(t *testing.T) {
	out := o.guides.follow(t, "how-to/retain-leads.md")
	for _, pattern := range []string{
		`(?m)^contact +other +30 days +until erased +\S+ +2$`, `Contact records erased: 1 \(GB 1\)`, `Details of consents erased: 0`,
	} {
		if !regexp.MustCompile(pattern).MatchString(out) {
			t.Errorf("%s does not match %s", out, pattern)
		}
	}
	o.states(t, o.settings(),
		map[string]string{o.asked: "erased", o.held: "delivered", o.expired: "erased", o.recent: "delivered"})
	for _, v := range printed[[]plannedView](t, o.on(t, "retention", "plan", "--json")) {
		if want := map[string]int{"contact": 30, "consent": 0}[string(v.Category)]; v.EffectiveDays != want {
			t.Errorf("the period in effect for %s is %d days, want %d", v.Category, v.EffectiveDays, want)
		}
	}
}

// restore restores the dump from before the erasures, and replays them.
func (o *officer) restore(t *testing.T) {
	inRestored := strings.NewReplacer("/pingpost?", "/pingpost_restored?").Replace
	journal := folder(t)
	execute(t, "cp", append(o.entries(t), journal)...)
	env := o.production(t, "PINGPOST_DATABASE_URL="+inRestored(o.running.DatabaseURL), "PINGPOST_DATA_DIR=",
		"PINGPOST_PRIVACY_ERASURE_JOURNAL="+journal, "PINGPOST_CONSOLE_SECOND_FACTOR_ROLES=auditor")
	o.rename(t, "older.dump", "pingpost.dump")
	o.guides.follow(t, backup+"#2-restore-it", "SUPERUSER_URL="+o.superuser(t, "postgres"),
		"RESTORED_URL="+o.superuser(t, "pingpost_restored"))
	out := o.guides.follow(t, backup+"#3-check-it-before-you-use-it", env...)
	if !regexp.MustCompile(`(?m)^local +[0-9a-f]{8} +4 `).MatchString(out) {
		t.Errorf("the restored database does not have four leads: %s", out)
	}

	_, node := serveReady(t, env)
	user := admintest.SignedInAt(t, node.admin, officerEmail)
	hides := func(lead string) bool {
		p := user.Get(t, "/leads/"+lead)
		p.Expect(t, "the lead's page", http.StatusOK)
		if strings.Contains(p.Body, personal) {
			t.Errorf("the page of %s contains the address", lead)
		}
		return slices.Contains(p.Codes(), "erasable_hidden")
	}
	const ahead = "unavailable/journal_ahead"
	call(t, "", env, "erasures", "verify").rejected(t, ahead)
	for _, lead := range []string{o.asked, o.held, o.recent} {
		revealEmail(t, lead, env...).rejected(t, ahead)
		if !hides(lead) {
			t.Errorf("before the replay, the page of %s does not hide personal data", lead)
		}
	}

	const replay = backup + "#if-leads-were-erased-after-the-backup"
	declined := o.guides.answer(t, "no\n", replay, env...)
	namesLeads(t, "the question", declined.stdout, o.asked, o.expired)
	if declined.code != 2 {
		t.Errorf("declined: exit code %d, want 2: %s", declined.code, declined.stdout)
	}
	revealEmail(t, o.asked, env...).rejected(t, ahead)
	replayed := o.guides.answer(t, "yes\n", replay, env...)
	namesLeads(t, "the replay", replayed.stdout, o.asked, o.expired)
	if replayed.code != 0 || !strings.Contains(replayed.stdout, "Erased 2 leads again. Entries replayed: 2") {
		t.Errorf("replay: exit code %d: %s", replayed.code, replayed.stdout)
	}

	o.states(t, env, map[string]string{o.asked: "erased", o.held: "delivered", o.expired: "erased", o.recent: "delivered"})
	testkit.Eventually(t, patience, "the pages show personal data again", func() bool {
		return !hides(o.recent) && !hides(o.asked)
	})
	for _, settings := range [][]string{env, o.settings()} {
		if v := printed[erasure.Verified](t, call(t, "", settings, "erasures", "verify", "--json")); v.Entries != 2 {
			t.Errorf("the journal has %d entries, want 2", v.Entries)
		}
	}
	if lines := o.dump(t, inRestored(o.running.OwnerURL)); lines != "0" {
		t.Errorf("after the replay, the address is in %s lines of the dump", lines)
	}
}

// entries returns the files in the erasure journal.
func (o *officer) entries(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(o.running.ErasureJournal, "*.json"))
	if err != nil || len(files) != 2 {
		t.Fatalf("got the entries %v (%v), want two", files, err)
	}
	return files
}

// exportEvidence creates a pack with the evidence that the lead was erased. The pack must be valid, and a copy in which
// a byte was changed must be rejected.
func (o *officer) exportEvidence(t *testing.T) {
	o.guides.follow(t, evidencePage+"#on-the-command-line", "LEAD="+o.asked)
	file := filepath.Join(o.guides.dir, "evidence.zip")
	original := unzip(t, file)
	if text := original["evidence.json"] + original["evidence.html"]; strings.Contains(text, personal) {
		t.Error("the pack contains the consumer's address")
	}
	var d pack.Document
	if err := json.Unmarshal([]byte(original["evidence.json"]), &d); err != nil {
		t.Fatal(err)
	}
	if d.Lead.ID != o.asked || d.Erasure == nil || d.Erasure.Receipt != o.receipt {
		t.Errorf("got the lead %s with the erasure %+v, want %s with the receipt %s", d.Lead.ID, d.Erasure, o.asked,
			o.receipt)
	}
	var exports []string
	for _, e := range d.Exports {
		exports = append(exports, e.Kind+" "+e.Request)
	}
	if want := []string{"request_export " + o.access, "request_download " + o.access}; !slices.Equal(exports, want) {
		t.Errorf("got the exports %v, want %v", exports, want)
	}

	valid := map[string]string{
		"verify-a-pack": o.asked, "with-openssl": "evidence.json: OK", "with-python": "valid: " + o.asked,
	}
	for section, text := range valid {
		if out := o.verify(t, section); out.code != 0 || !strings.Contains(out.stdout, text) {
			t.Errorf("%s: exit code %d, printed %s", section, out.code, out.stdout)
		}
	}
	for name, invalid := range map[string]map[string]string{
		"evidence.json": {
			"verify-a-pack": "file_changed", "with-openssl": "evidence.json: FAILED", "with-python": "evidence.json was changed",
		},
		"evidence.html": {
			"verify-a-pack": "file_changed", "with-openssl": "evidence.html: FAILED", "with-python": "evidence.html was changed",
		},
		"evidence.jws": {
			"verify-a-pack": "bad_signature", "with-openssl": "Verification Failure", "with-python": "InvalidSignature",
		},
	} {
		changed := []byte(original[name])
		at := len(changed) / 2
		if name == "evidence.jws" {
			at = bytes.LastIndexByte(changed, '.') + 1 // the signature
		}
		changed[at] = map[bool]byte{true: 'B', false: 'A'}[changed[at] == 'A']
		files := maps.Clone(original)
		files[name] = string(changed)
		writeZIP(t, file, files)
		for section, text := range invalid {
			if out := o.verify(t, section); out.code == 0 || !strings.Contains(out.stdout, text) {
				t.Errorf("%s with a changed byte, %s: exit code %d, want an error with %q: %s", name, section, out.code, text,
					out.stdout)
			}
		}
	}
}

// verify runs the commands in a section of the page that verify a pack.
func (o *officer) verify(t *testing.T, section string) outcome {
	t.Helper()
	return o.guides.try(t, evidencePage+"#"+section, "API_URL="+o.APIURL)
}

// revokeKey replaces the key, and then revokes it as stolen. The pack must be valid until the revocation.
func (o *officer) revokeKey(t *testing.T) {
	if err := os.Remove(filepath.Join(o.guides.dir, "evidence.zip")); err != nil {
		t.Fatal(err)
	}
	o.guides.follow(t, evidencePage+"#on-the-command-line", "LEAD="+o.held)
	o.guides.follow(t, evidencePage+"#rotate-the-key")
	for _, section := range []string{"verify-a-pack", "with-openssl", "with-python"} {
		if out := o.verify(t, section); out.code != 0 {
			t.Errorf("after the rotation, %s: exit code %d: %s", section, out.code, out.stdout)
		}
	}
	o.guides.follow(t, evidencePage+"#revoke-a-stolen-key", "API_URL="+o.APIURL)
	for section, text := range map[string]string{"verify-a-pack": "key_revoked", "with-python": "was stolen"} {
		testkit.Eventually(t, patience, section+" rejects the key", func() bool {
			out := o.verify(t, section)
			return out.code == 1 && strings.Contains(out.stdout, text)
		})
	}
	if out := o.guides.follow(t, evidencePage+"#with-openssl",
		"API_URL="+o.APIURL); !strings.Contains(out, `"revoked_at"`) {
		t.Errorf("the revocation is not in %s", out)
	}
}

// finishRequest releases the legal hold, erases the lead and notifies the partners, which closes the request.
func (o *officer) finishRequest(t *testing.T) {
	hold := o.console.Get(t, "/privacy/holds").Values("data-hold")
	o.console.Post(t, "/leads/"+o.held+"/release", url.Values{"hold": hold}).ExpectRedirect(t, "/leads/"+o.held)
	at := "/privacy/requests/" + o.erasure
	o.console.Post(t, at+"/erase", url.Values{"proof": {admintest.Password}}).ExpectRedirect(t, at)
	o.console.Get(t, at).Expect(t, "erased", http.StatusOK, `data-state="to_notify"`, `data-erased="2"`)
	for _, partner := range o.partners {
		o.console.Post(t, at+"/notices", url.Values{"partner": {partner}}).ExpectRedirect(t, at+"#notices")
	}
	o.console.Get(t, at).Expect(t, "notified", http.StatusOK, `data-state="erased"`)
	o.states(t, o.settings(),
		map[string]string{o.asked: "erased", o.held: "erased", o.expired: "erased", o.recent: "delivered"})
}

// unzip returns the files in a ZIP file.
func unzip(t *testing.T, name string) map[string]string {
	t.Helper()
	archive, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
	}
	return files
}

// writeZIP writes files to a ZIP file without compression.
func writeZIP(t *testing.T, name string, files map[string]string) {
	t.Helper()
	var content bytes.Buffer
	archive := zip.NewWriter(&content)
	for file, text := range files {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: file, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
