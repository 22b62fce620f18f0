package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/pingpost/pingpost/internal/devvault"
	"github.com/pingpost/pingpost/internal/testkit"
)

// script is the commands of a page, in the order of the page: its blocks of shell.
func script(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		all.WriteString(block[1])
	}
	if all.Len() == 0 {
		t.Fatalf("%s has no commands", page)
	}
	return all.String()
}

// The commands of docs/vault.md prepare a bare Vault, and what they make lets a
// role do its own and nothing else.
func TestVaultIsPreparedAsThePageSays(t *testing.T) {
	t.Parallel()
	v := testkit.NewBareVault(t)
	run := exec.Command("bash", "-euc", script(t, "vault.md"))
	run.Env = environ("VAULT_ADDR="+v.Address, "VAULT_TOKEN="+v.RootToken)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, part := range []string{`"role_id":"`, `"secret_id":"`} {
		if !strings.Contains(string(out), part) {
			t.Errorf("it prints no %s: %s", part, out)
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
	// What dev and the tests work with is what the page makes.
	other := testkit.NewVault(t)
	words := regexp.MustCompile(`path "[^"]+"|capabilities = \[[^\]]*\]`)
	for _, role := range []string{devvault.Serve, devvault.Rewrap, devvault.Rotate} {
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
	} {
		if settings := made("auth/approle/role/" + role); !strings.Contains(settings, "token_no_default_policy:true") || !strings.Contains(settings, "["+policy+"]") {
			t.Errorf("%s: %s", role, settings)
		}
	}
	if mount := made("sys/auth/approle/tune"); !strings.Contains(mount, "user_lockout_disable:true") {
		t.Errorf("the mount: %s", mount)
	}
	if key := made("transit/keys/pingpost-leads"); !strings.Contains(key, "exportable:false") ||
		!strings.Contains(key, "type:aes256-gcm96") {
		t.Errorf("the key: %s", key)
	}
}

// A data folder that began on the local key goes on with Vault: no lead is lost,
// whichever comes and goes.
func TestFromTheLocalKeyToVaultAndOn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(folder(t), "data")
	keys := func(command string) string { return pingpost(t, "keys", command, "--data-dir", dir).ok(t) }

	d := startDev(t, nil, "--data-dir", dir)
	first := d.partner(0).deliver(t)
	if d.KeyWrapper != "local" {
		t.Errorf("the ready file says %q", d.KeyWrapper)
	}
	d.stop(t, syscall.SIGTERM)

	d = startDev(t, nil, "--data-dir", dir, "--vault")
	if d.KeyWrapper != "vault" {
		t.Errorf("the ready file says %q", d.KeyWrapper)
	}
	second := d.partner(0).deliver(t)
	status := keys("status")
	if !regexp.MustCompile(`(?m)^local +[0-9a-f]{8} +1 +$`).MatchString(status) ||
		!regexp.MustCompile(`(?m)^vault +v1 +1 +writes$`).MatchString(status) {
		t.Errorf("status:\n%s", status)
	}
	if said := keys("rewrap"); said != "1 leads moved to vault v1\n" {
		t.Errorf("rewrap: %s", said)
	}
	keys("rotate")
	if said := keys("rewrap"); said != "2 leads moved to vault v2\n" {
		t.Errorf("rewrap after the rotation: %s", said)
	}
	d.stop(t, syscall.SIGTERM)

	d = startDev(t, nil, "--data-dir", dir, "--vault") // Vault's own memory is gone; its key is not
	if status := keys("status"); !regexp.MustCompile(`(?m)^vault +v2 +2 +writes$`).MatchString(status) ||
		strings.Contains(status, "local") {
		t.Errorf("status at the end:\n%s", status)
	}
	// Resealing opens each record: all of them are readable.
	if said := keys("reseal"); !strings.HasPrefix(said, "0 signing secrets moved") {
		t.Errorf("reseal: %s", said)
	}
	for _, l := range []lead{first, second} {
		status, header, answer := d.partner(0).send(t, "post", l.body, true)
		if status != 200 || header.Get("Idempotent-Replayed") != "true" || member(t, answer, "leadId") != l.id {
			t.Errorf("a retry is answered %d %s", status, answer)
		}
	}
	d.stop(t, syscall.SIGTERM)

	d = startDev(t, nil, "--data-dir", dir) // without Vault: the node says what it lacks
	if pingpost(t, "keys", "rotate", "--data-dir", dir).fails(t, 1, "vault.address"); !strings.Contains(d.stderr.String(), "vault v2") {
		t.Errorf("the log does not tell of the leads that cannot be read: %s", d.stderr.String())
	}
}
