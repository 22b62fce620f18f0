package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
)

// original is a platform whose database is backed up. Its erasure journal is in a bucket.
type original struct {
	server   *testkit.Server
	database *testkit.Database
	env      []string
	client   client
	console  string // its origin
}

const (
	staffEmail    = "fay@example.com"
	staffPassword = "correct horse battery"
	evidenceText  = "The consumer Quillfeather called"
)

// newOriginal starts a node with a partner and a user. The settings override those of onDatabase.
func newOriginal(t *testing.T, settings ...string) *original {
	t.Helper()
	o := &original{server: testkit.NewArchivingServer(t)}
	o.database = o.server.NewDatabase(t)
	bucket := testkit.NewBucket(t).Options
	o.env = append(onDatabase(o.database.AppURL),
		"PINGPOST_PRIVACY_ERASURE_JOURNAL="+bucket.Location, "PINGPOST_PRIVACY_JOURNAL_ENDPOINT="+bucket.Endpoint, "PINGPOST_PRIVACY_JOURNAL_REGION="+bucket.Region,
		"PINGPOST_PRIVACY_JOURNAL_ACCESS_KEY="+bucket.AccessKey, "PINGPOST_PRIVACY_JOURNAL_SECRET_KEY="+bucket.SecretKey)
	o.env = slices.Clip(append(o.env, settings...)) // tests append different settings
	call(t, "", o.env, "partner", "create", "harbour", "--signing", "required").ok(t)
	call(t, "", o.env, "account", "create", "harbour", "harbour").ok(t)
	secret := printed[secretView](t, call(t, "", o.env, "secret", "create", "harbour", "--json"))
	call(t, "", o.env, "partner", "approve", "harbour").ok(t)
	call(t, staffPassword+"\n", o.env, "staff", "create", staffEmail, "--role", "finance", "--role", "privacy", "--password-stdin").ok(t)
	o.client = client{slug: "harbour", secret: secret.Secret}
	node := o.serve(t, o.env)
	o.client.origin, o.console = node.api, node.admin
	return o
}

// onDatabase returns the settings of a node with a database.
func onDatabase(url string) []string {
	return []string{
		"PINGPOST_DATABASE_URL=" + url, "PINGPOST_PLATFORM_KEYS=" + oldKey, "LEAD_VAULT_KEK=" + aKEK,
		"PINGPOST_HTTP_API_ADDR=127.0.0.1:0", "PINGPOST_HTTP_ADMIN_ADDR=127.0.0.1:0", "PINGPOST_HTTP_OPS_ADDR=127.0.0.1:0",
		"PINGPOST_HTTP_PUBLIC_URL=https://leads.example.com", "PINGPOST_HTTP_ADMIN_URL=https://console.example.com", "PINGPOST_HTTP_DRAIN_DELAY=0s",
		"PINGPOST_CONSOLE_SECOND_FACTOR_ROLES=auditor", // not a role of the user
	}
}

// addresses are the origins of a running node.
type addresses struct{ api, admin, ops string }

// serve starts a ready node.
func (o *original) serve(t *testing.T, env []string) addresses {
	t.Helper()
	_, a := serveReady(t, env)
	return a
}

// serveReady starts a node, waits until it is ready, and reads its addresses from its log.
func serveReady(t *testing.T, env []string) (*process, addresses) {
	t.Helper()
	node, api, ops := serve(t, env)
	node.until(t, "the node is ready", ready200(ops))
	for line := range strings.Lines(node.stdout.String()) {
		var started struct{ Msg, Admin string }
		if json.Unmarshal([]byte(line), &started) == nil && started.Msg == "started" {
			return node, addresses{api, "http://" + started.Admin, ops}
		}
	}
	t.Fatal("the node did not log its addresses")
	return nil, addresses{}
}

// browser is a signed-in user of the console.
type browser struct {
	*http.Client
	origin string
}

func signIn(t *testing.T, origin string) browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := browser{
		&http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		origin,
	}
	if status := b.post(t, "/login", url.Values{"email": {staffEmail}, "password": {staffPassword}}); status != http.StatusSeeOther {
		t.Fatalf("login: got %d", status)
	}
	return b
}

func (b browser) post(t *testing.T, path string, form url.Values) int {
	t.Helper()
	return b.do(t, http.MethodPost, path, admintest.WithFormKey(form).Encode())
}

// page returns the HTML of a page.
func (b browser) page(t *testing.T, path string) string {
	t.Helper()
	resp, err := b.Get(b.origin + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %d, %v", path, resp.StatusCode, err)
	}
	return string(body)
}

func (b browser) do(t *testing.T, method, path, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.origin+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", b.origin)
	resp, err := b.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// A database is restored to a time before an erasure, in each of the ways in docs/how-to/back-up-and-restore.md.
// Personal data cannot be accessed until the erasure has been replayed. Partners are not affected.
func TestErasuresInRestoredDatabases(t *testing.T) {
	t.Parallel()
	o := newOriginal(t)
	erasedBefore := o.client.deliver(t)
	call(t, "", o.env, "lead", "erase", erasedBefore.id, "--reason", "request", "--yes").ok(t)
	toPoint := o.server.BaseBackup(t, true) // the other leads are only in the archived WAL
	erased, other := o.client.deliver(t), o.client.deliver(t)
	user := signIn(t, o.console)
	for path, form := range map[string]url.Values{
		"/payouts/returns/new":          {"lead": {erased.id}, "reason": {"fraud"}, "evidence": {evidenceText}},
		"/leads/" + erased.id + "/hold": {"reason": {"case 7"}},
	} {
		if status := user.post(t, path, form); status != http.StatusSeeOther {
			t.Fatalf("%s: got %d", path, status)
		}
	}
	o.server.RestorePoint(t, "before the erasure")
	toBackup := o.server.BaseBackup(t, false)
	dump := o.dump(t)
	o.database.Exec(t, `UPDATE legal_holds SET released_at = now(), released_by = 'fay@example.com'`)
	call(t, "", o.env, "lead", "erase", erased.id, "--reason", "request", "--yes").ok(t)

	for name, restore := range map[string]func(t *testing.T) *testkit.Database{
		"dump":          func(t *testing.T) *testkit.Database { return o.restoreDump(t, dump) },
		"base backup":   func(t *testing.T) *testkit.Database { return toBackup(t, "").URLs(t) },
		"point in time": func(t *testing.T) *testkit.Database { return toPoint(t, "before the erasure").URLs(t) },
	} {
		t.Run(name, func(t *testing.T) { o.checkRestored(t, restore(t), erased.id, other.id) })
	}
}

// checkRestored replays the erasure of a lead in a restored database.
func (o *original) checkRestored(t *testing.T, restored *testkit.Database, erased, other string) {
	t.Helper()
	leads := func(condition string) int {
		return testkit.Value[int](t, restored,
			`SELECT count(*) FROM leads l LEFT JOIN lead_keys k ON k.lead_id = l.id WHERE `+condition)
	}
	if n := leads(`l.ciphertext IS NOT NULL AND k.wrapped_key IS NOT NULL`); n != 2 {
		t.Fatalf("got %d complete leads in the restored database, want 2", n)
	}
	env := append(o.env, "PINGPOST_DATABASE_URL="+restored.AppURL)
	node := o.serve(t, env)
	user := signIn(t, node.admin)
	reveal := func(lead string) outcome {
		return call(t, "", env, "lead", "reveal", lead, "--field", "email", "--reason", "legal")
	}

	leadKey, err := id.Parse(id.Lead, other)
	if err != nil {
		t.Fatal(err)
	}
	restored.Exec(t, `UPDATE leads SET partner_reference = 'click-7', sub_id = 'ann-example' WHERE id = $1`, leadKey)
	show := func() leadView { return printed[leadView](t, call(t, "", env, "lead", "show", other, "--json")) }
	if v := show(); v.TransactionID != "hidden" || v.Reference != "hidden" || v.SubID != "hidden" || v.LeadID != other {
		t.Errorf("the command shows %+v", v)
	}
	if o := call(t, "", env, "lead", "show", other); o.code != 0 ||
		!strings.Contains(o.stderr, "pingpost erasures replay") {
		t.Errorf("the command does not say why it hides values: %+v", o)
	}
	const ahead = "unavailable/journal_ahead"
	for _, lead := range []string{erased, other} {
		reveal(lead).rejected(t, ahead)
	}
	call(t, "", env, "lead", "erase", other, "--reason", "legal", "--yes").rejected(t, ahead)
	call(t, "", env, "keys", "rewrap").rejected(t, ahead)
	call(t, "", env, "keys", "reseal").rejected(t, ahead)
	call(t, "", env, "erasures", "verify").rejected(t, ahead)
	for path, form := range map[string]url.Values{
		"/leads/find":                 {"q": {personal}},
		"/leads/" + other + "/reveal": {"field": {"email"}, "reason": {"legal"}, "proof": {staffPassword}},
		"/payouts/exports":            {},
	} {
		if status := user.post(t, path, form); status != http.StatusServiceUnavailable {
			t.Errorf("%s: got %d, want 503", path, status)
		}
	}
	if status := user.do(t, http.MethodGet, "/payouts/ledger.csv", ""); status != http.StatusServiceUnavailable {
		t.Errorf("export: got %d, want 503", status)
	}
	if ready, warning := readiness(t, node.ops); !ready || !strings.Contains(warning, "pingpost erasures replay") {
		t.Errorf("ready is %t with the warning %q", ready, warning)
	}
	partner := o.client
	partner.origin = node.api
	partner.deliver(t)

	// The pages show that data is hidden, and not the data.
	returned := "/payouts/returns/" + id.Format(id.Return, testkit.Value[uuid.UUID](t, restored, `SELECT id FROM returns`))
	hiding := func(path, text string) bool {
		page := user.page(t, path)
		if strings.Contains(page, `data-code="erasable_hidden"`) == strings.Contains(page, text) {
			t.Errorf("%s contains %q and hides it, or neither", path, text)
		}
		return !strings.Contains(page, text)
	}
	for path, text := range map[string]string{returned: evidenceText, "/leads/" + erased: "SW1A", "/leads/" + other: "SW1A"} {
		if !hiding(path, text) {
			t.Errorf("%s contains %q", path, text)
		}
	}

	call(t, "", env, "erasures", "replay").unconfirmed(t, erased, "000000000002.json", "operator")
	if o := call(t, "", env, "erasures", "replay", "--yes"); o.code != 2 || !strings.Contains(o.stderr, "--erase-held") {
		t.Errorf("replay of a lead under a legal hold: got %d %s", o.code, o.stderr)
	}
	for _, want := range []erasure.Replayed{{Entries: 1, Leads: 1, Held: 1}, {}} {
		if done := printed[erasure.Replayed](t, call(t, "", env, "erasures", "replay", "--yes", "--erase-held", "--json")); done != want {
			t.Errorf("replay: got %+v, want %+v", done, want)
		}
	}
	testkit.Eventually(t, patience, "the page of the other lead shows its data again",
		func() bool { return !hiding("/leads/"+other, "SW1A") })
	for path, text := range map[string]string{returned: evidenceText, "/leads/" + erased: "SW1A"} {
		if page := user.page(t, path); strings.Contains(page, text) || strings.Contains(page, `data-code="erasable_hidden"`) {
			t.Errorf("after the replay, %s contains %q, or hides it", path, text)
		}
	}
	reveal(erased).rejected(t, "conflict/erased")
	if n := leads(`l.state = 'erased' AND k.lead_id IS NULL AND num_nonnulls(l.ciphertext, l.iv, l.auth_tag, l.email_digest, l.phone_digest) = 0`); n != 2 {
		t.Errorf("got %d leads without a contact record, want 2", n)
	}
	if v := printed[erasure.Verified](t, call(t, "", env, "erasures", "verify", "--json")); v.Entries != 2 {
		t.Errorf("verify: got %+v, want 2 entries", v)
	}
	if v := show(); !strings.HasPrefix(v.TransactionID, "tx_") || v.Reference != "click-7" || v.SubID != "ann-example" {
		t.Errorf("after the replay, the command shows %+v", v)
	}
	call(t, "", env, "keys", "rewrap").ok(t)
	if got := reveal(other).ok(t); got != personal+"\n" {
		t.Errorf("the other lead: got %q", got)
	}
	if status := user.post(t, "/leads/find", url.Values{"q": {personal}}); status == http.StatusServiceUnavailable {
		t.Error("the search is still closed after the replay")
	}
	partner.deliver(t)
	if ready, warning := readiness(t, o.serve(t, env).ops); !ready || warning != "" {
		t.Errorf("a new node is ready: %t, with the warning %q", ready, warning)
	}
}

// readiness returns the state of a node, and its warning about the erasure journal.
func readiness(t *testing.T, ops string) (ready bool, warning string) {
	t.Helper()
	resp, err := http.Get(ops + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var state struct {
		Ready    bool              `json:"ready"`
		Warnings map[string]string `json:"warnings"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&state); err != nil {
		t.Fatal(err)
	}
	return state.Ready, state.Warnings["erasure_journal"]
}

// Lead keys are backed up separately, as in docs/how-to/back-up-lead-keys.md. Without them, only the
// contact records cannot be read.
func TestLeadKeysAreBackedUpSeparately(t *testing.T) {
	t.Parallel()
	o := newOriginal(t)
	lead, erased := o.client.deliver(t), o.client.deliver(t)
	r := newReader(t, "OWNER_URL="+o.database.OwnerURL, "SUPERUSER_URL="+o.server.SuperuserURL("postgres"),
		"RESTORED_URL="+o.server.SuperuserURL("pingpost_with_keys"))
	r.follow(t, "how-to/back-up-lead-keys.md")
	reveal := func(env []string) outcome {
		return call(t, "", env, "lead", "reveal", lead.id, "--field", "email", "--reason", "legal")
	}

	both := append(o.env,
		"PINGPOST_DATABASE_URL="+strings.Replace(o.database.AppURL, "/pingpost?", "/pingpost_with_keys?", 1))
	if got := reveal(both).ok(t); got != personal+"\n" {
		t.Errorf("with the keys: got %q", got)
	}

	without := o.restoreDump(t, filepath.Join(r.dir, "without-keys.dump"))
	if n := testkit.Value[int](t, without, `SELECT count(*) FROM leads LEFT JOIN lead_keys ON lead_id = id WHERE lead_id IS NULL`); n != 2 {
		t.Fatalf("got %d leads without keys, want 2", n)
	}
	env := append(o.env, "PINGPOST_DATABASE_URL="+without.AppURL)
	node := o.serve(t, env)
	user := signIn(t, node.admin)
	const missing = "unavailable/lead_key_missing"
	reveal(env).rejected(t, missing)
	if status := user.post(t, "/leads/"+lead.id+"/reveal", url.Values{"field": {"email"}, "reason": {"legal"}, "proof": {staffPassword}}); status != http.StatusServiceUnavailable {
		t.Errorf("reveal: got %d, want 503", status)
	}
	if v := printed[leadView](t, call(t, "", env, "lead", "show", lead.id, "--json")); v.Key != "" ||
		v.State != "delivered" {
		t.Errorf("got %+v", v)
	}
	for path, want := range map[string]int{"/leads": http.StatusOK, "/leads/" + lead.id: http.StatusOK, "/payouts/ledger.csv": http.StatusOK} {
		if status := user.do(t, http.MethodGet, path, ""); status != want {
			t.Errorf("%s: got %d, want %d", path, status, want)
		}
	}
	if status := user.post(t, "/leads/find", url.Values{"q": {personal}}); status != http.StatusOK {
		t.Errorf("search: got %d", status)
	}
	partner := o.client
	partner.origin = node.api
	if status, header, answer := partner.send(t, "post", lead.body, true); status != http.StatusConflict ||
		header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the same post again: got %d %s", status, answer)
	}
	added := partner.deliver(t)
	for _, command := range []string{"keys status", "keys rewrap", "keys reseal", "erasures verify", "audit verify", "lead erase " + erased.id + " --reason request --yes"} {
		call(t, "", env, strings.Fields(command)...).ok(t)
	}
	if got := call(t, "", env, "lead", "reveal", added.id, "--field", "email", "--reason", "legal").ok(t); got != personal+"\n" {
		t.Errorf("a new lead: got %q", got)
	}
	if ready, warning := readiness(t, node.ops); !ready || warning != "" {
		t.Errorf("ready is %t with the warning %q", ready, warning)
	}
}

// If the bucket of the erasure journal cannot be used, a node starts, serves partners, and reports the reason. Personal
// data cannot be accessed.
func TestUnusableBucket(t *testing.T) {
	t.Parallel()
	o := newOriginal(t)
	lead := o.client.deliver(t)
	for name, setting := range map[string]string{
		"unreachable":  "PINGPOST_PRIVACY_JOURNAL_ENDPOINT=http://" + testkit.FreeAddress(t),
		"wrong secret": "PINGPOST_PRIVACY_JOURNAL_SECRET_KEY=wrong-secret-of-tests",
		"no bucket":    "PINGPOST_PRIVACY_ERASURE_JOURNAL=s3://no-such-bucket/pingpost",
	} {
		t.Run(name, func(t *testing.T) {
			env := append(o.env, setting)
			process, api, ops := serve(t, env)
			process.until(t, "the node is ready and warns", func() bool {
				ready, warning := readiness(t, ops)
				return ready && strings.Contains(warning, "privacy.erasure_journal")
			})
			partner := o.client
			partner.origin = api
			partner.deliver(t)
			const unavailable = "unavailable/journal_unavailable"
			call(t, "", env, "lead", "reveal", lead.id, "--field", "email", "--reason", "legal").rejected(t, unavailable)
			call(t, "", env, "lead", "erase", lead.id, "--reason", "legal", "--yes").rejected(t, unavailable)
			call(t, "", env, "keys", "rewrap").rejected(t, unavailable)
			if log := process.stdout.String(); strings.Contains(log, "secret-of-tests") ||
				!strings.Contains(log, "erasure journal unusable") {
				t.Errorf("log: %s", log)
			}
		})
	}
}

// dump dumps the database and returns the file.
func (o *original) dump(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pingpost.dump")
	execute(t, "pg_dump", o.database.OwnerURL, "--format=custom", "--file="+file)
	return file
}

// restoreDump restores dumps as a new database.
func (o *original) restoreDump(t *testing.T, files ...string) *testkit.Database {
	t.Helper()
	restored := o.server.NewEmptyDatabase(t, "restored")
	for _, file := range files {
		execute(t, "pg_restore", "--dbname="+restored.RootURL, "--exit-on-error", file)
	}
	return restored
}

func execute(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
}

// The key of the erasure journal moves to a new platform key together with everything else. The fingerprint that
// the warnings show stays the same.
func TestJournalKeyIsReplaced(t *testing.T) {
	t.Parallel()
	o := newOriginal(t)
	const setting = "privacy.erasure_journal_fingerprint"
	predicted := fingerprintIn(call(t, "", o.env, "config", "check").ok(t), setting)
	call(t, "", o.env, "lead", "erase", o.client.deliver(t).id, "--reason", "request", "--yes").ok(t)
	verify := func(env []string, entries int64) erasure.Verified {
		t.Helper()
		v := printed[erasure.Verified](t, call(t, "", env, "erasures", "verify", "--json"))
		if v.Entries != entries || v.Fingerprint != predicted {
			t.Errorf("got %+v, want %d entries and the fingerprint %q", v, entries, predicted)
		}
		return v
	}
	verify(o.env, 1)
	signs := func(env []string) string {
		t.Helper()
		for _, key := range printed[statusView](t, call(t, "", env, "keys", "status", "--json")).Platform {
			if key.Journal {
				return key.ID
			}
		}
		return ""
	}
	both := append(o.env, "PINGPOST_PLATFORM_KEYS="+newKey+","+oldKey)
	before := signs(both)
	if before == "" || before != signs(o.env) {
		t.Errorf("before: the journal is signed with %q", before)
	}
	for range 2 {
		call(t, "", both, "keys", "reseal").ok(t)
	}
	verify(both, 2)
	if after := signs(both); after == "" || after == before {
		t.Errorf("after: the journal is signed with %q", after)
	}
	if missing := call(t, "", o.env, "keys", "status"); missing.code != 1 ||
		!strings.Contains(missing.stderr, "erasure journal") {
		t.Errorf("without the new platform key: got %d %s", missing.code, missing.stderr)
	}

	alone := append(o.env, "PINGPOST_PLATFORM_KEYS="+newKey)
	for name, tt := range map[string]struct {
		env  []string
		want string
	}{"old and new platform key": {both, predicted}, "new platform key": {alone, ""}} {
		node, _ := serveReady(t, tt.env)
		for place, text := range map[string]string{"config check": call(t, "", tt.env, "config", "check").ok(t), "serve": node.stdout.String()} {
			if !strings.Contains(text, setting) || fingerprintIn(text, setting) != tt.want {
				t.Errorf("%s, %s: got the fingerprint %q, want %q", name, place, fingerprintIn(text, setting), tt.want)
			}
		}
	}
	configured := append(both, "PINGPOST_PRIVACY_ERASURE_JOURNAL_FINGERPRINT="+predicted)
	if text := call(t, "", configured, "config", "check").ok(t); strings.Contains(text, setting) {
		t.Errorf("with the fingerprint: %s", text)
	}
	verify(configured, 2)
}

// fingerprintIn returns the fingerprint in the line about a setting, or "" if the line has none. Other lines of a log
// can contain the IDs of keys, which look the same.
func fingerprintIn(text, setting string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, setting) {
			return regexp.MustCompile(`[0-9a-f]{64}`).FindString(line)
		}
	}
	return ""
}
