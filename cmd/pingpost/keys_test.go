package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// The commands in docs/how-to/prepare-vault.md prepare a new Vault with the same policies as devvault.
func TestDocumentedVaultSetup(t *testing.T) {
	t.Parallel()
	v := testkit.NewBareVault(t)
	run := exec.Command("bash", "-euc", script(t, "how-to/prepare-vault.md"))
	run.Env = environ("VAULT_ADDR="+v.Address, "VAULT_TOKEN="+v.RootToken)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, part := range []string{`"role_id":"`, `"secret_id":"`} {
		if !strings.Contains(string(out), part) {
			t.Errorf("%s is not in the output: %s", part, out)
		}
	}
	made := func(path string) string {
		t.Helper()
		read, err := v.Root.Logical().ReadWithContext(t.Context(), path)
		if err != nil || read == nil {
			t.Fatalf("%s: %v", path, err)
		}
		return fmt.Sprint(read.Data)
	}
	// The policies must be the same as in dev and the tests.
	other := testkit.NewVault(t)
	words := regexp.MustCompile(`path "[^"]+"|capabilities = \[[^\]]*\]|allowed_parameters = \{[^}]*\}`)
	for _, role := range []string{devvault.Serve, devvault.Read, devvault.Rewrap, devvault.Rotate, devvault.Expire} {
		theirs, err := other.Root.Logical().ReadWithContext(t.Context(), "sys/policies/acl/"+role)
		if err != nil {
			t.Fatal(err)
		}
		got, want := words.FindAllString(made("sys/policies/acl/"+role), -1), words.FindAllString(fmt.Sprint(theirs.Data), -1)
		if len(want) == 0 || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", role, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for role, policy := range map[string]string{
		"pingpost-node-1": devvault.Serve,
		"pingpost-node-2": devvault.Serve,
		devvault.Rewrap:   devvault.Rewrap,
		devvault.Rotate:   devvault.Rotate,
		devvault.Expire:   devvault.Expire,
	} {
		if settings := made("auth/approle/role/" + role); !strings.Contains(settings, "token_no_default_policy:true") || !strings.Contains(settings, "["+policy+"]") {
			t.Errorf("%s: %s", role, settings)
		}
	}
	if mount := made("sys/auth/approle/tune"); !strings.Contains(mount, "user_lockout_disable:true") {
		t.Errorf("got the mount %s", mount)
	}
	if key := made("transit/keys/pingpost-leads"); !strings.Contains(key, "exportable:false") ||
		!strings.Contains(key, "type:aes256-gcm96") {
		t.Errorf("got the key %s", key)
	}
}

// No lead is lost when a data folder changes from the local key to Vault and back.
func TestLeadsSurviveKeyWrapperChanges(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(folder(t), "data")
	keys := func(command string) string { return pingpost(t, "keys", command, "--data-dir", dir).ok(t) }

	d := startDev(t, nil, "--data-dir", dir)
	first := d.partner(0).deliver(t)
	if d.KeyWrapper != "local" {
		t.Errorf("got the key wrapper %q", d.KeyWrapper)
	}
	d.stop(t, syscall.SIGTERM)

	d = startDev(t, nil, "--data-dir", dir, "--vault")
	if d.KeyWrapper != "vault" {
		t.Errorf("got the key wrapper %q", d.KeyWrapper)
	}
	second := d.partner(0).deliver(t)
	status := keys("status")
	if !regexp.MustCompile(`(?m)^local +[0-9a-f]{8} +1 +yes +$`).MatchString(status) ||
		!regexp.MustCompile(`(?m)^vault +v1 +1 +yes +writes$`).MatchString(status) {
		t.Errorf("status:\n%s", status)
	}
	if out := keys("rewrap"); out != "1 lead moved to vault v1\n" {
		t.Errorf("rewrap: %s", out)
	}
	keys("rotate")
	if out := keys("rewrap"); out != "2 leads moved to vault v2\n" {
		t.Errorf("rewrap after the rotation: %s", out)
	}
	d.stop(t, syscall.SIGTERM)

	d = startDev(t, nil, "--data-dir", dir, "--vault") // a new Vault, into which the key is restored
	if status := keys("status"); !regexp.MustCompile(`(?m)^vault +v2 +2 +yes +writes$`).MatchString(status) ||
		!regexp.MustCompile(`(?m)^local +[0-9a-f]{8} +0 +yes +$`).MatchString(status) {
		t.Errorf("status at the end:\n%s", status)
	}
	// Resealing decrypts each lead, so it fails if any lead cannot be read.
	if out := keys("reseal"); !strings.HasPrefix(out, "0 signing secrets moved") {
		t.Errorf("reseal: %s", out)
	}
	for _, l := range []lead{first, second} {
		status, header, answer := d.partner(0).send(t, "post", l.body, true)
		if status != 200 || header.Get("Idempotent-Replayed") != "true" || member(t, answer, "leadId") != l.id {
			t.Errorf("retry: got %d %s", status, answer)
		}
	}
	d.stop(t, syscall.SIGTERM)

	d = startDev(t, nil, "--data-dir", dir) // without Vault, the node logs which keys are missing
	if pingpost(t, "keys", "rotate", "--data-dir", dir).fails(t, 1, "vault.address"); !strings.Contains(d.stderr.String(), "vault v2") {
		t.Errorf("the missing keys are not in the log: %s", d.stderr.String())
	}
}

// A node whose key is not registered is not ready. When the key has been registered, the node becomes ready without a
// restart.
func TestKeysIntroduce(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	node, first := serveReady(t, onDatabase(d.AppURL))
	env := slices.Clip(append(onDatabase(d.AppURL), "LEAD_VAULT_KEK="+nextKEK))
	other, _, otherOps := serve(t, env)
	other.until(t, "the second node is not ready", func() bool {
		return strings.Contains(shell(t, "curl -sS "+otherOps+"/readyz"), "is not registered")
	})
	call(t, "", env, "keys", "rewrap").fails(t, 1, "is not registered", "pingpost keys introduce")
	count := func(sql string) int { t.Helper(); return testkit.Value[int](t, d, sql) }
	const registered, audited = `SELECT count(*) FROM wrapping_keys`, `SELECT count(*) FROM audit_events WHERE action = 'keys.introduce'`
	away := append(env, "PINGPOST_VAULT_ADDRESS=http://127.0.0.1:1", "PINGPOST_VAULT_ROLE_ID=role", "PINGPOST_VAULT_SECRET_ID=secret",
		"PINGPOST_KEYS_WRITE_WITH=vault")
	call(t, "", away, "keys", "introduce").fails(t, 1, "does not work")
	call(t, "", append(env, "LEAD_VAULT_KEK="), "keys", "introduce").fails(t, 1, "LEAD_VAULT_KEK")
	if n := count(registered); n != 1 || count(audited) != 0 {
		t.Errorf("got %d registered keys and %d audit events, want 1 and 0", n, count(audited))
	}
	if out := call(t, "", env, "keys", "introduce").ok(t); !regexp.MustCompile(`^Registered local [0-9a-f]{8}\n$`).MatchString(out) {
		t.Errorf("introduce: %s", out)
	}
	other.until(t, "the second node is ready", ready200(otherOps))
	if out := call(t, "", env, "keys", "introduce").ok(t); !strings.HasSuffix(out, " is already registered\n") {
		t.Errorf("introduce again: %s", out)
	}
	if n := count(registered); n != 2 || count(audited) != 1 {
		t.Errorf("got %d registered keys and %d audit events, want 2 and 1", n, count(audited))
	}
	node.until(t, "the first node is still ready", ready200(first.ops))
}
