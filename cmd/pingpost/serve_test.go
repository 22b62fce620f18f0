package main

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devstack"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// production returns the environment for running `serve` with dev's database and keys.
func (p *platform) production(t *testing.T, change ...string) []string {
	t.Helper()
	running, err := devstack.ReadRunning(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	var keys devstack.Keys
	text, err := os.ReadFile(filepath.Join(p.dir, "keys.json"))
	if err == nil {
		err = json.Unmarshal(text, &keys)
	}
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{
		"PINGPOST_DATABASE_URL=" + running.DatabaseURL, "PINGPOST_PLATFORM_KEYS=" + running.PlatformKeys, "LEAD_VAULT_KEK=" + keys.LeadVaultKEK,
		"PINGPOST_HTTP_API_ADDR=127.0.0.1:0", "PINGPOST_HTTP_ADMIN_ADDR=127.0.0.1:0", "PINGPOST_HTTP_OPS_ADDR=127.0.0.1:0",
		"PINGPOST_HTTP_PUBLIC_URL=https://leads.example.com", "PINGPOST_HTTP_ADMIN_URL=https://console.example.com", "PINGPOST_HTTP_DRAIN_DELAY=0s",
	}, change...)
}

// serving tests `serve` with dev's database.
func serving(t *testing.T, p *platform) {
	t.Run("node", func(t *testing.T) { secondNode(t, p) })
	t.Run("TLS", func(t *testing.T) { servesTLS(t, p) })
	t.Run("systemd", func(t *testing.T) { systemdIsNotified(t, p) })
	t.Run("database unavailable", func(t *testing.T) { serveWaits(t, p) })
	t.Run("rejections", func(t *testing.T) { serveRejects(t, p) })
	t.Run("empty database", func(t *testing.T) { emptyDatabase(t, p) })
	t.Run("configuration", func(t *testing.T) { configurationCommands(t, p) })
	t.Run("doctor", func(t *testing.T) { doctorCommands(t, p) })
	t.Run("changed secrets", func(t *testing.T) { secretsAreReadAgain(t, p) })
}

// serve starts a node and returns its API and operations URLs, which it reads from the log.
func serve(t *testing.T, settings []string, args ...string) (node *process, api, ops string) {
	t.Helper()
	settings = append(settings, "PINGPOST_DATABASE_SNAPSHOT_FILE="+filepath.Join(t.TempDir(), "snapshot"))
	node = start(t, settings, append([]string{"serve"}, args...)...)
	node.until(t, "the node serves", func() bool {
		for line := range strings.Lines(node.stdout.String()) {
			var started struct{ Msg, API, Ops string }
			if json.Unmarshal([]byte(line), &started) == nil && started.Msg == "started" {
				api, ops = "http://"+started.API, "http://"+started.Ops
			}
		}
		return api != ""
	})
	return node, api, ops
}

// opsOf returns the settings with which `health` finds a node.
func opsOf(ops string) []string {
	_, address, _ := strings.Cut(ops, "://")
	_, port, _ := strings.Cut(address, ":")
	return []string{
		"PINGPOST_HTTP_API_ADDR=:0", "PINGPOST_HTTP_OPS_ADDR=:" + port,
		"PINGPOST_HTTP_PUBLIC_URL=https://leads.example.com",
	}
}

// secondNode checks that a second node accepts quotes from dev's node, and vice versa.
func secondNode(t *testing.T, p *platform) {
	node, api, ops := serve(t, p.production(t))
	here, there := p.partner(0), p.partner(0)
	there.origin = api
	for _, way := range [][2]client{{here, there}, {there, here}} {
		body := way[0].prepare(t)
		status, _, answer := way[1].send(t, "post", body, true)
		replay, header, again := way[0].send(t, "post", body, true)
		if status != http.StatusOK || replay != http.StatusOK || header.Get("Idempotent-Replayed") != "true" || answer != again {
			t.Errorf("post: got %d %s; replay: got %d %s", status, answer, replay, again)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/readyz/ping", "/metrics"} {
		resp, err := http.Get(ops + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: got %s", path, resp.Status)
		}
	}
	for _, args := range [][]string{{"health"}, {"health", "--ready"}} {
		if out := call(t, "", opsOf(ops), args...).ok(t); out != "ok\n" {
			t.Errorf("%v printed %q", args, out)
		}
	}
	body := there.prepare(t)
	p.on(t, "partner", "suspend", there.slug).ok(t)
	if status, _, answer := there.send(t, "post", body, true); status != http.StatusForbidden {
		t.Errorf("post of a suspended partner: got %d %s", status, answer)
	}
	p.on(t, "partner", "approve", there.slug).ok(t)
	if code := node.stop(t, syscall.SIGTERM); code != 0 || !strings.Contains(node.stdout.String(), `"msg":"stopped"`) {
		t.Errorf("exit code %d: %s", code, node.stdout.String())
	}
	for _, leak := range []string{personal, "quillfeather", there.secret} {
		if strings.Contains(node.stdout.String()+node.stderr.String(), leak) {
			t.Errorf("%s is in the log", leak)
		}
	}
}

// servesTLS starts a node with a certificate. All listeners must accept TLS connections, and only those.
func servesTLS(t *testing.T, p *platform) {
	ca, folder := testkit.NewAuthority(t), t.TempDir()
	certFile, keyFile := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	cert, key := ca.Issue(t, "127.0.0.1", time.Now().Add(time.Hour))
	if err := errors.Join(os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o644)); err != nil {
		t.Fatal(err)
	}
	admin := testkit.FreeAddress(t)
	settings := p.production(t, "PINGPOST_HTTP_ADMIN_ADDR="+admin, "PINGPOST_HTTP_TLS_CERT_FILE="+certFile,
		"PINGPOST_HTTP_TLS_KEY_FILE="+keyFile)
	if out := call(t, "", settings, "config", "check").ok(t); !strings.Contains(out, "http.tls_key_file") {
		t.Errorf("a key that others can read: %s", out)
	}
	call(t, "", append(settings, "PINGPOST_HTTP_TLS_KEY_FILE="), "config", "check").fails(t, 1, "http.tls_key_file")
	call(t, "", append(settings, "PINGPOST_HTTP_TLS_KEY_FILE="+certFile), "config", "check").
		fails(t, 1, "http.tls_key_file: not a PEM private key")
	node, api, ops := serve(t, settings)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Roots(t)}}}
	defer client.CloseIdleConnections()
	for _, url := range []string{api + "/docs", "http://" + admin + "/login", ops + "/readyz/ping"} {
		resp, err := client.Get(strings.Replace(url, "http:", "https:", 1))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.Proto != "HTTP/1.1" {
			t.Errorf("%s: got %s %s", url, resp.Proto, resp.Status)
		}
		plain, err := http.Get(url)
		if err == nil {
			plain.Body.Close()
			if plain.StatusCode != http.StatusBadRequest {
				t.Errorf("%s without TLS: got %s", url, plain.Status)
			}
		}
	}
	withFiles := append(opsOf(ops), "PINGPOST_HTTP_TLS_CERT_FILE="+certFile, "PINGPOST_HTTP_TLS_KEY_FILE="+keyFile)
	call(t, "", withFiles, "health").ok(t)
	call(t, "", opsOf(ops), "health").fails(t, 1, "/healthz returned 400")
	expired, expiredKey := ca.Issue(t, "lb.example.com", time.Now().Add(-time.Minute))
	err := errors.Join(os.WriteFile(certFile, expired, 0o600), os.WriteFile(keyFile, expiredKey, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	node.until(t, "the node has the expired certificate", func() bool {
		call(t, "", withFiles, "health").ok(t)
		return strings.Contains(node.stdout.String(), "TLS certificate read again")
	})
	if code := node.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, node.stdout.String())
	}
	call(t, "", withFiles, "health").fails(t, 1, "does not respond")
}

// systemdIsNotified checks that a node tells systemd when it is ready, and how long it may take to stop.
func systemdIsNotified(t *testing.T, p *platform) {
	address := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenPacket("unixgram", address)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	message := func() string {
		t.Helper()
		buffer := make([]byte, 1000)
		socket.SetReadDeadline(time.Now().Add(time.Minute))
		n, _, err := socket.ReadFrom(buffer)
		if err != nil {
			t.Fatal(err)
		}
		return string(buffer[:n])
	}
	node, _, _ := serve(t, p.production(t, "NOTIFY_SOCKET="+address, "PINGPOST_HTTP_SHUTDOWN_GRACE=40s"))
	if got := message(); got != "READY=1" {
		t.Errorf("after the start: got %q", got)
	}
	node.stop(t, syscall.SIGTERM)
	if got := message(); got != "STOPPING=1\nEXTEND_TIMEOUT_USEC=45000000" {
		t.Errorf("before the stop: got %q", got)
	}
}

// serveWaits starts a node while the database is unavailable. The node must log an error and wait.
func serveWaits(t *testing.T, p *platform) {
	node, _, ops := serve(t, p.production(t, "PINGPOST_DATABASE_URL=postgres://pingpost_app:wrong-word@127.0.0.1:1/pingpost"))
	for path, want := range map[string]int{
		"/healthz":     http.StatusOK,
		"/readyz":      http.StatusServiceUnavailable,
		"/readyz/ping": http.StatusServiceUnavailable,
	} {
		resp, err := http.Get(ops + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: got %s, want %d", path, resp.Status, want)
		}
	}
	call(t, "", opsOf(ops), "health").ok(t)
	if o := call(t, "", opsOf(ops), "health", "--ready"); o.code != 1 || !strings.Contains(o.stdout, "database: ") ||
		strings.Contains(o.stdout, ": ok") {
		t.Errorf("health --ready: got %d %s", o.code, o.stdout)
	}
	var health healthView
	o := call(t, "", opsOf(ops), "health", "--ready", "--json")
	if err := json.Unmarshal([]byte(o.stdout), &health); err != nil || o.code != 1 || health.OK ||
		health.Checks["database"] == "ok" {
		t.Errorf("health --ready --json: got %d %s", o.code, o.stdout)
	}
	if code := node.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	log := node.stdout.String()
	if !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, "database.url") {
		t.Errorf("the setting is not in the log: %s", log)
	}
	if strings.Contains(log, "wrong-word") {
		t.Errorf("a password is in the log: %s", log)
	}
}

// logsFatal fails the test unless serve exited with 1, printed only log lines in JSON, and logged
// errors that contain all parts. It returns the error lines.
func (o outcome) logsFatal(t *testing.T, parts ...string) (lines []string) {
	t.Helper()
	if o.code != 1 || o.stderr != "" {
		t.Errorf("exit code %d, want 1; standard error %q", o.code, o.stderr)
	}
	for line := range strings.Lines(o.stdout) {
		var entry struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Time == "" || entry.Msg == "" {
			t.Errorf("not a log line: %q", line)
		}
		if entry.Level == "ERROR" {
			lines = append(lines, line)
		}
	}
	message := strings.Join(lines, "")
	for _, part := range parts {
		if quoted, _ := json.Marshal(part); !strings.Contains(message, strings.Trim(string(quoted), `"`)) {
			t.Errorf("%q is not in the log's errors: %s", part, message)
		}
	}
	return lines
}

func serveRejects(t *testing.T, p *platform) {
	running, err := devstack.ReadRunning(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	missing := pingpost(t, "serve").logsFatal(t, "database.url", "PINGPOST_DATABASE_URL",
		"http.api_addr", "http.admin_addr", "http.ops_addr", "http.public_url", "keys.platform_keys", "PINGPOST_PLATFORM_KEYS")
	if len(missing) != 6 {
		t.Errorf("got %d error lines, want 6", len(missing))
	}
	call(t, "", []string{"PINGPOST_DATABASE_URL=secret-word", "PINGPOST_PLATFORM_KEYS=secret-word", "LEAD_VAULT_KEK=secret-word", "PINGPOST_HTTP_API_ADDR=8080",
		"PINGPOST_HTTP_PUBLIC_URL=http://leads.example.com/", "PINGPOST_LOG_LEVEL=loud", "PINGPOST_HTTP_READ_TIMEOUT=1", "PINGPOST_FROBNICATE=1"}, "serve").
		logsFatal(t, "database.url", "keys.platform_keys", "keys.local_kek", "http.api_addr", "http.public_url",
			"log.level", "http.read_timeout", "PINGPOST_FROBNICATE", "http.ops_addr")
	file := filepath.Join(folder(t), "pingpost.yaml")
	if err := os.WriteFile(file, []byte("http:\n  api_adr: :1\nkeys:\n  platform_keys: [x]\nnonsense: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pingpost(t, "serve", "--config", file).logsFatal(t, "http.api_adr", "api_addr", "nonsense", "keys.platform_keys", file)

	owner := strings.Split(running.OwnerURL, "@")[0]
	for _, c := range []struct {
		setting string
		says    []string
	}{
		{"PINGPOST_DATABASE_URL=" + running.OwnerURL, []string{`"pingpost_owner"`, "pingpost_app"}},
		{"PINGPOST_DATABASE_URL=" + p.superuser(t, "pingpost"), []string{`"postgres"`, "pingpost_app"}},
		{"PINGPOST_DATABASE_URL=postgres://pingpost_app:wrong-word@" + host(t, running.DatabaseURL) +
			"/pingpost", []string{"database.url"}},
		{"PINGPOST_HTTP_API_ADDR=" + strings.TrimPrefix(p.APIURL, "http://"), []string{"http.api_addr"}},
		{"PINGPOST_PLATFORM_KEYS=MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", []string{"PINGPOST_PLATFORM_KEYS"}}, // not the key that sealed the secrets
	} {
		o := call(t, "", p.production(t, c.setting), "serve")
		o.logsFatal(t, c.says...)
		if strings.Contains(o.stdout, "wrong-word") || strings.Contains(o.stdout, owner) {
			t.Errorf("a password is in the log: %s", o.stdout)
		}
	}
}

func host(t *testing.T, databaseURL string) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// superuser returns the superuser's URL for a database in dev's Postgres.
func (p *platform) superuser(t *testing.T, database string) string {
	t.Helper()
	password, err := os.ReadFile(filepath.Join(p.dir, "postgres", "password"))
	if err != nil {
		t.Fatal(err)
	}
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword("postgres", strings.TrimSpace(string(password))),
		Host: host(t, p.DatabaseURL), Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return u.String()
}

// anotherDatabase creates an empty database in dev's Postgres. It returns the database settings for
// the owner's role and the service's role.
func (p *platform) anotherDatabase(t *testing.T, name string) (owner, app string) {
	t.Helper()
	running, err := devstack.ReadRunning(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	conn := testkit.Connect(t, p.superuser(t, "postgres"))
	if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name+
		" OWNER pingpost_owner ENCODING 'UTF8' TEMPLATE template0"); err != nil {
		t.Fatal(err)
	}
	on := func(roleURL string) string {
		return "PINGPOST_DATABASE_URL=" + strings.Replace(roleURL, "/pingpost?", "/"+name+"?", 1)
	}
	return on(running.OwnerURL), on(running.DatabaseURL)
}

// emptyDatabase migrates an empty database, starts a node and onboards a partner.
func emptyDatabase(t *testing.T, p *platform) {
	ownerURL, databaseURL := p.anotherDatabase(t, "fresh")
	owner, app := []string{ownerURL}, p.production(t, databaseURL)

	behind := func() {
		t.Helper()
		call(t, "", app, "serve").logsFatal(t, "pingpost migrate up")
	}
	behind()
	steps := printed[[]struct {
		Version int64  `json:"version"`
		Name    string `json:"name"`
		Applied bool   `json:"applied"`
	}](t, call(t, "", owner, "migrate", "status", "--json"))
	for _, s := range steps {
		if s.Applied || s.Version == 0 || s.Name == "" {
			t.Errorf("got the migration %+v in an empty database", s)
		}
	}
	behind() // the table of versions exists now, but the role is not allowed to read it
	for _, step := range []string{"up", "status"} {
		call(t, "", app, "migrate", step).fails(t, 1, "pingpost_owner")
	}
	applied := call(t, "", owner, "migrate", "up").ok(t)
	if strings.Count(applied, "applied ") != len(steps) {
		t.Errorf("want %d applied migrations, got %s", len(steps), applied)
	}
	again := printed[migratedView](t, call(t, "", owner, "migrate", "up", "--json"))
	if again.Applied == nil || len(again.Applied) > 0 || again.Schema != steps[len(steps)-1].Version {
		t.Errorf("got %+v", again)
	}
	if out := call(t, "", owner, "migrate", "up").ok(t); strings.Contains(out, "applied ") {
		t.Errorf("printed %s", out)
	}
	if table := call(t, "", owner, "migrate", "status").ok(t); strings.Contains(table, "pending") ||
		strings.Count(table, "applied") != len(steps) {
		t.Errorf("printed %s", table)
	}
	if table := p.on(t, "migrate", "status").ok(t); strings.Contains(table, "pending") {
		t.Errorf("printed %s", table)
	}
	newerSchema(t, owner, app)

	node, api, _ := serve(t, app)
	call(t, "", app, "partner", "create", "fresh-leads").ok(t)
	call(t, "", app, "account", "create", "fresh-leads", "fresh-leads").ok(t)
	secret := printed[secretView](t, call(t, "", app, "secret", "create", "fresh-leads", "--json"))
	call(t, "", app, "partner", "approve", "fresh-leads").ok(t)
	c := client{api, "fresh-leads", secret.Secret}
	p.follows(t, c, http.StatusOK)
	if code := node.stop(t, syscall.SIGINT); code != 0 {
		t.Errorf("exit code %d: %s", code, node.stderr.String())
	}
}

// configurationCommands checks and prints the configuration, with secrets redacted.
func configurationCommands(t *testing.T, p *platform) {
	env := p.production(t)
	if out := call(t, "", env, "config", "check").ok(t); out == "" {
		t.Errorf("printed %s", out)
	}
	shown := call(t, "", env, "config", "show").ok(t)
	for _, want := range []string{"http:\n", `public_url: "https://leads.example.com"`, "[redacted]",
		"read_timeout: 10s", "database:\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s is not in %s", want, shown)
		}
	}
	for _, setting := range env[:3] {
		_, secret, _ := strings.Cut(setting, "=")
		if strings.Contains(shown, secret) {
			t.Errorf("the secret in %s is printed", setting)
		}
	}
	for _, name := range []string{"check", "show"} {
		pingpost(t, "config", name).fails(t, 1, "database.url", "keys.platform_keys")
	}
	missing := filepath.Join(t.TempDir(), "missing")
	unusable := append(slices.Clone(env),
		"PINGPOST_DATABASE_URL=postgres://app:secret@db/name?sslmode=verify-full&sslrootcert="+missing, "PINGPOST_VAULT_ADDRESS=https://vault.example.com", "PINGPOST_VAULT_CA_FILE="+missing,
		"PINGPOST_VAULT_AUTH=kubernetes", "PINGPOST_VAULT_ROLE=node", "PINGPOST_VAULT_JWT_FILE="+missing,
		"PINGPOST_KEYS_WRITE_WITH=vault", "PINGPOST_PRIVACY_ERASURE_JOURNAL="+missing,
		"PINGPOST_PRIVACY_CONTROLLER=Acme Ltd", "PINGPOST_PRIVACY_RECIPIENTS=Acme Ltd")
	call(t, "", unusable, "config", "check").fails(t, 1,
		"sslrootcert "+missing+": file not found", "vault.ca_file: file not found",
		"vault.jwt_file: file not found", "privacy.erasure_journal: folder not found")
	withoutKEK := call(t, "", append(env, "LEAD_VAULT_KEK="), "config", "check").ok(t)
	if !strings.Contains(withoutKEK, "warning:") {
		t.Errorf("printed %s", withoutKEK)
	}
	readableSecret(t, env)
}

// readableSecret stores the local key in a file, and then lets other users read the file.
func readableSecret(t *testing.T, env []string) {
	t.Helper()
	_, kek, _ := strings.Cut(env[2], "=")
	file := filepath.Join(folder(t), "lead-vault-kek")
	if err := os.WriteFile(file, []byte(kek), 0o600); err != nil {
		t.Fatal(err)
	}
	env = append(env, "LEAD_VAULT_KEK=", "LEAD_VAULT_KEK_FILE="+file)
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o644: true} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if out := call(t, "", env, "config", "check").ok(t); strings.Contains(out, "keys.local_kek") != want {
			t.Errorf("mode %o: config check printed %s", mode, out)
		}
		if out := call(t, "", env, "config", "check", "--json").ok(t); strings.Contains(out, `"setting": "keys.local_kek"`) != want {
			t.Errorf("mode %o: config check --json printed %s", mode, out)
		}
		node, _, _ := serve(t, env)
		if log := node.stdout.String(); strings.Contains(log, `"setting":"keys.local_kek"`) != want {
			t.Errorf("mode %o: serve logged %s", mode, log)
		}
		node.stop(t, syscall.SIGTERM)
	}
}
