package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devstack"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

var draftID = regexp.MustCompile(`rc_[0-9A-Z]{26}`)

// TestPricing changes prices with commands. Drafts must have no effect, and the running node
// must apply published changes.
func TestPricing(t *testing.T) {
	t.Parallel()
	p := &platform{dir: filepath.Join(folder(t), "data")}
	p.development = startDev(t, nil, "--data-dir", p.dir)
	t.Run("export and import", func(t *testing.T) { exportImport(t, p) })
	t.Run("import of changes", func(t *testing.T) { importChanged(t, p) })
	t.Run("invalid files", func(t *testing.T) { importInvalid(t, p) })
	t.Run("rejections", func(t *testing.T) { pricingRejections(t, p) })
	t.Run("set", func(t *testing.T) { setPrices(t, p) })
	t.Run("set and publish", func(t *testing.T) { setAndPublish(t, p) })
	t.Run("explain", func(t *testing.T) { explainPrices(t, p) })
	t.Run("scheduled", func(t *testing.T) { publishLater(t, p) })
	if code := p.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}

// file writes a file and returns its path.
func (p *platform) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(p.dir), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// state returns a hash of all rate cards and the number of audit events, to detect changes.
func (p *platform) state(t *testing.T) (all string) {
	t.Helper()
	err := p.owner(t).QueryRow(t.Context(), `SELECT md5((SELECT string_agg(c::text, '' ORDER BY id) FROM rate_cards c)
		|| (SELECT string_agg(r::text, '' ORDER BY id) FROM pricing_rules r) || (SELECT count(*) FROM audit_events))`).Scan(&all)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// owner connects to the database as the tables' owner.
func (p *platform) owner(t *testing.T) *pgx.Conn {
	t.Helper()
	running, err := devstack.ReadRunning(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	return testkit.Connect(t, running.OwnerURL)
}

// bid sends a ping for a plumber in GB and returns the bid price exactly as in the response.
func (p *platform) bid(t *testing.T, urgency string) string {
	t.Helper()
	_, _, answer := p.partner(0).send(t, "ping", `{"industry":"plumber","postcode":"1","urgency":"`+urgency+`"}`, false)
	_, price, _ := strings.Cut(answer, `"bidPrice":`)
	price, _, _ = strings.Cut(price, ",")
	return price
}

func (p *platform) pays(t *testing.T, urgency, want string) {
	t.Helper()
	testkit.Eventually(t, patience, "the node pays "+want, func() bool { return p.bid(t, urgency) == want })
}

// pasted runs the publish command that it finds in text, with a note.
func pasted(t *testing.T, text string) string {
	t.Helper()
	_, command, found := strings.Cut(text, "pingpost pricing publish ")
	if !found {
		t.Fatalf("no publish command in %s", text)
	}
	command, _, _ = strings.Cut(command, "\n")
	return shell(t, shellQuote(binary)+" pricing publish "+strings.Replace(command, "NOTE", "'as agreed'", 1))
}

// exportImport imports an exported rate card, which must not change any price.
func exportImport(t *testing.T, p *platform) {
	o := p.on(t, "pricing", "export")
	card := o.ok(t)
	if o.stderr != "" || !strings.HasPrefix(card, "# ") || !strings.Contains(card, "\nrules:\n") {
		t.Fatalf("%.100s, %s", card, o.stderr)
	}
	if got := p.on(t, "pricing", "export", "--version", "1").ok(t); got != card {
		t.Errorf("version 1 is not the current version: %.100s", got)
	}
	path := p.file(t, "card.yaml", card)
	for _, args := range [][]string{{"import", path, "--dry-run"}, {"import", path}} {
		o := p.on(t, append([]string{"pricing"}, args...)...)
		if o.ok(t) != "0 changes\n" || strings.Contains(o.stderr, "rc_") || (o.stderr == "") != (len(args) == 3) {
			t.Errorf("%q: %s, %s", args, o.stdout, o.stderr)
		}
	}
	if o := call(t, card, nil, "pricing", "import", "-", "--dry-run", "--data-dir", p.dir); o.ok(t) != "0 changes\n" {
		t.Errorf("from standard input: %s", o.stdout)
	}
	p.on(t, "pricing", "publish", "--note", "x").rejected(t, "not_found/drafts")
}

const (
	wasBase = "base: {GBP: 45.6, EUR: 53.5,"
	newBase = "base: {GBP: 46, EUR: 53.5,"
)

// importChanged imports a changed rate card as a draft and publishes it with the printed command.
func importChanged(t *testing.T, p *platform) {
	card := p.on(t, "pricing", "export").ok(t)
	changed := strings.Replace(card, wasBase, newBase, 1)
	if changed == card {
		t.Fatalf("the rate card does not contain %q", wasBase)
	}
	path, before := p.file(t, "changed.yaml", changed), p.bid(t, "")
	dry := p.on(t, "pricing", "import", path, "--dry-run").ok(t)
	if !strings.HasPrefix(dry, "plumber/GB/standard: 45.60 GBP → 46.00 GBP\n") ||
		!strings.HasSuffix(dry, "\n15 changes\n") || strings.Count(dry, "\n") != 16 {
		t.Errorf("printed %s", dry)
	}
	p.on(t, "pricing", "publish", "--note", "x").rejected(t, "not_found/drafts")
	bom := p.on(t, "pricing", "import", p.file(t, "bom.yaml", "\ufeff"+strings.ReplaceAll(changed, "\n", "\r\n")),
		"--dry-run").ok(t)
	if bom != dry {
		t.Errorf("with a byte-order mark: %s", bom)
	}
	o := p.on(t, "pricing", "import", path, "--title", "Spring")
	if o.ok(t) != dry || !strings.Contains(o.stderr, "Spring") {
		t.Errorf("printed %s, %s", o.stdout, o.stderr)
	}
	draft := draftID.FindString(o.stderr)
	if p.bid(t, "") != before || p.on(t, "pricing", "export").ok(t) != card {
		t.Error("the draft changed current prices")
	}
	inDraft := p.on(t, "pricing", "export", "--draft", draft).ok(t)
	if !strings.Contains(inDraft, draft) || !strings.Contains(inDraft, newBase) {
		t.Errorf("got the draft %.200s", inDraft)
	}
	// Import into the same draft again.
	if again := p.on(t, "pricing", "import", path, "--draft", draft); again.ok(t) != dry ||
		draftID.FindString(again.stderr) != draft {
		t.Errorf("again: %s", again.stderr)
	}
	second := p.on(t, "pricing", "import", path)
	other := draftID.FindString(second.stderr)
	if other == draft {
		t.Error("the second import did not create a draft")
	}
	p.on(t, "pricing", "publish", "--note", "x").rejected(t, "conflict/drafts", "--draft", draft, "Spring", other)
	pasted(t, o.stderr)
	p.pays(t, "", "46")
	p.on(t, "pricing", "publish", "--draft", draft, "--note", "x").rejected(t, "conflict/state")
	p.on(t, "pricing", "publish", "--draft", other, "--note", "x").rejected(t, "conflict/superseded", "as agreed")
	if out := p.on(t, "pricing", "diff", "1", "2").ok(t); out != dry {
		t.Errorf("got the differences %s", out)
	}
	if out := p.on(t, "pricing", "diff", "2", "1").ok(t); !strings.HasPrefix(out, "plumber/GB/standard: 46.00 GBP → 45.60 GBP\n") {
		t.Errorf("got the differences from 2 to 1 %s", out)
	}
	if out := p.on(t, "pricing", "diff", "2", "2").ok(t); out != "0 changes\n" {
		t.Errorf("got the differences from 2 to 2 %s", out)
	}
}

// importInvalid imports files with errors. Each import must report the line number of each error
// and change nothing.
func importInvalid(t *testing.T, p *platform) {
	before := p.state(t)
	for _, c := range map[string]struct {
		text string
		says []string
	}{
		"empty":              {"", []string{":1: "}},
		"only a BOM":         {"\ufeff", []string{":1: "}},
		"binary":             {"\x7fELF\x02\x01\x01\x00\xff\xfe\x00\x80", []string{":1: "}},
		"not YAML":           {"rules: [", []string{":2: "}},
		"a list":             {"- base: {GBP: 1}", []string{":1: "}},
		"no rules":           {"rules: []", []string{"GBP"}},
		"aliases":            {"rules:\n  - &a\n    base: {GBP: 1}\n  - *a", []string{":4: "}},
		"two documents":      {"rules: []\n---\nrules: []", []string{":2: "}},
		"unknown slug":       {"rules:\n  - industry: plumbr\n    base: {GBP: 1}", []string{":2: ", `"plumbr"`}},
		"unknown key":        {"rules:\n  - bse: {GBP: 1}", []string{":2: ", `"bse"`}},
		"negative":           {"rules:\n  - base: {GBP: -1}", []string{":2: ", "GBP"}},
		"zero":               {"rules:\n  - base: {GBP: 0}", []string{":2: ", "GBP"}},
		"three decimals":     {"rules:\n  - base: {GBP: 1.234}", []string{":2: ", "GBP"}},
		"too high":           {"rules:\n  - base: {GBP: 1000000.01}", []string{":2: ", "GBP", "1000000"}},
		"unknown currency":   {"rules:\n  - base: {XXX: 5}", []string{":2: ", `"XXX"`}},
		"duplicate currency": {"rules:\n  - base: {GBP: 5, GBP: 6}", []string{":2: ", `"GBP"`}},
		"no currency":        {"rules:\n  - base: 45.6", []string{":2: "}},
		"overlapping rules":  {"rules:\n  - industry: plumber\n    base: {GBP: 5}\n  - industry: plumber\n    base: {GBP: 6}", []string{":5: ", "industry: plumber"}},
		"several errors":     {"rules:\n  - base: {GBP: -1}\n  - industry: plumbr\n    multiplier: 0", []string{":2: ", ":3: ", ":4: "}},
		"50 MB":              {strings.Repeat("rules: []\n", 5<<20), []string{"5 MB"}},
	} {
		path := p.file(t, "bad.yaml", c.text)
		for _, args := range [][]string{{"--dry-run"}, nil} {
			p.on(t, append([]string{"pricing", "import", path}, args...)...).fails(t, 1, append(c.says, path)...)
		}
	}
	if after := p.state(t); after != before {
		t.Error("rejected commands changed the database")
	}
	p.on(t, "pricing", "import", filepath.Join(p.dir, "nowhere.yaml")).fails(t, 1, "nowhere.yaml")
	p.on(t, "pricing", "import", filepath.Dir(p.dir)).fails(t, 1, filepath.Dir(p.dir))
	p.on(t, "pricing", "import", "-", "--draft", "rc_none").fails(t, 1, ":1: ")
}

// pricingRejections checks that usage errors have exit code 2 and that failures have exit code 1.
func pricingRejections(t *testing.T, p *platform) {
	before := p.state(t)
	cell := []string{"set", "--industry", "plumber", "--country", "GB"}
	with := func(first []string, more ...string) []string { return append(append([]string{}, first...), more...) }
	for _, c := range []struct {
		args  []string
		names string
	}{
		{[]string{"frobnicate"}, `"frobnicate"`},
		{[]string{"export", "more"}, "pricing export --help"},
		{[]string{"export", "--version", "0"}, "version"},
		{[]string{"export", "--version", "-1"}, "version"},
		{[]string{"export", "--version", "1", "--draft", "rc_1"}, "draft"},
		{[]string{"export", "--version", "one"}, "--version"},
		{[]string{"import"}, "pricing import --help"},
		{[]string{"import", "a", "b"}, "pricing import --help"},
		{[]string{"import", "-", "--draft", "rc_1", "--title", "x"}, "--title"},
		{[]string{"diff", "1"}, "pricing diff --help"},
		{[]string{"diff", "1", "two"}, `"two"`},
		{[]string{"diff", "1", "0"}, `"0"`},
		{[]string{"publish"}, "--note"},
		{[]string{"publish", "--note", "x", "--at", "tomorrow"}, "--at"},
		{[]string{"set", "--industry", "plumber", "--base", "5"}, "--country"},
		{cell, "--base"},
		{with(cell, "--base", "-5"), "--base"},
		{with(cell, "--base", "0"), "--base"},
		{with(cell, "--base", "1.234"), "--base"},
		{with(cell, "--base", "45,60"), "--base"},
		{with(cell, "--base", "1000000.01"), "--base"},
		{with(cell, "--base", "5", "--publish"), "--note"},
		{with(cell, "--base", "5", "--note", "x"), "--publish"},
		{with(cell, "--base", "5", "--publish", "--note", "x", "--draft", "rc_1"), "--draft"},
		{[]string{"explain", "--industry", "plumber"}, "--country"},
	} {
		p.on(t, append([]string{"pricing"}, c.args...)...).fails(t, 2, c.names)
	}
	for _, c := range []struct {
		args []string
		code string
	}{
		{[]string{"export", "--version", "77"}, "not_found/version"},
		{[]string{"export", "--draft", "rc_77"}, "not_found/draft"},
		{[]string{"diff", "1", "77"}, "not_found/version"},
		{[]string{"publish", "--note", "x", "--draft", "rc_77"}, "not_found/draft"},
		{with(cell, "--base", "5", "--publish", "--note", "a\nb"), "invalid/text"},
		{with(cell, "--base", "5", "--publish", "--note", "x", "--urgency", "soon"), "invalid/urgency"},
		{[]string{"set", "--industry", "plumbr", "--country", "GB", "--base", "5", "--publish", "--note", "x"}, "invalid/industry"},
		{[]string{"set", "--industry", "plumber", "--country", "JP", "--base", "5", "--publish", "--note", "x"}, "invalid/country"},
		{[]string{"explain", "--industry", "plumbr", "--country", "GB"}, "invalid/industry"},
		{[]string{"explain", "--industry", "plumber", "--country", "France"}, "invalid/country"},
		{[]string{"explain", "--industry", "plumber", "--country", "GB", "--partner", "unknown"}, "not_found/partner"},
		{[]string{"explain", "--industry", "plumber", "--country", "GB", "--version", "77"}, "not_found/version"},
	} {
		p.on(t, append([]string{"pricing"}, c.args...)...).rejected(t, c.code)
	}
	if after := p.state(t); after != before {
		t.Error("rejected commands changed the database")
	}
}

// setPrices sets prices in the only open draft.
func setPrices(t *testing.T, p *platform) {
	live := p.on(t, "pricing", "export").ok(t)
	set := []string{"pricing", "set", "--industry", "plumber", "--country", "GB"}
	left := draftID.FindString(p.on(t, append(set, "--base", "60")...).ok(t))
	o := p.on(t, "pricing", "set", "--industry", "plumber", "--country", "UK", "--urgency", "emergency", "--base", "50")
	if !strings.Contains(o.ok(t), "50.00 GBP\n") || !strings.Contains(o.stdout, "pingpost pricing publish --draft "+left) {
		t.Errorf("printed %s", o.stdout)
	}
	p.on(t, append(set, "--base", "60")...).rejected(t, "invalid/nothing", left)
	if draft := p.on(t, "pricing", "export", "--draft", left).ok(t); !strings.Contains(draft, "base: {GBP: 60}") || !strings.Contains(draft, "base: {GBP: 50}") || p.on(t, "pricing", "export").ok(t) != live {
		t.Errorf("got the draft %s", draft)
	}
}

// setAndPublish publishes one change immediately, without the changes in the open draft.
func setAndPublish(t *testing.T, p *platform) {
	before := p.bid(t, "")
	set := []string{"pricing", "set", "--industry", "plumber", "--country", "GB", "--urgency", "urgent", "--base",
		"52", "--publish", "--note", "Storm"}
	p.on(t, set...).ok(t)
	p.pays(t, "urgent", "62.4") // × 1.2, like all urgent leads
	if p.bid(t, "") != before {
		t.Errorf("the price for other urgencies changed from %s to %s", before, p.bid(t, ""))
	}
	if out := p.on(t, "pricing", "diff", "2", "3").ok(t); out != "plumber/GB/urgent: 55.20 GBP → 62.40 GBP\n1 change\n" {
		t.Errorf("got the differences %s", out)
	}
	changes := printed[[]changeView](t, p.on(t, "pricing", "diff", "2", "3", "--json"))
	if len(changes) != 1 || changes[0].Industry != "plumber" || changes[0].Country != "GB" ||
		changes[0].Urgency != "urgent" ||
		*changes[0].Old.Price != "55.20" || *changes[0].New.Price != "62.40" || changes[0].New.Currency != "GBP" {
		t.Errorf("got the differences %+v", changes)
	}
	p.on(t, set...).rejected(t, "invalid/nothing")
}

func explainPrices(t *testing.T, p *platform) {
	_, err := p.owner(t).Exec(t.Context(), `INSERT INTO partner_prices (partner_id, adjustment, exclusions, updated_at)
		SELECT id, 525, '[{"country": "FR"}]', now() FROM partners WHERE slug = $1`, p.partner(1).slug)
	if err != nil {
		t.Fatal(err)
	}
	cell := []string{"pricing", "explain", "--industry", "plumber", "--country", "GB"}
	e := printed[explanationView](t, p.on(t, append(cell, "--urgency", "urgent", "--json")...))
	if e.Industry != "plumber" || e.Country != "GB" || e.Urgency != "urgent" || *e.Result.Price != "62.40" ||
		len(e.Steps) < 2 || e.PartnerExcludes {
		t.Errorf("explained %+v", e)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--version", "1"}, []string{"plumber/GB/standard: 45.6 GBP\n", "base"}},
		{nil, []string{"plumber/GB/standard: 46 GBP\n"}},
		{[]string{"--country", "UK"}, []string{"plumber/GB/standard: 46 GBP\n"}},
		{[]string{"--urgency", "urgent"}, []string{"plumber/GB/urgent: 62.4 GBP\n", "× 1.2", "urgency: urgent"}},
		{[]string{"--urgency", "whenever"}, []string{"plumber/GB/standard: 46 GBP\n"}},
		{[]string{"--partner", p.partner(0).slug}, []string{"plumber/GB/standard: 46 GBP\n"}},
		{[]string{"--partner", p.partner(1).slug}, []string{"plumber/GB/standard: 48.42 GBP\n", "+5.25%", "= 48.415"}},
		{[]string{"--partner", p.partner(1).slug, "--country", "FR"}, []string{"plumber/FR/standard: "}},
	} {
		out := p.on(t, append(append([]string{}, cell...), c.args...)...).ok(t)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%q: %s, want %s", c.args, out, want)
			}
		}
	}
	if out := p.on(t, "pricing", "explain", "--industry", "plumber", "--country", "JP").ok(t); !strings.HasPrefix(out, "plumber/other/standard: ") {
		t.Errorf("printed %s", out)
	}
}

// publishLater schedules a draft. Until it is published, nothing else can be published.
func publishLater(t *testing.T, p *platform) {
	card := strings.Replace(p.on(t, "pricing", "export").ok(t), newBase, "base: {GBP: 47, EUR: 53.5,", 1)
	draft := draftID.FindString(p.on(t, "pricing", "import", p.file(t, "later.yaml", card)).stderr)
	publish := []string{"pricing", "publish", "--draft", draft, "--note", "x", "--at"}
	now := clock.System{}.Now().UTC()
	for _, at := range []time.Time{now.Add(-time.Minute), now.AddDate(0, 0, 91)} {
		p.on(t, append(publish, at.Format(time.RFC3339))...).rejected(t, "invalid/at")
	}
	at := now.Add(time.Hour).Truncate(time.Second)
	scheduled := printed[cardView](t, p.on(t, append(publish, at.Format(time.RFC3339), "--json")...))
	if scheduled.ID != draft || scheduled.State != "scheduled" || !scheduled.EffectiveAt.Equal(at) ||
		scheduled.Version != 0 {
		t.Errorf("published %+v", scheduled)
	}
	p.on(t, "pricing", "publish", "--draft", draft, "--note", "x").rejected(t, "conflict/state")
	p.on(t, "pricing", "set", "--industry", "roofer", "--country", "GB", "--base", "60", "--publish", "--note", "x").rejected(t, "conflict/scheduled")
	// The node uses the system clock, so the time of publication is moved instead.
	if _, err := p.owner(t).Exec(t.Context(), `UPDATE rate_cards SET effective_at = now() WHERE state = 'scheduled'`); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, "the draft is published", func() bool { return p.bid(t, "") == "47" })
	if out := p.on(t, "pricing", "diff", "3", "4").ok(t); !strings.HasSuffix(out, "\n14 changes\n") {
		t.Errorf("got the differences %s", out)
	}
}

// TestSecondPerson checks that commands submit drafts instead of publishing them if a second user
// must approve them.
func TestSecondPerson(t *testing.T) {
	t.Parallel()
	p := &platform{dir: filepath.Join(folder(t), "data")}
	p.development = startDev(t, []string{"PINGPOST_PRICING_REQUIRE_APPROVAL=true"}, "--data-dir", p.dir)
	before := p.bid(t, "")
	o := p.on(t, "pricing", "set", "--industry", "plumber", "--country", "GB", "--base", "60", "--publish", "--note", "Storm")
	draft := draftID.FindString(o.ok(t))
	if draft == "" {
		t.Errorf("printed %q", o.stdout)
	}
	p.on(t, "pricing", "publish", "--draft", draft, "--note", "x").rejected(t, "conflict/state")
	p.on(t, "pricing", "export", "--version", "2").rejected(t, "not_found/version")
	if p.bid(t, "") != before {
		t.Errorf("the price changed from %s to %s", before, p.bid(t, ""))
	}
	if code := p.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}
