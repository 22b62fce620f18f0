package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/evidence/pack"
)

// TestDev starts the platform, runs the commands that it prints, and stops it.
func TestDev(t *testing.T) {
	t.Parallel()
	temporary := folder(t)
	d := startDev(t, []string{"TMPDIR=" + temporary}, "--ephemeral")
	t.Run("ready file", func(t *testing.T) { readyFileShape(t, d) })
	t.Run("curl", func(t *testing.T) { paste(t, d, 0) })
	t.Run("sign", func(t *testing.T) { paste(t, d, 1) })
	t.Run("demo partners", func(t *testing.T) { demoPartners(t, d) })
	t.Run("sign output", func(t *testing.T) { signOutput(t, d) })
	t.Run("operator's command", func(t *testing.T) { printedCommand(t, d) })

	entries, err := os.ReadDir(temporary)
	if err != nil || len(entries) != 1 {
		t.Fatalf("the temporary folder contains %v: %v", entries, err)
	}
	if code := d.interrupt(t); code != 0 {
		t.Errorf("exit code %d: %s", code, d.stderr.String())
	}
	gone(t, filepath.Join(temporary, entries[0].Name()))
	if _, err := os.Stat(d.readyFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the ready file still exists: %v", err)
	}
	for _, leak := range []string{personal, "quillfeather", d.Partners[0].Secret} {
		if strings.Contains(d.stderr.String(), leak) {
			t.Errorf("%s is in the log", leak)
		}
	}
}

// TestDevWithClockOffset runs the printed commands while the service's clock runs ahead. The
// commands must sign with the time of that clock, and record this time.
func TestDevWithClockOffset(t *testing.T) {
	t.Parallel()
	p := &platform{dir: filepath.Join(folder(t), "data")}
	p.development = startDev(t, nil, "--data-dir", p.dir, "--clock-offset", "49h",
		"--api-addr", ":0", "--admin-addr", "0.0.0.0:0") // printed as localhost
	d := p.development
	for _, url := range []string{d.APIURL, d.AdminURL} {
		if !strings.HasPrefix(url, "http://localhost:") || strings.HasSuffix(url, ":0") ||
			!strings.Contains(d.stdout.String(), url) {
			t.Errorf("the URL %s is not in the output", url)
		}
	}
	if strings.Contains(d.stdout.String(), "[::]") || strings.Contains(d.stdout.String(), "0.0.0.0") {
		t.Errorf("the output has an unspecified address: %s", d.stdout.String())
	}
	paste(t, d, 0)
	paste(t, d, 1)
	commandsUseOffset(t, p)
	if code := d.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, d.stderr.String())
	}
}

// commandsUseOffset runs commands that record the time. The service's clock must be more than two days ahead.
func commandsUseOffset(t *testing.T, p *platform) {
	t.Helper()
	lead, file := p.partner(2).deliverFor(t, personal, "click 1"), filepath.Join(folder(t), "evidence.zip")
	commands := [][]string{
		{"partner", "create", "northgate", "--name", "Northgate Ltd"},
		{"account", "create", "northgate", "northgate-web"},
		{"secret", "create", "northgate"},
		{"staff", "create", "another.auditor@example.com", "--role", "auditor"},
		{"lead", "reveal", lead, "--field", "email", "--reason", "legal"},
		{"evidence", "create", lead, "--output", file},
		{"evidence", "rotate-key"},
		{"keys", "rewrap"},
		{"pricing", "set", "--industry", "plumber", "--country", "GB", "--base", "46.00", "--publish", "--note", "test"},
	}
	for _, args := range commands {
		p.on(t, args...).ok(t)
	}
	call(t, personal+"\n", nil, "person", "erase", "--identity", "reply", "--yes", "--data-dir", p.dir).ok(t)

	db := testkit.Connect(t, p.DatabaseURL)
	value := func(sql string) (n int) {
		t.Helper()
		if err := db.QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const events = `SELECT count(*) FROM audit_events WHERE actor = 'the command line' AND at `
	if late, early := value(events+`> now() + '2 days'`), value(events+`<= now() + '2 days'`); late < len(commands) ||
		early > 0 {
		t.Errorf("%d events have the service's time, and %d have another time", late, early)
	}
	if n := value(`SELECT count(*) FROM privacy_requests WHERE received_on >= (now() AT TIME ZONE 'UTC')::date + 2`); n != 1 {
		t.Errorf("got %d privacy requests on the service's day, want 1", n)
	}
	pingpost(t, "evidence", "verify", file, "--key", p.APIURL+pack.KeyPath).ok(t)
}

// TestDevExitsWhenPostgresIsKilled checks that dev exits and prints the reason exactly once. It
// also sets a public URL, which the printed commands must use.
func TestDevExitsWhenPostgresIsKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(folder(t), "data")
	d := startDev(t, []string{"PINGPOST_HTTP_PUBLIC_URL=https://leads.example.com"}, "--data-dir", dir)
	commands := strings.Join(printedCommands(t, d), "")
	if n := strings.Count(commands, "https://leads.example.com/p/"+d.Partners[0].Slug+"/api/lead/"); n != 4 ||
		strings.Contains(commands, d.APIURL) {
		t.Errorf("wrong URLs in the commands: %s", commands)
	}
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "cluster", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil || pid < 2 {
		t.Fatalf("process %q: %v", first, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-d.ended:
	case <-time.After(patience):
		t.Fatalf("dev is still running: %s", d.stderr.String())
	}
	stderr := d.stderr.String()
	_, reason, _ := strings.Cut(stderr, "\npingpost: ")
	if d.code != 1 || !strings.Contains(reason, dir) || strings.Count(stderr, "\npingpost: ") != 1 {
		t.Errorf("exit code %d: %s", d.code, stderr)
	}
}

// pasteable returns the two groups of commands that dev prints. Each group sends a ping and a post.
// The first group uses curl, and the second uses `pingpost sign`.
func pasteable(welcome string) (commands []string) {
	ping := ""
	for paragraph := range strings.SplitSeq(welcome, "\n\n") {
		switch {
		case strings.HasPrefix(paragraph, "TX="):
			ping = paragraph
		case strings.HasPrefix(paragraph, "BODY="):
			commands = append(commands, ping+"\n"+paragraph+"\n")
		}
	}
	return commands
}

// printedCommands waits until dev has printed both groups of commands, and returns them.
func printedCommands(t *testing.T, d *development) (commands []string) {
	t.Helper()
	testkit.Eventually(t, patience, "both groups of commands are printed", func() bool {
		commands = pasteable(d.stdout.String())
		return len(commands) == 2
	})
	return commands
}

// paste runs one of the printed commands in a shell.
func paste(t *testing.T, d *development, which int) {
	t.Helper()
	all := printedCommands(t, d)
	if strings.Count(all[which], "/api/lead/ping") != 1 || strings.Count(all[which], "/api/lead/post") != 1 {
		t.Fatalf("got the commands %q: %s", all, d.stdout.String())
	}
	commands := all[which]
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash")
	shell.Stdin = strings.NewReader(commands)
	var stdout, stderr bytes.Buffer
	shell.Stdout, shell.Stderr = &stdout, &stderr
	if err := shell.Run(); err != nil {
		t.Fatalf("%v\n%s%s\n%s", err, stdout.String(), stderr.String(), commands)
	}
	if !strings.Contains(stderr.String(), `"accepted":true`) {
		t.Errorf("the price is not printed: %s", stderr.String())
	}
	var answer struct {
		Status, LeadID string
		HMACVerified   bool
	}
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		t.Fatalf("%v\n%s%s\n%s", err, stdout.String(), stderr.String(), commands)
	}
	if signs := strings.Contains(commands, " sign --url "); signs != strings.Contains(stderr.String(), "200 OK, X-Request-Id rq_") {
		t.Errorf("standard error: %s", stderr.String())
	}
	if answer.Status != "success" || !strings.HasPrefix(answer.LeadID, "ld_") || !answer.HMACVerified {
		t.Errorf("got the response %s", stdout.String())
	}
}

// signOutput sends a post twice with the right secret, and once with a wrong one.
func signOutput(t *testing.T, d *development) {
	c := d.partner(0)
	url, secret, body := d.APIURL+"/p/"+c.slug+"/api/lead/post", []string{"PINGPOST_SECRET=" + c.secret}, c.prepare(t)
	for _, replay := range []bool{false, true} {
		o := call(t, body, secret, "sign", "--url", url)
		if out := o.ok(t); !strings.HasSuffix(out, "}\n") || member(t, out, "status") != "success" {
			t.Errorf("printed %q", out)
		}
		if !strings.HasPrefix(o.stderr, "200 OK, X-Request-Id rq_") || strings.Contains(o.stderr, "replay") != replay {
			t.Errorf("standard error: %s", o.stderr)
		}
	}
	o := call(t, body, []string{"PINGPOST_SECRET=not the secret"}, "sign", "--url", url)
	if o.code != 1 || member(t, o.stdout, "message") == "" ||
		!strings.Contains(o.stderr, " 401 Unauthorized, X-Request-Id rq_") {
		t.Errorf("exit code %d, printed %q: %s", o.code, o.stdout, o.stderr)
	}
}

// printedCommand runs the command that dev prints after "commands".
func printedCommand(t *testing.T, d *development) {
	_, rest, _ := strings.Cut(d.stdout.String(), shellQuote(binary))
	line, _, _ := strings.Cut(shellQuote(binary)+rest, "\n")
	if list := shell(t, line); !strings.HasPrefix(list, "SLUG") || !strings.Contains(list, d.Partners[0].Slug) {
		t.Errorf("%s prints %s", line, list)
	}
}

// readyFileShape checks that the ready file has exactly the expected members, because other
// programs read it.
func readyFileShape(t *testing.T, d *development) {
	info, err := os.Stat(d.readyFile)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the ready file contains secrets but has mode %s", info.Mode())
	}
	text, err := os.ReadFile(d.readyFile)
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]json.RawMessage
	var lists struct {
		Staff, Partners []map[string]json.RawMessage
	}
	if err := errors.Join(json.Unmarshal(text, &top), json.Unmarshal(text, &lists)); err != nil {
		t.Fatal(err)
	}
	hasMembers(t, top, "admin_url", "api_url", "database_url", "key_wrapper", "ops_url", "partners", "staff")
	for _, user := range lists.Staff {
		hasMembers(t, user, "email", "password", "role")
	}
	for _, partner := range lists.Partners {
		hasMembers(t, partner, "accounts", "name", "secret", "signing", "slug")
		var accounts []map[string]json.RawMessage
		if err := json.Unmarshal(partner["accounts"], &accounts); err != nil || len(accounts) != 2 {
			t.Errorf("accounts %s: %v", partner["accounts"], err)
		}
		for _, account := range accounts {
			hasMembers(t, account, "default", "partner_id")
		}
	}
	if len(lists.Partners) != 3 || lists.Staff == nil || d.KeyWrapper != "local" ||
		!strings.HasPrefix(d.DatabaseURL, "postgres://pingpost_app:") {
		t.Errorf("got the ready file %s", text)
	}
	for _, origin := range []string{d.APIURL, d.AdminURL, d.OpsURL} {
		if !strings.HasPrefix(origin, "http://127.0.0.1:") || strings.HasSuffix(origin, ":0") ||
			!strings.Contains(d.stdout.String(), origin) {
			t.Errorf("the URL %s is not in the output", origin)
		}
	}
}

func hasMembers(t *testing.T, object map[string]json.RawMessage, names ...string) {
	t.Helper()
	if got := slices.Sorted(maps.Keys(object)); !slices.Equal(got, names) {
		t.Errorf("members %v, want %v", got, names)
	}
}

// demoPartners checks that there is a demo partner for each signing mode.
func demoPartners(t *testing.T, d *development) {
	for i, want := range []struct {
		signing  string
		unsigned int
	}{{"required", 401}, {"report_only", 200}, {"off", 200}} {
		if got := string(d.Partners[i].Signing); got != want.signing {
			t.Errorf("partner %d is %s, want %s", i, got, want.signing)
		}
		c := d.partner(i)
		c.deliver(t)
		if status, _, answer := c.send(t, "post", c.prepare(t), false); status != want.unsigned {
			t.Errorf("unsigned post with %s: got %d %s, want %d", want.signing, status, answer, want.unsigned)
		}
		if d.Partners[i].Accounts[0].Default == d.Partners[i].Accounts[1].Default {
			t.Errorf("accounts %v", d.Partners[i].Accounts)
		}
	}
}
