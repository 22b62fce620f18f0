package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(c.OutOrStdout(), version())
			return err
		},
	}
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
	release := releaseOf(info)
	if release == unreleased {
		release += ", not a release"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := "unknown (built without version control information)"
	if settings["vcs.revision"] != "" {
		revision = settings["vcs.revision"] + " from " + settings["vcs.time"]
	}
	if settings["vcs.modified"] == "true" {
		revision += ", with uncommitted changes"
	}
	return fmt.Sprintf("pingpost %s\nrevision %s\n%s %s/%s\n", release, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
