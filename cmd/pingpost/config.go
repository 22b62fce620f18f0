package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/config"
	"github.com/pingpost/pingpost/internal/postgres"
)

func configCommand() *cobra.Command {
	return group("config", "Check or show the configuration", configCheck(), configShow())
}

func configCheck() *cobra.Command {
	c := &cobra.Command{
		Use: "check", Short: "List errors and warnings in the configuration", Args: noArgs,
		Long: "List all errors and warnings in the configuration. This command checks settings, and whether the\n" +
			"files and folders that they name can be used by the current user. `serve` also checks the database, its\n" +
			"schema and its role when it starts.",
	}
	file := configFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := config.Load(source(*file, config.Serve))
		if err != nil {
			return err
		}
		failures, warnings := cfg.CheckFiles()
		if err := postgres.CheckURL(cfg.Database.URL.Reveal()); err != nil {
			failures = append(failures, config.Problem{Text: err.Error()})
		}
		for _, w := range slices.Concat(cfg.Warnings(), app.JournalWarning(c.Context(), cfg), warnings) {
			fmt.Fprintln(c.OutOrStdout(), "warning:", w)
		}
		if len(failures) > 0 {
			return failures
		}
		fmt.Fprintln(c.OutOrStdout(), "the configuration is valid")
		return nil
	}
	return c
}

func configShow() *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Print the effective configuration, with secrets redacted", Args: noArgs}
	file := configFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := config.Load(source(*file, config.Serve))
		if err != nil {
			return err
		}
		fmt.Fprint(c.OutOrStdout(), cfg.Redacted())
		return nil
	}
	return c
}
