package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	machine := "\n" + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	stamped := []debug.BuildSetting{{Key: "vcs.revision", Value: "4f207c3"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "false"}}
	changed := append(stamped[:2:2], debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	for want, info := range map[string]debug.BuildInfo{
		"pingpost v1.2.3\nrevision 4f207c3 of 2026-01-02T03:04:05Z":                                                           {Main: debug.Module{Version: "v1.2.3"}, Settings: stamped},
		"pingpost v1.2.3\nrevision 4f207c3 of 2026-01-02T03:04:05Z, with changes that are not committed":                      {Main: debug.Module{Version: "v1.2.3"}, Settings: changed},
		"pingpost (devel), a build without a version\nrevision 4f207c3 of 2026-01-02T03:04:05Z":                               {Main: debug.Module{Version: "(devel)"}, Settings: stamped},
		"pingpost (devel), a build without a version\nrevision unknown, built outside of its repository or without asking it": {},
	} {
		if got := describe(&info); got != want+machine {
			t.Errorf("got %q, want %q", got, want+machine)
		}
	}
}

// TestVersion asks this very build: a flag and a command, one answer.
func TestVersion(t *testing.T) {
	t.Parallel()
	told := pingpost(t, "version").ok(t)
	if !strings.HasPrefix(told, "pingpost ") || !strings.Contains(told, "\nrevision ") || !strings.Contains(told, runtime.Version()) {
		t.Errorf("printed %q", told)
	}
	if flag := pingpost(t, "--version").ok(t); flag != told {
		t.Errorf("--version prints %q, version %q", flag, told)
	}
	pingpost(t, "version", "extra").refused(t, 2, "version --help")
}
