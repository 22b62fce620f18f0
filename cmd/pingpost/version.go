package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/migrations"
)

func versionCommand() *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "Print the version", Args: noArgs}
	asJSON := jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *asJSON {
			return printJSON(c.OutOrStdout(), versionOf(buildInfo()))
		}
		_, err := fmt.Fprint(c.OutOrStdout(), version())
		return err
	}
	return c
}

type versionView struct {
	Version       string `json:"version"`
	Revision      string `json:"revision"` // "" if the build has no version control information
	RevisionTime  string `json:"revision_time"`
	Modified      bool   `json:"modified"`       // whether the build contains uncommitted changes
	Schema        int64  `json:"schema"`         // the schema version that this program needs
	OldestProgram int64  `json:"oldest_program"` // schema version of the oldest program that works with this schema
	Go            string `json:"go"`
	OS            string `json:"os"`
	Arch          string `json:"arch"`
}

func versionOf(info *debug.BuildInfo) versionView {
	v := versionView{Version: releaseOf(info), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	v.Schema, _ = migrations.Latest()               // fails only if the name of an embedded file is wrong
	v.OldestProgram, _ = migrations.OldestProgram() // as above
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.RevisionTime = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// version describes this build.
func version() string { return describe(buildInfo()) }

// buildInfo returns the information about this build that the go command embeds in the program.
func buildInfo() *debug.BuildInfo {
	info, known := debug.ReadBuildInfo()
	if !known {
		info = &debug.BuildInfo{}
	}
	return info
}

const unreleased = "(devel)"

// releaseOf returns the version of a build, such as v1.2.3, or unreleased.
func releaseOf(info *debug.BuildInfo) string { return cmp.Or(info.Main.Version, unreleased) }

func describe(info *debug.BuildInfo) string {
	v := versionOf(info)
	release := v.Version
	if release == unreleased {
		release += ", not a release"
	}
	revision := "unknown (built without version control information)"
	if v.Revision != "" {
		revision = v.Revision + " from " + v.RevisionTime
	}
	if v.Modified {
		revision += ", with uncommitted changes"
	}
	return fmt.Sprintf("pingpost %s\nrevision %s\nschema %d, which works with programs for schema %d or newer\n%s %s/%s\n",
		release, revision, v.Schema, v.OldestProgram, v.Go, v.OS, v.Arch)
}
