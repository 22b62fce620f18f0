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
		Short: "Tell which build this is",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(c.OutOrStdout(), version())
			return err
		},
	}
}

// version is what the go tool wrote into this program.
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
		release = "(devel), a build without a version"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := "unknown, built outside of its repository or without asking it"
	if settings["vcs.revision"] != "" {
		revision = settings["vcs.revision"] + " of " + settings["vcs.time"]
	}
	if settings["vcs.modified"] == "true" {
		revision += ", with changes that are not committed"
	}
	return fmt.Sprintf("pingpost %s\nrevision %s\n%s %s/%s\n", release, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
