package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devpg"
	"github.com/pingpost/pingpost/internal/dev/devstack"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

var shellBlock = regexp.MustCompile("(?s)```sh( background)?\n(.*?)```")

// script returns the shell commands of a documentation page, in order. If the page's name ends with an anchor,
// such as "how-to/deploy.md#before-you-start", only the commands between this heading and the next one are
// returned. If a block is marked as background, its commands keep running until the script ends.
func script(t *testing.T, page string) string {
	t.Helper()
	name, anchor, _ := strings.Cut(page, "#")
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	if anchor != "" {
		text = section(text, anchor)
	}
	var all strings.Builder
	for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
		if block[1] == "" {
			all.WriteString(block[2])
			continue
		}
		all.WriteString(strings.TrimSpace(block[2]) + " &\ntrap \"kill $!; wait $!\" EXIT\n")
	}
	if all.Len() == 0 {
		t.Fatalf("%s has no commands", page)
	}
	return all.String()
}

var (
	heading     = regexp.MustCompile(`(?m)^##+ (.*)$`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// section returns the text between the heading with an anchor and the next heading, or "" if there is no such
// heading.
func section(page, anchor string) string {
	headings := heading.FindAllStringSubmatchIndex(page, -1)
	for i, h := range headings {
		title := notInAnchor.ReplaceAllString(strings.ToLower(page[h[2]:h[3]]), "")
		if strings.ReplaceAll(title, " ", "-") != anchor {
			continue
		}
		if i+1 < len(headings) {
			return page[h[1]:headings[i+1][0]]
		}
		return page[h[1]:]
	}
	return ""
}

// tested lists the pages whose commands are run by a test in this package.
var tested = []string{
	"tutorials/first-lead.md", "tutorials/onboard-a-partner.md",
	"how-to/deploy.md", "how-to/configure-a-node.md", "how-to/prepare-vault.md", "how-to/monitor.md",
	"how-to/back-up-and-restore.md", "how-to/back-up-lead-keys.md", "how-to/fill-a-test-database.md", "how-to/manage-staff.md",
	"how-to/manage-partners.md", "how-to/change-prices.md", "how-to/reconcile-a-file.md", "how-to/reveal-contact-data.md", "how-to/erase-contact-data.md", "how-to/answer-privacy-requests.md",
	"how-to/export-evidence.md", "how-to/retain-leads.md", "how-to/upgrade.md",
}

func TestPagesWithCommandsAreTested(t *testing.T) {
	t.Parallel()
	docs := filepath.Join("..", "..", "docs")
	err := filepath.WalkDir(docs, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		page, _ := filepath.Rel(docs, path)
		if shellBlock.Match(text) && !slices.Contains(tested, filepath.ToSlash(page)) {
			t.Errorf("the commands of %s run in no test", page)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// reader runs documentation pages' commands in its own folder. pingpost is on PATH and at
// bin/pingpost.
type reader struct {
	dir     string
	env     []string
	replace *strings.Replacer // replaces values in the pages, such as ports
}

func newReader(t *testing.T, env ...string) *reader {
	t.Helper()
	r := &reader{dir: folder(t), replace: strings.NewReplacer()}
	if err := os.Mkdir(filepath.Join(r.dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(r.dir, "bin", "pingpost")); err != nil {
		t.Fatal(err)
	}
	r.env = append([]string{"PATH=" + filepath.Dir(binary) + string(os.PathListSeparator) + os.Getenv("PATH")}, env...)
	return r
}

// follow runs a page's commands and returns their output.
func (r *reader) follow(t *testing.T, page string, env ...string) string {
	t.Helper()
	o := r.try(t, page, env...)
	if o.code != 0 {
		t.Fatalf("%s: exit code %d\n%s", page, o.code, o.stdout)
	}
	return o.stdout
}

// try runs a page's commands. The outcome's stdout contains everything that they print.
func (r *reader) try(t *testing.T, page string, env ...string) outcome {
	t.Helper()
	return r.run(t, exec.CommandContext, page, env...)
}

// answer is like try, but runs the commands in a terminal, in which the user types the answer.
func (r *reader) answer(t *testing.T, answer, page string, env ...string) outcome {
	t.Helper()
	return r.run(t, terminal(answer), page, env...)
}

func (r *reader) run(t *testing.T, command newCommand, page string, env ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	cmd := command(ctx, "bash", "-euo", "pipefail", "-c", r.replace.Replace(script(t, page)))
	cmd.Dir, cmd.Env = r.dir, append(append(environ(), r.env...), env...)
	return combined(ctx, t, cmd)
}

// The commands in the tutorials work on a development platform if the pages are followed in order.
func TestTutorials(t *testing.T) {
	t.Parallel()
	p := &platform{dir: filepath.Join(folder(t), "data")}
	p.development = startDev(t, nil, "--data-dir", p.dir)
	partner := p.Partners[0]
	r := newReader(t, "BASE_URL="+p.APIURL+"/p/"+partner.Slug, "PINGPOST_SECRET="+partner.Secret, "PINGPOST_DATA_DIR="+p.dir)
	answer := func(file string) (a struct {
		LeadID   string  `json:"leadId"`
		BidPrice float64 `json:"bidPrice"`
		Payout   float64 `json:"payout"`
	}) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(r.dir, "tmp", "tutorial", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &a); err != nil {
			t.Fatalf("%s: %v: %s", file, err, text)
		}
		return a
	}

	r.follow(t, "tutorials/first-lead.md")
	ping, delivered, replayed := answer("ping.json"), answer("delivered.json"), answer("replayed.json")
	if ping.BidPrice <= 0 || delivered.Payout != ping.BidPrice {
		t.Errorf("quoted %v, paid %v", ping.BidPrice, delivered.Payout)
	}
	if delivered.LeadID == "" || replayed.LeadID != delivered.LeadID {
		t.Errorf("delivered as %q, replayed as %q", delivered.LeadID, replayed.LeadID)
	}
	if out := r.follow(t, "how-to/reveal-contact-data.md", "LEAD="+delivered.LeadID); !strings.Contains(out, "@example.com\n") {
		t.Errorf("reveal-contact-data.md printed %s", out)
	}

	if out := r.follow(t, "how-to/erase-contact-data.md", "LEAD="+delivered.LeadID); !strings.Contains(out, "Erased "+delivered.LeadID) ||
		!strings.Contains(out, "Entries: 1") || !strings.Contains(out, "Entries replayed: 0") {
		t.Errorf("erase-contact-data.md printed %s", out)
	}

	r.dir = filepath.Join(r.dir, "tmp", "tutorial")
	r.follow(t, "tutorials/onboard-a-partner.md", "BASE_URL="+p.APIURL+"/p/northgate")
	p.until(t, "northgate gets a price", func() bool {
		ping := `{"industry":"plumber","postcode":"SW1A 1AA","country":"GB"}`
		return strings.Contains(shell(t, "curl -sS "+p.APIURL+"/p/northgate/api/lead/ping -d '"+ping+"'"), `"accepted":true`)
	})
	if got := p.partnerStatus(t, "northgate"); got != "approved" {
		t.Errorf("partner northgate is %s, want approved", got)
	}
	if code := p.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}

func (p *platform) partnerStatus(t *testing.T, slug string) string {
	t.Helper()
	var partners []struct {
		Slug   string `json:"slug"`
		Status string `json:"status"`
	}
	if err := json.Unmarshal([]byte(p.on(t, "partner", "list", "--json").ok(t)), &partners); err != nil {
		t.Fatal(err)
	}
	for _, partner := range partners {
		if partner.Slug == slug {
			return partner.Status
		}
	}
	return "missing"
}

// The commands in the how-to guides work on a development platform with one lead.
func TestHowToGuides(t *testing.T) {
	t.Parallel()
	p := &platform{dir: filepath.Join(folder(t), "data")}
	p.development = startDev(t, nil, "--data-dir", p.dir)
	lead := p.partner(0).deliver(t)
	running, err := devstack.ReadRunning(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, "PINGPOST_DATA_DIR="+p.dir)

	if out := r.follow(t, "how-to/manage-staff.md"); !strings.Contains(out, "/invite/") || !strings.Contains(out, "grace@example.com") {
		t.Errorf("manage-staff.md printed %s", out)
	}
	if out := r.follow(t, "how-to/manage-partners.md"); !strings.Contains(out, "harbour-test") || strings.Count(out, "sk_") < 2 {
		t.Errorf("manage-partners.md printed %s", out)
	}
	if got := p.partnerStatus(t, "harbour-leads"); got != "approved" {
		t.Errorf("partner harbour-leads is %s, want approved", got)
	}
	changed := 0
	for line := range strings.Lines(r.follow(t, "how-to/change-prices.md")) {
		switch cell, _, isChange := strings.Cut(line, "→"); {
		case strings.HasPrefix(cell, "wedding-dj/"):
			changed++
		case isChange && !strings.HasPrefix(cell, "plumber/GB/"): // the price that is changed first
			t.Errorf("change-prices.md changes %s", line)
		}
	}
	if changed < 15 {
		t.Errorf("change-prices.md changes %d prices of wedding DJs, want at least 15", changed)
	}
	p.until(t, "the node uses the new prices", func() bool {
		return strings.Contains(shell(t, "curl -fsS "+p.OpsURL+"/metrics"), "pingpost_rate_card_version 4\n")
	})
	var health strings.Builder
	health.WriteString(r.follow(t, "how-to/monitor.md", "OPS_URL="+p.OpsURL, "OWNER_URL="+running.OwnerURL))
	for _, part := range []string{`"wrapping_key"`, "pingpost_ready", `pingpost_rate_card_version 4`} {
		if !strings.Contains(health.String(), part) {
			t.Errorf("monitor.md does not show %s", part)
		}
	}

	today := time.Now().UTC().Format(time.DateOnly)
	file := "leadId;payout;currency\n" + lead.id + ";1,00;GBP\n"
	if err := os.WriteFile(filepath.Join(r.dir, "march.csv"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	r.follow(t, "how-to/reconcile-a-file.md", "FROM="+today, "TO="+today)
	if result, err := os.ReadFile(filepath.Join(r.dir, "result.json")); err != nil || !strings.Contains(string(result), `"amount_differs"`) {
		t.Errorf("got the result %s (%v)", result, err)
	}

	owner, app := p.anotherDatabase(t, "synthetic")
	call(t, "", []string{owner}, "migrate", "up").ok(t)
	source, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	(&reader{dir: source, replace: strings.NewReplacer()}).follow(t, "how-to/fill-a-test-database.md", append(p.production(t, app), "DATABASE=synthetic")...)
	_, url, _ := strings.Cut(owner, "=")
	var partners, leads, pings int
	err = testkit.Connect(t, url).QueryRow(t.Context(), `SELECT (SELECT count(*) FROM partners WHERE slug <> 'platform'),
		(SELECT count(*) FROM leads), (SELECT count(*) FROM pings)`).Scan(&partners, &leads, &pings)
	if err != nil || partners < 20 || leads < 1000 || pings < 1000 {
		t.Errorf("fill-a-test-database.md: got %d partners, %d leads and %d pings (%v), want 20, 1000 and 1000",
			partners, leads, pings, err)
	}
}

// docs/how-to/deploy.md starts with an empty Postgres server and ends with a running node.
func TestDeployGuide(t *testing.T) {
	t.Parallel()
	server, err := devpg.Start(t.Context(), devpg.Options{DataDir: filepath.Join(folder(t), "postgres")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	r := newReader(t, "SUPERUSER_URL="+server.SuperuserURL("postgres"), "OWNER_PASSWORD=owner123", "APP_PASSWORD=app123",
		"OWNER_URL="+server.URL("pingpost_owner", "owner123", "pingpost"), "APP_URL="+server.URL("pingpost_app", "app123", "pingpost"))
	var ports []string
	for _, port := range []string{"8080", "8081", "8082"} {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, "127.0.0.1:"+port, free.Addr().String())
		if err := free.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r.replace = strings.NewReplacer(ports...)
	out := r.follow(t, "how-to/deploy.md")
	for _, name := range []string{"platform-keys", "lead-vault-kek", "database-url"} {
		if info, err := os.Stat(filepath.Join(r.dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v (%v), want 0600", name, info.Mode(), err)
		}
	}
	// At this point, there is no proxy and no journal, as doctor says.
	expected := regexp.MustCompile(`(?m)^warning +(public_url|admin_url|erasure_journal) .*\n`)
	if strings.Contains(expected.ReplaceAllString(out, ""), "warning") {
		t.Errorf("deploy.md prints a warning: %s", out)
	}
	for _, part := range []string{`"wrapping_key":"ok"`, "/invite/"} {
		if !strings.Contains(out, part) {
			t.Errorf("deploy.md does not print %s: %s", part, out)
		}
	}
	out = r.follow(t, "how-to/upgrade.md")
	if !strings.Contains(out, "schema ") || !strings.Contains(out, "the schema is up to date") {
		t.Errorf("upgrade.md prints %s", out)
	}
}

// The configuration file in docs/how-to/configure-a-node.md is valid only where its secrets are
// mounted, so the test runs the commands on a file with the same settings but different paths.
func TestConfigureGuide(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "configure-a-node.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	file, _, _ := strings.Cut(rest, "```")
	r := newReader(t)
	for name, text := range map[string]string{
		"database-url":   "postgres://pingpost_app:x@db.example.com/pingpost?sslmode=verify-full",
		"platform-keys":  oldKey + "\n" + newKey,
		"lead-vault-kek": aKEK,
		"pingpost.yaml":  strings.ReplaceAll(file, "/run/secrets/", r.dir+"/"),
	} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out := r.follow(t, "how-to/configure-a-node.md"); !strings.Contains(out, "max_connections: 40") || strings.Contains(out, oldKey) {
		t.Errorf("configure-a-node.md printed %s", out)
	}
}
