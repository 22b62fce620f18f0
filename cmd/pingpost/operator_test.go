package main

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// platform is a running `pingpost dev` whose data folder other commands can use.
type platform struct {
	*development
	dir string
}

// on runs a command against the platform.
func (p *platform) on(t *testing.T, args ...string) outcome {
	t.Helper()
	return pingpost(t, append(args, "--data-dir", p.dir)...)
}

// printed decodes the output of a command with --json.
func printed[T any](t *testing.T, o outcome) T {
	t.Helper()
	var v T
	d := json.NewDecoder(strings.NewReader(o.ok(t)))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, o.stdout)
	}
	return v
}

// TestOperator uses commands to onboard a partner, change its secrets and suspend it. The running
// node must apply each change.
func TestOperator(t *testing.T) {
	t.Parallel()
	p := &platform{dir: filepath.Join(folder(t), "data")}
	p.development = startDev(t, []string{"PINGPOST_RETENTION_CONTACT_DAYS=3650", "PINGPOST_RETENTION_CONTACT_DAYS_BY_COUNTRY=DE=300"}, "--data-dir", p.dir)
	t.Run("partners", func(t *testing.T) { partnerCommands(t, p) })
	t.Run("secrets", func(t *testing.T) { secretCommands(t, p) })
	t.Run("suspension", func(t *testing.T) { suspension(t, p) })
	t.Run("rejections", func(t *testing.T) { operatorRejections(t, p) })
	t.Run("next steps", func(t *testing.T) { nextSteps(t, p) })
	t.Run("leads", func(t *testing.T) { leadCommands(t, p) })
	t.Run("missing keys", func(t *testing.T) { keysStatusReportsMissingKeys(t, p) })
	t.Run("keys verify", func(t *testing.T) { keysVerifyFindsDamage(t, p) })
	t.Run("missing journal key", func(t *testing.T) { keysStatusReportsMissingJournalKey(t, p) })
	t.Run("evidence", func(t *testing.T) { evidenceCommands(t, p) })
	t.Run("people", func(t *testing.T) { personCommands(t, p) })
	t.Run("retention", func(t *testing.T) { retentionCommands(t, p) })
	t.Run("staff", func(t *testing.T) { staffCommands(t, p) })
	t.Run("audit", func(t *testing.T) { auditCommands(t, p) })
	t.Run("serve", func(t *testing.T) { serving(t, p) })
	if code := p.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
	p.on(t, "partner", "list").fails(t, 1, p.dir)
}

func partnerCommands(t *testing.T, p *platform) {
	made := printed[partnerView](t,
		p.on(t, "partner", "create", "northgate", "--name", "Northgate Ltd", "--signing", "required", "--json"))
	if !strings.HasPrefix(made.ID, "pt_") || made.Slug != "northgate" || made.Name != "Northgate Ltd" ||
		made.Status != "pending" || made.Signing != "required" || !made.SharedBaseURL {
		t.Errorf("created %+v", made)
	}
	first := printed[accountView](t, p.on(t, "account", "create", "northgate", "northgate-web", "--json"))
	second := printed[accountView](t,
		p.on(t, "account", "create", made.ID, "northgate-trial", "--name", "Trial", "--sandbox", "--signing", "off", "--json"))
	if !first.Default || first.Sandbox || first.PartnerID != "northgate-web" || first.Name != "northgate-web" ||
		first.Signing != "inherit" || first.Partner != "northgate" {
		t.Errorf("created %+v", first)
	}
	if second.Default || !second.Sandbox || second.Name != "Trial" || second.Signing != "off" ||
		!strings.HasPrefix(second.ID, "ac_") {
		t.Errorf("created %+v", second)
	}
	accounts := printed[[]accountView](t, p.on(t, "account", "list", made.ID, "--json"))
	if len(accounts) != 2 || accounts[0] != first || accounts[1] != second || first.Status != "active" {
		t.Errorf("listed %+v", accounts)
	}
	if table := p.on(t, "account", "list", "northgate").ok(t); !strings.Contains(table, "PARTNER_ID") ||
		strings.Join(strings.Fields(strings.Split(table, "\n")[2]), " ") != "northgate-trial Trial no yes active off "+second.ID {
		t.Errorf("printed %s", table)
	}
	secret := printed[secretView](t, p.on(t, "secret", "create", "northgate", "--label", "first", "--json"))
	if secret.Secret == "" || secret.Label != "first" || secret.State != "active" ||
		!strings.HasSuffix(secret.Secret, strings.Split(secret.Hint, "…")[1]) {
		t.Errorf("created %+v", secret)
	}
	north := client{p.APIURL, "northgate", secret.Secret}
	if out := p.on(t, "partner", "approve", "northgate").ok(t); !strings.HasPrefix(out, "northgate ") ||
		strings.Count(out, "\n") != 1 {
		t.Errorf("printed %q", out)
	}
	p.follows(t, north, http.StatusOK)
	north.deliver(t)

	list := printed[[]partnerView](t, p.on(t, "partner", "list", "--json"))
	if len(list) != 4 || list[2].Slug != "northgate" || list[2].Status != "approved" || list[2].Accounts != 2 ||
		list[2].ActiveSecrets != 1 {
		t.Errorf("listed %+v", list)
	}
	table := p.on(t, "partner", "list").ok(t)
	for _, want := range []string{"SLUG", "STATUS", "northgate", "harbour-leads", "meadow-media", "tinker-forms", made.ID} {
		if !strings.Contains(table, want) {
			t.Errorf("%s is not in the table: %s", want, table)
		}
	}
	if strings.Contains(table, "platform") {
		t.Errorf("the platform account is listed: %s", table)
	}
}

// follows waits until the node prices the partner's pings and responds to its posts with the given
// status.
func (p *platform) follows(t *testing.T, c client, status int) {
	t.Helper()
	testkit.Eventually(t, patience, "the node applies the change", func() bool {
		code, _, answer := c.send(t, "ping", `{"industry":"plumber","postcode":"1"}`, false)
		if code != http.StatusOK || !strings.Contains(answer, `"accepted":true`) {
			return false
		}
		got, _, _ := c.send(t, "post", c.prepare(t), true)
		return got == status
	})
}

func secretCommands(t *testing.T, p *platform) {
	const imported = "quillfeather-0123456789-quillfeather"
	old := printed[[]secretView](t, p.on(t, "secret", "list", "northgate", "--json"))
	existing := printed[secretView](t,
		call(t, imported+"\n", nil, "secret", "import", "northgate", "--label", "theirs", "--json", "--data-dir", p.dir))
	if existing.Secret != "" || existing.Label != "theirs" || strings.Contains(existing.Hint, "quill") {
		t.Errorf("imported %+v", existing)
	}
	north := client{p.APIURL, "northgate", imported}
	p.follows(t, north, http.StatusOK)

	rotated := printed[secretView](t, p.on(t, "secret", "rotate", "northgate", "--overlap", "1h", "--json"))
	renewed := client{p.APIURL, "northgate", rotated.Secret}
	p.follows(t, renewed, http.StatusOK)
	north.deliver(t) // within the overlap
	p.on(t, "secret", "rotate", "northgate").rejected(t, "conflict/overlap")

	states := map[string]string{}
	for _, s := range printed[[]secretView](t, p.on(t, "secret", "list", "northgate", "--json")) {
		states[s.ID] = s.State
		if s.Secret != "" {
			t.Errorf("the list contains a secret's value: %+v", s)
		}
	}
	if len(states) != 3 || states[old[0].ID] != "expiring" || states[existing.ID] != "expiring" || states[rotated.ID] != "active" {
		t.Errorf("got states %v", states)
	}
	table := p.on(t, "secret", "list", "northgate").ok(t)
	if strings.Contains(table, imported) || strings.Contains(table, rotated.Secret) ||
		!strings.Contains(table, existing.ID) || !strings.Contains(table, "theirs") {
		t.Errorf("listed %s", table)
	}
	p.on(t, "secret", "expire", "northgate", old[0].ID, "--in", "0s").ok(t)
	p.on(t, "secret", "expire", "northgate", old[0].ID, "--in", "1h").rejected(t, "conflict/secret_expired")
	later := p.on(t, "secret", "expire", "northgate", existing.ID, "--in", "3d").ok(t)
	if !strings.HasPrefix(later, existing.ID+" ") {
		t.Errorf("printed %s", later)
	}
	for _, s := range printed[[]secretView](t, p.on(t, "secret", "list", "northgate", "--json")) {
		if s.ID == old[0].ID && s.State != "expired" ||
			s.ID == existing.ID && (s.State != "expiring" || s.ExpiresAt.Before((clock.System{}).Now().Add(71*time.Hour))) {
			t.Errorf("%s is %s until %s", s.Label, s.State, s.ExpiresAt)
		}
	}
	body := north.prepare(t)
	p.on(t, "secret", "revoke", "northgate", existing.ID).ok(t)
	if status, _, answer := north.send(t, "post", body, true); status != http.StatusUnauthorized {
		t.Errorf("post with a revoked secret: got %d %s", status, answer)
	}
	p.on(t, "secret", "revoke", "northgate", existing.ID).rejected(t, "conflict/secret_revoked")
	renewed.deliver(t)

	shown := p.on(t, "secret", "create", "northgate").ok(t)
	plain, rest, _ := strings.Cut(shown, "\n")
	if !strings.HasPrefix(plain, "pp_") || strings.Contains(rest, "pp_") {
		t.Errorf("printed %s", shown)
	}
	p.follows(t, client{p.APIURL, "northgate", plain}, http.StatusOK)
}

// suspension suspends a partner. The node must reject posts that are sent right after the command.
func suspension(t *testing.T, p *platform) {
	c := p.partner(0)
	bodies := []string{c.prepare(t), c.prepare(t)}
	p.on(t, "partner", "suspend", c.slug).ok(t)
	for _, body := range bodies {
		if status, _, answer := c.send(t, "post", body, true); status != http.StatusForbidden {
			t.Errorf("got %d %s", status, answer)
		}
	}
	testkit.Eventually(t, patience, "prices are paused", func() bool {
		_, _, answer := c.send(t, "ping", `{"industry":"plumber","postcode":"1"}`, false)
		return strings.Contains(answer, `"reason":"paused"`)
	})
	p.on(t, "partner", "approve", c.slug).ok(t)
	p.follows(t, c, http.StatusOK)
}

func operatorRejections(t *testing.T, p *platform) {
	slug := p.Partners[0].Slug
	const noSecret = "sk_00000000000000000000000000"
	for _, c := range []struct {
		args []string
		code string
	}{
		{[]string{"partner", "create", slug}, "conflict/slug_taken"},
		{[]string{"partner", "create", "Not A Slug"}, "invalid/slug_form"},
		{[]string{"partner", "create", "new", "--signing", "sometimes"}, "invalid/signing_mode"},
		{[]string{"account", "list", "unknown"}, "not_found/partner"},
		{[]string{"partner", "approve", "unknown"}, "not_found/partner"},
		{[]string{"account", "create", slug, p.Partners[1].Accounts[0].PartnerID}, "conflict/identifier_taken"},
		{[]string{"account", "create", slug, strings.ToUpper(p.Partners[1].Accounts[0].PartnerID)}, "conflict/identifier_taken"},
		{[]string{"account", "create", slug, "not a partnerId"}, "invalid/identifier_form"},
		{[]string{"account", "create", "unknown", "some"}, "not_found/partner"},
		{[]string{"secret", "create", "unknown"}, "not_found/partner"},
		{[]string{"secret", "import", slug}, "invalid/secret_form"},
		{[]string{"secret", "rotate", slug, "--overlap", "-1h"}, "invalid/overlap"},
		{[]string{"secret", "expire", slug, noSecret, "--in", "1h"}, "not_found/secret"},
		{[]string{"secret", "revoke", slug, noSecret}, "not_found/secret"},
		{[]string{"secret", "revoke", slug, "nonsense"}, "not_found/secret"},
	} {
		p.on(t, c.args...).rejected(t, c.code)
	}
	for _, c := range []struct {
		args  []string
		names string
	}{
		{[]string{"partner", "create"}, "partner create --help"},
		{[]string{"partner", "create", "new", "leads"}, "partner create --help"},
		{[]string{"account", "list"}, "account list --help"},
		{[]string{"partner", "suspend"}, "partner suspend --help"},
		{[]string{"secret", "rotate", slug, "--overlap", "99999h"}, "--overlap"},
		{[]string{"secret", "rotate", slug, "--overlap", "3 days"}, "--overlap"},
		{[]string{"secret", "expire", slug, noSecret}, "--in"},
		{[]string{"secret", "revoke", slug}, "secret revoke --help"},
	} {
		p.on(t, c.args...).fails(t, 2, c.names)
	}
	taken := call(t, p.Partners[1].Secret, nil, "secret", "import", slug, "--data-dir", p.dir)
	taken.rejected(t, "conflict/secret_known")
	if strings.Contains(taken.stderr, p.Partners[1].Secret) {
		t.Error("the secret is in the message")
	}
	for _, args := range [][]string{{"partner", "list"}, {"migrate", "status"}} {
		pingpost(t, args...).fails(t, 1, "database.url", "PINGPOST_DATABASE_URL", "--data-dir")
	}
	pingpost(t, "partner", "list", "--data-dir", filepath.Join(p.dir, "nowhere")).fails(t, 1,
		filepath.Join(p.dir, "nowhere"), "PINGPOST_DATABASE_URL")
}

// TestUsage checks that usage errors have exit code 2 and refer to --help.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args  string
		names []string
	}{
		{"frobnicate", []string{`"frobnicate"`, "`pingpost --help`"}},
		{"--frobnicate", []string{"--frobnicate"}},
		{"lst", []string{"`pingpost --help`"}},
		{"parnter list", []string{"`pingpost partner`"}},
		{"partner lst", []string{"`pingpost partner list`"}},
		{"partner list --jsn", []string{"did you mean --json?"}},
		{"serve --confg x", []string{"did you mean --config?"}},
		{"completion", []string{"bash"}},
		{"completion tcsh", []string{"completion"}},
		{"partner frobnicate", []string{`"frobnicate"`, "`pingpost partner --help`"}},
		{"partner frobnicate --data-dir .pingpost", []string{`"frobnicate"`, "`pingpost partner --help`"}},
		{"frobnicate --data-dir .pingpost", []string{`"frobnicate"`, "`pingpost --help`"}},
		{"partner --frobnicate", []string{"--frobnicate"}},
		{"partner list extra", []string{"`pingpost partner list --help`"}},
		{"migrate up extra", []string{"`pingpost migrate up --help`"}},
		{"migrate status extra", []string{"`pingpost migrate status --help`"}},
		{"config check extra", []string{"`pingpost config check --help`"}},
		{"config show extra", []string{"`pingpost config show --help`"}},
		{"serve extra", []string{"`pingpost serve --help`"}},
		{"dev extra", []string{"`pingpost dev --help`"}},
		{"sign extra", []string{"`pingpost sign --help`"}},
		{"secret list", []string{"`pingpost secret list --help`"}},
	} {
		pingpost(t, strings.Fields(c.args)...).fails(t, 2, append(c.names, "--help")...)
	}
	for _, args := range []string{"", "--help", "partner", "help secret", "dev --help"} {
		if out := pingpost(t, strings.Fields(args)...).ok(t); !strings.Contains(out, "Usage:") {
			t.Errorf("pingpost %s prints %s", args, out)
		}
	}
	for _, args := range []string{"dev --help", "partner list --help", "serve --help"} {
		if out := pingpost(t, strings.Fields(args)...).ok(t); !strings.Contains(out, "--config FILE ") ||
			strings.HasPrefix(args, "serve") == strings.Contains(out, "--data-dir DIR ") {
			t.Errorf("pingpost %s prints %s", args, out)
		}
	}
}

// TestSign signs the example from the API documentation.
func TestSign(t *testing.T) {
	t.Parallel()
	const body = `{"transactionId":"tx_AQEBm3yb0457W5zLPo0AalIwyHR5zWVufjrWvY20AugCffRUsrDEL_KeCTRYvrmKI9SsnmHVTraWfiEsBqqxVAgpL4VYxI8G","contact":{"email":"jo.bloggs@example.org"},"consent":{"acknowledged":true}}`
	secret := []string{"PINGPOST_SECRET=example-secret-never-use-this-one"}
	const want = "X-Timestamp: 1767322290\nX-Signature-SHA256: 80caeb6b7f18a20e6fd91cb2022dfdb0681793119a2b81219a7c6d087161db8c\n"
	if out := call(t, body, secret, "sign", "--timestamp", "1767322290").ok(t); out != want {
		t.Errorf("printed %s", out)
	}
	call(t, body, nil, "sign").fails(t, 2, "PINGPOST_SECRET")
	call(t, body, secret, "sign", "--url", "http://127.0.0.1:1/api/lead/post").fails(t, 1, "127.0.0.1:1")
	call(t, body, secret, "sign", "--url", ":").fails(t, 2, "--url")
}
