package main

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/bench/benchdata"
	"github.com/pingpost/pingpost/bench/child"
	"github.com/pingpost/pingpost/internal/dev/devpg"
)

func TestMain(m *testing.M) {
	devpg.RunIfChild()
	child.RunIfChild(roles())
	os.Exit(m.Run())
}

// tiny returns a plan with minimal sizes, for testing that all parts work.
func tiny() plan {
	return plan{
		PingRounds: 1, PingRound: 500 * time.Millisecond,
		// A round must take longer than a transaction in the slow database. Otherwise, no posts would be
		// rejected.
		PostRounds: 1, PostRound: slowTransaction + time.Second, Connections: 2,
		FineRounds: 1, FineRound: 500 * time.Millisecond,
		MicroRounds: 1, MicroTime: time.Millisecond,
		ManyPartners: 500, MemoryPings: 500,
		ReplayPings: 3000, ReplayRounds: 1,
		FinanceRows: 3000, FinanceRounds: 1,
		RewrapLeads: 100, RewrapRounds: 1, RetentionLeads: 5000, RetentionRounds: 1,
		Growth: benchdata.Plan{Partners: 3, Leads: 20_001, Pings: 1000}, CapLeads: 1000,
	}
}

// TestStage creates one stage and uses it to test all parts of the benchmark and then the checks.
func TestStage(t *testing.T) {
	b := &bench{plan: tiny(), output: t.Output()}
	var err error
	if b.stage, err = openStage(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.stage.fastestPosts = 1500 // as many as it can store with the race detector
	defer func() {              // not Cleanup, because the context would already have ended and stopped the children
		if err := b.stage.close(); err != nil {
			t.Error(err)
		}
	}()
	t.Run("parts", b.testParts)
	t.Run("checks", b.stage.testChecks)
}

// testParts measures every part very briefly and renders the document.
func (b *bench) testParts(t *testing.T) {
	benchtime := flag.Lookup("test.benchtime").Value.String()
	t.Cleanup(func() { flag.Set("test.benchtime", benchtime) })
	m, err := b.stage.machine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.measure(t.Context(), parts()); err != nil {
		t.Fatal(err)
	}
	for _, part := range parts() {
		if len(b.report.of(part)) == 0 {
			t.Errorf("part %s has no figures", part)
		}
	}
	for _, f := range b.report.figures {
		if f.verdict() == unmeasured {
			t.Errorf("%s: %s was not measured", f.part, f.what)
		}
		for _, v := range append(f.values, f.floors...) {
			if v < 0 || v > 1e9 {
				t.Errorf("%s: %s is %v", f.part, f.what, v)
			}
		}
	}
	var table strings.Builder
	if err := b.report.print(&table); err != nil || strings.Count(table.String(), "\n") != 1+len(b.report.figures) {
		t.Errorf("%v:\n%s", err, &table)
	}
	b.checkDocument(t, m)
}

// checkDocument checks that the document contains figures and the machine's properties, and that nothing
// in it identifies the machine.
func (b *bench) checkDocument(t *testing.T, m machine) {
	t.Helper()
	document, err := b.document(m)
	if err != nil {
		t.Fatal(err)
	}
	text := string(document)
	for _, part := range []string{"× ", " ns", " MB", "per second", m.CPU, m.Go, m.Postgres, m.System} {
		if part == "" || !strings.Contains(text, part) {
			t.Errorf("the document does not contain %q", part)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{host, folder, os.TempDir() + "/", "127.0.0.1", "<no value>", "%!"} {
		if strings.Contains(text, name) {
			t.Errorf("the document contains %q", name)
		}
	}
	if gap := regexp.MustCompile(`\n\n\n|\n\|[^\n]*\n\n\|`).FindString(text); gap != "" {
		t.Errorf("a table in the document is broken at %q", gap)
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		args  string
		want  string // the parts to run
		write bool
		bad   bool
	}{
		{args: "", want: "ping,post,partitions,overload,growth,retention,caps,memory,pricing,reconcile,export,micro", write: true},
		{args: "-write=false", want: "ping,post,partitions,overload,growth,retention,caps,memory,pricing,reconcile,export,micro"},
		{args: "-quick", want: "ping,post,partitions,overload,growth,retention,caps,memory,pricing,reconcile,export,micro"},
		{args: "-only micro,ping", want: "micro,ping"},
		{args: "-only micro,", bad: true},
		{args: "-only pings", bad: true},
		{args: "ping", bad: true},
		{args: "-rounds 3", bad: true},
	} {
		got, err := parse(strings.Fields(c.args), t.Output())
		if (err != nil) != c.bad || !c.bad && (strings.Join(got.only, ",") != c.want || got.write != c.write) {
			t.Errorf("%q: got %+v, %v", c.args, got, err)
		}
	}
}

func TestCommandRequiresDocsFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := command(t.Context(), nil, t.Output()); err == nil || !strings.Contains(err.Error(), "docs") {
		t.Errorf("got %v, want an error about the docs folder", err)
	}
}

func TestMachine(t *testing.T) {
	for name, c := range map[string]struct{ info, cpu, sha string }{
		"Intel without": {"model name\t: Some Processor @ 2.50GHz\nflags\t\t: fpu aes avx2\n", "Some Processor @ 2.50GHz", "no"},
		"AMD with":      {"model name\t: Other Processor\nflags\t\t: fpu sha_ni avx2\n", "Other Processor", "yes"},
		"ARM":           {"processor\t: 0\nFeatures\t: fp asimd sha1 sha2\n", "", "yes"},
		"ARM without":   {"processor\t: 0\nFeatures\t: fp asimd sha1\n", "", "no"},
		"unknown":       {"processor\t: 0\n", "", ""},
	} {
		var m machine
		if m.readCPU(c.info); m.CPU != c.cpu || m.SHA != c.sha {
			t.Errorf("%s: %q, %q", name, m.CPU, m.SHA)
		}
	}
}
