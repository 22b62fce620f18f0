package main

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// secretsAreReadAgain replaces each secret of a running node by changing its file. Secrets with which the node would
// not work are rejected.
func secretsAreReadAgain(t *testing.T, p *platform) {
	folder := t.TempDir()
	file := func(name string) string { return filepath.Join(folder, name) }
	write := func(name string, lines ...string) {
		t.Helper()
		if err := os.WriteFile(file(name), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	current := map[string]string{}
	settings := []string{
		"PINGPOST_CONFIG=" + file("pingpost.yaml"), "PINGPOST_NODE_NAME=rotated",
		"PINGPOST_DATABASE_URL_FILE=" + file("database-url"), "PINGPOST_PLATFORM_KEYS_FILE=" + file("platform-keys"),
		"LEAD_VAULT_KEK_FILE=" + file("lead-vault-kek"),
	}
	for _, setting := range p.production(t) {
		if name, value, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "PINGPOST_HTTP_") {
			settings = append(settings, setting)
		} else {
			current[name] = value
		}
	}
	databaseURL := current["PINGPOST_DATABASE_URL"]
	platformKey, localKey := current["PINGPOST_PLATFORM_KEYS"], current["LEAD_VAULT_KEK"]
	write("pingpost.yaml", "limits:", "  post_concurrency: 64")
	write("database-url", databaseURL)
	write("platform-keys", platformKey)
	write("lead-vault-kek", localKey)
	node, api, _ := serve(t, settings)
	logged := func(text string) int { return strings.Count(node.stdout.String(), text) }
	const (
		used     = `"msg":"secrets read again"`
		rejected = `"msg":"cannot use some of the changed secrets, retrying"`
	)
	replace := func(name, result string, lines ...string) {
		t.Helper()
		before := logged(result)
		write(name, lines...)
		node.until(t, "the node logs "+result, func() bool { return logged(result) > before })
	}
	here, there := p.partner(1), p.partner(1)
	here.origin = api
	here.deliver(t)

	// The database: another user, as from a system that issues users for a day.
	admin := testkit.Connect(t, p.superuser(t, "pingpost"))
	const create = `CREATE ROLE pingpost_today LOGIN PASSWORD 'today' IN ROLE pingpost_app`
	if _, err := admin.Exec(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("pingpost_today", "today")
	replace("database-url", used, u.String())
	const ofNode = ` FROM pg_stat_activity WHERE application_name = 'pingpost rotated'`
	if _, err := admin.Exec(t.Context(), `SELECT pg_terminate_backend(pid)`+ofNode); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, "the node connects as the other user", func() bool {
		var old, today int
		err := admin.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE usename <> 'pingpost_today'),
			count(*) FILTER (WHERE usename = 'pingpost_today')`+ofNode).Scan(&old, &today)
		return err == nil && old == 0 && today > 0
	})
	p.follows(t, here, http.StatusOK)
	u.Host = "127.0.0.1:1"
	replace("database-url", rejected, u.String())
	here.deliver(t)
	u.Host = host(t, databaseURL)
	replace("database-url", used, u.String())

	// A file that is still being written is not read.
	failures := logged(rejected)
	write("database-url", databaseURL[:len(databaseURL)/2])
	replace("database-url", used, u.String())
	if logged(rejected) > failures {
		t.Errorf("half of a file was read: %s", node.stdout.String())
	}

	// The platform key: a quote with the new key is not valid on a node that does not have it.
	replace("platform-keys", rejected, oldKey)
	replace("platform-keys", used, oldKey, platformKey)
	if status, _, answer := there.send(t, "post", here.prepare(t), true); status == http.StatusOK {
		t.Errorf("a quote with the new platform key, on a node without it: got %d %s", status, answer)
	}
	here.deliver(t)
	earlier := there.prepare(t)
	if status, _, answer := here.send(t, "post", earlier, true); status != http.StatusOK {
		t.Errorf("a quote with the previous platform key: got %d %s", status, answer)
	}

	// The local key: it must be registered before it wraps.
	replace("lead-vault-kek", rejected, nextKEK, localKey)
	here.deliver(t)
	replace("lead-vault-kek", used, localKey, nextKEK)
	call(t, "", settings, "keys", "introduce").ok(t)
	replace("lead-vault-kek", used, nextKEK, localKey)
	before := versions(t, p, settings)
	here.deliver(t)
	if after := versions(t, p, settings); len(after) != len(before)+1 {
		t.Errorf("the new local key wraps nothing: got %v, then %v", before, after)
	}

	// SIGHUP reads everything again, and does not stop the node. Other settings are not used.
	again := logged(used)
	write("pingpost.yaml", "limits:", "  post_concurrency: 65")
	if err := node.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	node.until(t, "SIGHUP has an effect", func() bool { return logged(used) > again })
	if logged(`"settings":"limits.post_concurrency"`) == 0 {
		t.Errorf("the changed setting is not logged: %s", node.stdout.String())
	}
	for _, secret := range []string{platformKey, localKey, oldKey, nextKEK, "today@"} {
		if strings.Contains(node.stdout.String(), secret) {
			t.Errorf("the log contains a secret: %s", node.stdout.String())
		}
	}
	if code := node.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, node.stdout.String())
	}
}

// versions returns the key versions that wrap the keys of leads.
func versions(t *testing.T, p *platform, settings []string) (list []string) {
	t.Helper()
	for _, key := range printed[statusView](t, call(t, "", settings, "keys", "status", "--json")).LeadKeys {
		if key.Leads > 0 {
			list = append(list, key.Version)
		}
	}
	return list
}
