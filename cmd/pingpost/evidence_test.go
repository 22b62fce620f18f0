package main

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/devstack"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/evidence/pack"
)

// publishEvidenceKey creates a new evidence key, and returns the public keys when the node publishes it.
func (p *platform) publishEvidenceKey(t *testing.T) (keys string) {
	t.Helper()
	out := strings.Fields(p.on(t, "evidence", "rotate-key").ok(t))
	kid := out[len(out)-1]
	testkit.Eventually(t, patience, "the key is published", func() bool {
		answer, err := http.Get(p.APIURL + pack.KeyPath)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		keys = string(text)
		return strings.Contains(keys, kid)
	})
	return keys
}

// evidenceNeedsNoListeners creates a pack with the settings of a machine on which no node runs. A pack names the
// public URL, so this setting is required.
func (p *platform) evidenceNeedsNoListeners(t *testing.T, lead, file string) {
	t.Helper()
	running, err := devstack.ReadRunning(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	settings := []string{"PINGPOST_PRIVACY_ERASURE_JOURNAL=" + running.ErasureJournal}
	for _, setting := range p.production(t) {
		if !strings.HasPrefix(setting, "PINGPOST_HTTP_") {
			settings = append(settings, setting)
		}
	}
	o := call(t, "", settings, "evidence", "create", lead, "--output", file)
	if o.fails(t, 1, "http.public_url"); strings.Count(o.stderr, "http.") != 1 {
		t.Errorf("more settings are required: %s", o.stderr)
	}
	call(t, "", append(settings, "PINGPOST_HTTP_PUBLIC_URL=https://leads.example.com"), "evidence", "create", lead, "--output", file).ok(t)
	if original := unzip(t, file)["evidence.json"]; !strings.Contains(original, `"platform":"https://leads.example.com"`) {
		t.Errorf("the pack does not name the public URL: %s", original)
	}
}

// evidenceCommands creates and verifies evidence packs.
func evidenceCommands(t *testing.T, p *platform) {
	delivered := p.partner(1).deliver(t)
	dir, url := folder(t), p.APIURL+pack.KeyPath
	file := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, content string) string {
		t.Helper()
		if err := os.WriteFile(file(name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file(name)
	}
	published := p.publishEvidenceKey(t)
	keys := write("keys.json", published)
	create := func(name string, more ...string) outcome {
		return p.on(t, append([]string{"evidence", "create", delivered.id, "--output", file(name)}, more...)...)
	}
	verify := func(name string, more ...string) outcome {
		return pingpost(t, append([]string{"evidence", "verify", name}, more...)...)
	}

	create("evidence.zip").ok(t)
	for _, source := range []string{url, keys, p.AdminURL + pack.KeyPath} {
		v := printed[verifiedView](t, verify(file("evidence.zip"), "--key", source, "--json"))
		if v.LeadID != delivered.id || v.Contact || !strings.Contains(published, v.Key) {
			t.Errorf("got %+v", v)
		}
	}
	verify(file("evidence.zip"), "--key", keys).ok(t)

	p.evidenceNeedsNoListeners(t, delivered.id, file("direct.zip"))

	create("evidence.zip").fails(t, 1, "exists")
	create("x.zip", "--contact").rejected(t, "conflict/not_revealed")
	create("x.zip", "--return", "rt_00000000000000000000000001").rejected(t, "not_found/return")
	create("x.zip", "--return", "nonsense").fails(t, 2, "rt_")
	p.on(t, "evidence", "create", "ld_00000000000000000000000000", "--output", file("x.zip")).rejected(t, "not_found/lead")
	p.on(t, "evidence", "create", delivered.id).fails(t, 2, "--output")
	if _, err := os.Stat(file("x.zip")); err == nil {
		t.Error("a failed command leaves a file behind")
	}
	p.on(t, "lead", "reveal", delivered.id, "--field", "email", "--reason", "legal").ok(t)
	create("contact.zip", "--contact").ok(t)
	if v := printed[verifiedView](t, verify(file("contact.zip"), "--key", keys, "--json")); !v.Contact {
		t.Errorf("got %+v", v)
	}
	content, err := os.ReadFile(file("contact.zip"))
	if err != nil || !bytes.Contains(content, []byte(personal)) {
		t.Errorf("the pack does not contain the revealed field (%v)", err)
	}

	verify(file("evidence.zip")).fails(t, 2, "--key")
	verify(file("missing.zip"), "--key", keys).fails(t, 1, "missing.zip")
	verify(file("evidence.zip"), "--key", write("none.json", `{"keys":[]}`)).rejected(t, "invalid/unknown_key")
	verify(file("evidence.zip"), "--key", write("other.json", `{}`)).rejected(t, "invalid/public_keys")
	verify(file("evidence.zip"), "--key", "http://192.0.2.1"+pack.KeyPath).rejected(t, "invalid/public_keys")
	verify(file("evidence.zip"), "--key", p.APIURL+"/nowhere").fails(t, 1, "404")
	content[len(content)/3] ^= 1
	verify(write("changed.zip", string(content)), "--key", keys).rejected(t, "invalid/file_changed")
	verify(write("empty.zip", ""), "--key", keys).rejected(t, "invalid/not_a_pack")
	verify(write("large.zip", strings.Repeat("PK", pack.MaxSize)), "--key", keys).rejected(t, "invalid/pack_too_large")
	if r, err := zip.OpenReader(file("evidence.zip")); err != nil || len(r.File) != 3 || r.Close() != nil {
		t.Errorf("another program cannot read the pack: %v", err)
	}
	if info, err := os.Stat(file("evidence.zip")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file that only the user can read", info, err)
	}

	p.publishEvidenceKey(t)
	create("later.zip").ok(t)
	for _, name := range []string{"evidence.zip", "later.zip"} {
		verify(file(name), "--key", url).ok(t)
	}
	verify(file("later.zip"), "--key", keys).rejected(t, "invalid/unknown_key")

	stolen := printed[verifiedView](t, verify(file("later.zip"), "--key", url, "--json")).Key
	revoke := func(key, since string) outcome {
		return pingpost(t, "evidence", "revoke-key", "--since", since, "--data-dir", p.dir, "--", key)
	}
	revoke(stolen, "yesterday").fails(t, 2, "--since")
	revoke("-unknown", "2026-01-02T03:04:05Z").rejected(t, "not_found/evidence_key")
	revoke(stolen, "2026-01-02T03:04:05Z").ok(t)
	testkit.Eventually(t, patience, "the revocation is published", func() bool {
		return strings.Contains(verify(file("later.zip"), "--key", url).stderr, "invalid/key_revoked")
	})
	verify(file("evidence.zip"), "--key", url).ok(t)
	create("after.zip").ok(t)
}
