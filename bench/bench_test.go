package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devpg"
)

func TestMain(m *testing.M) {
	devpg.RunIfChild()
	runIfChild()
	os.Exit(m.Run())
}

// testLab returns a lab for very short scenarios. It is not closed with t.Cleanup, because the test's context
// has ended by then, and has stopped the children.
func testLab(t *testing.T) *lab {
	return &lab{
		size: size{
			rounds: 1, length: 400 * time.Millisecond, divisor: 100, postsPerSecond: 1500, shortJobs: true,
		},
		progress: t.Output(),
	}
}

// TestScenarios runs all scenarios and checks the document.
func TestScenarios(t *testing.T) {
	r, err := testLab(t).run(t.Context(), scenarioNames())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.scenarios {
		for _, f := range s.figures {
			// This test sends fewer pings.
			if len(f.values) == 0 && !strings.HasPrefix(f.name, "resident memory") {
				t.Errorf("%s: %s was not measured", s.name, f.name)
			}
		}
	}
	text := r.document()
	for _, want := range []string{"\n## Ping\n", "\n## Post\n", "\n## Growth\n", "× ", " ns", "`make bench`"} {
		if !strings.Contains(text, want) {
			t.Errorf("the document does not contain %q", want)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{host, os.TempDir() + "/", "127.0.0.1", "¬", "%!"} {
		if strings.Contains(text, name) {
			t.Errorf("the document contains %q", name)
		}
	}
	if gap := regexp.MustCompile(`\n\n\n|\n\|[^\n]*\n\n\|`).FindString(text); gap != "" {
		t.Errorf("a table in the document is broken at %q", gap)
	}
}

// TestChecks sends pings and posts, deletes one row from each table in turn, and tests that this is detected.
func TestChecks(t *testing.T) {
	l := testLab(t)
	defer func() {
		if err := l.cleanUp(0); err != nil {
			t.Error(err)
		}
	}()
	ctx := t.Context()
	if err := l.open(ctx); err != nil {
		t.Fatal(err)
	}
	p, err := l.newProduct(ctx, "product_checked", productJob{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []contender{p.sendsPings("", loadJob{}), p.sendsPosts("", loadJob{})} {
		if sent, err := c.run(ctx, time.Second); err != nil || sent.count == 0 {
			t.Fatalf("%+v, %v", sent, err)
		}
	}
	if err := p.checkLeads(ctx); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"leads", "lead_keys", "consents", "ledger_entries", "lead_events"} {
		without(t, p.database, table, func() {
			if err := p.checkLeads(ctx); err == nil {
				t.Errorf("a missing row in %s is not detected", table)
			}
		})
	}
	if err := p.exec(ctx, `ALTER SYSTEM SET synchronous_commit = off`, `SELECT pg_reload_conf()`); err != nil {
		t.Fatal(err)
	}
	if ok, err := await(ctx, 10*time.Second, func() (bool, error) {
		_, err := l.describeMachine(ctx)
		return err != nil, nil
	}); !ok || err != nil {
		t.Errorf("synchronous_commit = off is not detected: %v", err)
	}
	if err := p.exec(ctx, `DELETE FROM pings WHERE transaction = (SELECT transaction FROM pings LIMIT 1)`); err != nil {
		t.Fatal(err)
	}
	limited, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if err := p.awaitRecorded(limited); err == nil {
		t.Error("a missing ping is not detected")
	}
}

// without calls a function while one row of a table is deleted.
func without(t *testing.T, d *database, table string, f func()) {
	t.Helper()
	if err := d.exec(t.Context(), "BEGIN", "SET LOCAL session_replication_role = replica",
		"DELETE FROM "+table+" WHERE ctid = (SELECT ctid FROM "+table+" LIMIT 1)"); err != nil {
		t.Fatal(err)
	}
	f()
	if err := d.exec(context.WithoutCancel(t.Context()), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}

func scenarioNames() (names []string) {
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	return names
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		args, document string
		scenarios      int
	}{
		{args: "", document: documentPath, scenarios: len(scenarios())},
		{args: "-quick", scenarios: len(scenarios())},
		{args: "-quick -o x.md", document: "x.md", scenarios: len(scenarios())},
		{args: "-only functions,ping", scenarios: 2},
		{args: "-only functions,"},
		{args: "-only pings"},
		{args: "ping"},
		{args: "-rounds 3"},
	} {
		only, document, err := testLab(t).parse(strings.Fields(c.args))
		if (err == nil) != (c.scenarios > 0) || err == nil && (len(only) != c.scenarios || document != c.document) {
			t.Errorf("%q: got %v, %q, %v", c.args, only, document, err)
		}
	}
}

func TestRunRequiresFolderOfDocument(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := run(t.Context(), nil, t.Output(), t.Output()); err == nil || !strings.Contains(err.Error(), "root") {
		t.Errorf("got %v, want an error about the folder", err)
	}
}

func TestFigures(t *testing.T) {
	turns := func(a, b float64) map[string]turn { return map[string]turn{"a": {extra: a}, "b": {extra: b}} }
	speedUp := ratio("a / b", "a", "b", turn.extraValue).atLeast(0.85)
	for _, a := range []float64{8.49, 9, 8, 0} { // the last one was not measured
		speedUp.add(turns(a, 10))
	}
	time := absolute("a", "a", turn.extraValue, "ns").atMost(1500)
	for _, a := range []float64{1234.6, 1400, 1500} {
		time.add(turns(a, 0))
	}
	detail := absolute("a", "a", turn.extraValue, "µs")
	detail.add(turns(12.345, 0))
	for _, c := range []struct {
		f                             *figure
		value, spread, limit, verdict string
	}{
		{speedUp, "× 0.849", "0.800 – 0.900", "≥ × 0.85", "missed"},
		{time, "1,400 ns", "1,235 – 1,500", "≤ 1,500 ns", "met"},
		{detail, "12.35 µs", "–", "", ""},
		{ratio("a / b", "a", "b", turn.rate), "–", "–", "", "not measured"},
		{&figure{values: []float64{0.84996}, target: 0.85}, "× 0.84996", "–", "≥ × 0.85", "missed"},
		{&figure{values: []float64{30.0004}, target: 30, maximum: true, unit: "s"}, "30.0004 s", "–", "≤ 30 s", "missed"},
	} {
		if v, s, l, r := c.f.value(), c.f.spread(), c.f.limit(), c.f.verdict(); v != c.value || s != c.spread ||
			l != c.limit || r != c.verdict {
			t.Errorf("got %q, %q, %q, %q, want %+v", v, s, l, r, c)
		}
	}
	r := report{scenarios: []*scenario{{title: "S", figures: []*figure{speedUp, time, detail}}}}
	if got := r.missed(); len(got) != 1 || got[0] != "S: a / b: × 0.849, target ≥ × 0.85" {
		t.Errorf("%q", got)
	}
}

func TestOthersSince(t *testing.T) {
	before := usage{all: 10, busy: 5, ours: 1}
	for want, after := range map[float64]usage{
		0:    {all: 18, busy: 6, ours: 2},
		0.25: {all: 18, busy: 9, ours: 3},
	} {
		if got := after.othersSince(before); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	all := processTable{1: {0, 1}, 7: {1, 2}, 8: {7, 4}, 9: {8, 8}, 10: {1, 16}}
	if got := all.time(7); got != 14 {
		t.Errorf("got %v for the process and its descendants, want 14", got)
	}
}

// TestDuringRequiresLongJob checks that a job does not count if it ends before the posts do, except in tests.
func TestDuringRequiresLongJob(t *testing.T) {
	l := &lab{}
	c := contender{run: func(ctx context.Context, length time.Duration) (turn, error) {
		time.Sleep(length)
		return turn{count: 1}, nil
	}}
	endless := func(ctx context.Context) (int64, error) { <-ctx.Done(); return 7, ctx.Err() }
	got, err := l.during(c, "", endless).run(t.Context(), 10*time.Millisecond)
	if err != nil || got.extra < 7 || got.extra > 700 {
		t.Errorf("got %+v, %v", got, err)
	}
	short := func(context.Context) (int64, error) { return 7, nil }
	if _, err := l.during(c, "", short).run(t.Context(), 10*time.Millisecond); err == nil {
		t.Error("got no error for a job that ends too early")
	}
	l.size.shortJobs = true
	got, err = l.during(c, "", short).run(t.Context(), 10*time.Millisecond)
	if err != nil || got.extra == 0 {
		t.Errorf("got %+v, %v for a short job in a test", got, err)
	}
}
