package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/config"
)

func configCommand() *cobra.Command {
	return group("config", "Check or show the configuration", configCheck(), configShow())
}

func configCheck() *cobra.Command {
	c := &cobra.Command{
		Use: "check", Short: "List errors and warnings in the configuration", Args: noArgs,
		Long: "List all errors and warnings in the configuration. This command checks only settings. `serve` also\n" +
			"checks the database, its schema and its role when it starts.",
	}
	file := configFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := config.Load(source(*file, config.Serve))
		if err != nil {
			return err
		}
		for _, w := range cfg.Warnings() {
			fmt.Fprintln(c.OutOrStdout(), "warning:", w)
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
