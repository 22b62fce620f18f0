package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/config"
	"github.com/pingpost/pingpost/internal/postgres"
)

func auditCommand() *cobra.Command {
	return group("audit", "The audit trail: what staff, operators and the service did", auditVerify())
}

// auditView is a verdict on the audit trail.
type auditView struct {
	Intact      bool   `json:"intact"`
	Events      int64  `json:"events"`
	Head        string `json:"head"`
	BrokenAt    int64  `json:"broken_at,omitempty"`
	HeadMissing bool   `json:"head_missing,omitempty"`
}

func auditVerify() *cobra.Command {
	c := &cobra.Command{
		Use: "verify", Short: "Check that no event was changed or taken out; ends with 1 when one was", Args: noArgs,
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	head := c.Flags().String("head", "",
		"a `HASH` noted earlier, such as from the service's hourly log line, that must still be in the chain")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, _, err := flags.load(config.SectionDatabase)
		if err != nil {
			return err
		}
		// A long chain takes longer than a request may.
		db, err := postgres.Open(c.Context(), postgres.Options{
			URL: cfg.Database.URL.Reveal(), MaxConnections: 2, ConnectTimeout: cfg.Database.ConnectTimeout,
		})
		if err != nil {
			return err
		}
		defer db.Close()
		v, err := audit.New(db, clock.System{}).Verify(c.Context(), *head)
		if err != nil {
			return err
		}
		if *asJSON {
			err = printJSON(c.OutOrStdout(), auditView{v.Intact(), v.Events, v.Head, v.BrokenAt, v.HeadMissing})
		} else if v.Intact() {
			fmt.Fprintf(c.OutOrStdout(), "intact: %d events, head %s\n", v.Events, v.Head)
		}
		switch {
		case err != nil:
			return err
		case v.BrokenAt > 0:
			return apperr.New(apperr.Conflict, "broken",
				fmt.Sprintf("the chain is broken at event %d: it, or the one before it, was changed or taken out; %d events before it are intact",
					v.BrokenAt, v.Events))
		case v.HeadMissing:
			return apperr.New(apperr.Conflict, "head",
				fmt.Sprintf("the head %s is in no event: events were taken off the end, or all were written anew", *head))
		}
		return nil
	}
	return c
}
