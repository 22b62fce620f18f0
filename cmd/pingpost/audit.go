package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

func auditCommand() *cobra.Command {
	return group("audit", "Check the audit log", auditVerify())
}

type auditView struct {
	Intact      bool   `json:"intact"`
	Events      int64  `json:"events"`
	Head        string `json:"head"`
	BrokenAt    int64  `json:"broken_at,omitempty"`
	HeadMissing bool   `json:"head_missing,omitempty"`
}

func auditVerify() *cobra.Command {
	c := &cobra.Command{
		Use: "verify", Short: "Check the audit log, and exit with 1 if an event was changed or removed", Args: noArgs,
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	head := c.Flags().String("head", "",
		"also check that the event with the hash `HASH` still exists; each node logs the newest hash every hour")
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, _, err := flags.load(config.SectionDatabase)
		if err != nil {
			return err
		}
		// Set no statement timeout, because reading the whole log can take minutes.
		db, err := postgres.Open(c.Context(), postgres.Options{
			URL: cfg.Database.URL.Reveal(), MaxConnections: 2, ConnectTimeout: cfg.Database.ConnectTimeout,
		})
		if err != nil {
			return err
		}
		defer db.Close()
		v, err := audit.New(db, flags.clock).Verify(c.Context(), *head)
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
				fmt.Sprintf("the audit log is broken at event %d: this event or the one before it was changed or removed; the %d events before it are intact",
					v.BrokenAt, v.Events))
		case v.HeadMissing:
			return apperr.New(apperr.Conflict, "head",
				fmt.Sprintf("no event has the hash %s: the newest events were removed, or the log was rewritten", *head))
		}
		return nil
	}
	return c
}
