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
	c := &cobra.Command{
		Use: "check", Short: "List what `serve` would refuse in it or warn about", Args: noArgs,
		Long: "List everything in the configuration that `serve` would refuse or warn about. It looks at the\n" +
			"configuration alone: whether there is a database behind it, with the right schema and role,\n" +
			"`serve` finds out when it starts.",
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
			return err
		}
		fmt.Fprint(c.OutOrStdout(), cfg.Redacted())
		return nil
	}
	return c
}
