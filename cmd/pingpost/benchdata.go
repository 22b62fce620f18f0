package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/benchdata"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/devvault"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func benchDataCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "bench-data",
		Short: "Fill a database with synthetic partners, leads and pings",
		Long: `Fill a database with synthetic partners, leads and pings, up to the numbers given,
to see how growth changes things. Never do that where real leads are: nothing
removes them again. It may be stopped at any time, and run again.`,
		Args: noArgs,
	}
	reach := reachFlags(c)
	plan := benchdata.Plan{}
	c.Flags().IntVar(&plan.Partners, "partners", 10_000, "how many synthetic partners there shall be")
	c.Flags().IntVar(&plan.Leads, "leads", 10_000_000, "how many leads there shall be, about 2 KB each")
	c.Flags().IntVar(&plan.Pings, "pings", 100_000_000, "how many recorded pings there shall be, about 150 bytes each")
	database := c.Flags().String("database", "", "the `NAME` of the database, to confirm that it is this one (not needed for a dev's)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if plan.Partners < 0 || plan.Leads < 0 || plan.Pings < 0 {
			return usageError{fmt.Errorf("numbers are zero or more")}
		}
		return onKeys(c, reach, devvault.Serve, func(k *keyRing) error {
			var name string
			if err := k.db.Pool.QueryRow(c.Context(), `SELECT current_database()`).Scan(&name); err != nil {
				return err
			}
			if !k.dev && *database != name {
				return fmt.Errorf("this would fill the database %q with synthetic leads for good: confirm with --database %s", name, shellWord(name))
			}
			return fillDatabase(c, k, plan)
		})
	}
	return c
}

func fillDatabase(c *cobra.Command, k *keyRing, plan benchdata.Plan) error {
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		return err
	}
	due := onceASecond()
	f := benchdata.Filler{
		DB: k.db, Keys: k.platform, Wrappers: k.wrappers.Wrappers, Taxonomy: taxonomy, Now: clock.System{}.Now(),
		Tell: func(what string, there, of int) {
			if due() || there == of {
				fmt.Fprintf(c.ErrOrStderr(), "%d of %d %s\n", there, of, what)
			}
		},
	}
	return f.Fill(c.Context(), plan)
}
