package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/migrations"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	machine := "\n" + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	stamped := []debug.BuildSetting{
		{Key: "vcs.revision", Value: "4f207c3"},
		{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
		{Key: "vcs.modified", Value: "false"},
	}
	changed := append(stamped[:2:2], debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	seen := map[string]bool{}
	for _, c := range []struct {
		info  debug.BuildInfo
		names []string
	}{
		{
			debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: stamped},
			[]string{"pingpost v1.2.3\n", " 4f207c3 ", "2026-01-02T03:04:05Z"},
		},
		{
			debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: changed},
			[]string{"pingpost v1.2.3\n", " 4f207c3 ", "2026-01-02T03:04:05Z"},
		},
		{
			debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: stamped},
			[]string{"pingpost (devel)", " 4f207c3 ", "2026-01-02T03:04:05Z"},
		},
		{debug.BuildInfo{}, []string{"pingpost (devel)"}},
	} {
		got := describe(&c.info)
		for _, name := range c.names {
			if !strings.Contains(got, name) {
				t.Errorf("%q does not contain %q", got, name)
			}
		}
		if !strings.HasSuffix(got, machine) || strings.Count(got, "\n") != 4 || seen[got] {
			t.Errorf("got %q, want 4 lines that differ from other builds, the last %q", got, machine)
		}
		seen[got] = true
	}
}

// TestVersion checks that `version` and --version print the same text.
func TestVersion(t *testing.T) {
	t.Parallel()
	out := pingpost(t, "version").ok(t)
	if !strings.HasPrefix(out, "pingpost ") || !strings.Contains(out, "\nrevision ") ||
		!strings.Contains(out, runtime.Version()) {
		t.Errorf("printed %q", out)
	}
	if flag := pingpost(t, "--version").ok(t); flag != out {
		t.Errorf("--version prints %q, version %q", flag, out)
	}
	if version := member(t, pingpost(t, "version", "--json").ok(t), "version"); version == "" || !strings.HasPrefix(out, "pingpost "+version) {
		t.Errorf("--json prints the version %q", version)
	}
	latest, err := migrations.Latest()
	if err != nil {
		t.Fatal(err)
	}
	var v versionView
	if err := json.Unmarshal([]byte(pingpost(t, "version", "--json").ok(t)), &v); err != nil {
		t.Fatal(err)
	}
	if v.Schema != latest || v.OldestProgram < 1 || v.OldestProgram > latest {
		t.Errorf("--json prints schema %d and oldest program %d, but the newest migration is %d", v.Schema, v.OldestProgram, latest)
	}
	pingpost(t, "version", "extra").fails(t, 2, "version --help")
}
