package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/config"
)

func configCommand() *cobra.Command {
	return group("config", "The service's configuration", configCheck(), configShow())
}

func configCheck() *cobra.Command {
	c := &cobra.Command{Use: "check", Short: "List everything that `serve` would refuse or warn about", Args: noArgs}
	file := configFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := config.Load(source(*file, config.Serve))
		if err != nil {
			return fmt.Errorf("the configuration is refused:\n%w", err)
		}
		for _, w := range cfg.Warnings() {
			fmt.Fprintln(c.OutOrStdout(), "warning:", w)
		}
		fmt.Fprintln(c.OutOrStdout(), "the configuration is complete")
		return nil
	}
	return c
}

func configShow() *cobra.Command {
	c := &cobra.Command{Use: "show", Short: "Print the configuration in force, secrets redacted", Args: noArgs}
	file := configFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := config.Load(source(*file, config.Serve))
		if err != nil {
			return fmt.Errorf("the configuration is refused:\n%w", err)
		}
		fmt.Fprint(c.OutOrStdout(), cfg.Redacted())
		return nil
	}
	return c
}
