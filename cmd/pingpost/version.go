package main

import (
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

// version describes this build. The go command embeds the information in the program.
func version() string {
	info, known := debug.ReadBuildInfo()
	if !known {
		info = &debug.BuildInfo{}
	}
	return describe(info)
}

func describe(info *debug.BuildInfo) string {
	release := info.Main.Version
	if release == "" || release == "(devel)" {
		release = "(devel), not a release"
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
