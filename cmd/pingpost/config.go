package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/platform/config"
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
	file, asJSON := configFlag(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := config.Load(source(*file, config.Serve))
		var invalid config.Problems
		if errors.As(err, &invalid) && *asJSON {
			return errors.Join(printJSON(c.OutOrStdout(), checkView{problemViews(invalid), []problemView{}}), err)
		}
		if err != nil {
			return err
		}
		failures, warnings := app.CheckSettings(c.Context(), cfg)
		if *asJSON {
			if err := printJSON(c.OutOrStdout(), checkView{problemViews(failures), problemViews(warnings)}); err != nil {
				return err
			}
		} else {
			for _, w := range warnings {
				fmt.Fprintln(c.OutOrStdout(), "warning:", w)
			}
		}
		if len(failures) > 0 {
			return failures
		}
		if !*asJSON {
			fmt.Fprintln(c.OutOrStdout(), "the configuration is valid")
		}
		return nil
	}
	return c
}

type checkView struct {
	Problems []problemView `json:"problems"`
	Warnings []problemView `json:"warnings"`
}

type problemView struct {
	Setting string `json:"setting"`
	Text    string `json:"text"`
}

func problemViews(problems config.Problems) []problemView {
	views := make([]problemView, len(problems))
	for i, p := range problems {
		views[i] = problemView{p.Path, p.Text}
	}
	return views
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
