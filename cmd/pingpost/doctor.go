package main

import (
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/dev/devvault"
)

func doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "doctor", Short: "Check the settings and every connection that a node needs", Args: noArgs,
		Long: "Connect to everything that is configured: the database, Vault, the erasure journal, the public URLs\n" +
			"and the collector of traces. For each check, this command prints what it found and, if there is a\n" +
			"problem, what to do. If a check fails, checks that depend on it are left out, and the command exits\n" +
			"with 1. It needs no running node. In the database and the erasure journal, it writes only test data.",
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, running, err := flags.load()
		if err != nil {
			return err
		}
		if running != nil {
			useKeysOf(running, cfg, devvault.Serve)
		}
		findings := app.Diagnose(c.Context(), cfg, flags.clock)
		failed := slices.ContainsFunc(findings, func(f app.Finding) bool { return f.Status == app.FindingFailed })
		if *asJSON {
			err = printJSON(c.OutOrStdout(), doctorOutput(findings, failed))
		} else {
			table := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, f := range findings {
				fmt.Fprintf(table, "%s\t%s\t%s\n", f.Status, f.Check, f.Text)
			}
			err = table.Flush()
		}
		if failed {
			err = errors.Join(err, errDoctor)
		}
		return err
	}
	return c
}

var errDoctor = errors.New("at least one check failed")

type doctorView struct {
	OK       bool          `json:"ok"` // whether no check failed
	Findings []findingView `json:"findings"`
}

type findingView struct {
	Check  string            `json:"check"`
	Status app.FindingStatus `json:"status"` // ok, warning or failed
	Text   string            `json:"text"`
}

func doctorOutput(findings []app.Finding, failed bool) doctorView {
	v := doctorView{OK: !failed, Findings: make([]findingView, len(findings))}
	for i, f := range findings {
		v.Findings[i] = findingView(f)
	}
	return v
}
