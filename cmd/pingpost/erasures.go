package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/privacy"
)

func erasuresCommand() *cobra.Command {
	return group("erasures", "List, verify and replay erasures", erasuresList(), erasuresVerify(), erasuresReplay())
}

// erasuresListed is the maximum number of erased leads that `pingpost erasures list` prints.
const erasuresListed = 100

func erasuresList() *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: fmt.Sprintf("List the last %d erased leads, newest first", erasuresListed), Args: noArgs,
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	before := c.Flags().Int64("before", 0, "list only leads whose entry in the journal is before `ENTRY`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.privacy(c.Context(), func(s *privacy.Service) error {
			all, err := s.Erasures(c.Context(), *before, erasuresListed)
			if err != nil {
				return err
			}
			views := make([]erasureView, len(all))
			rows := make([][]any, len(all))
			for i, r := range all {
				v := viewErasure(r)
				erased := "pending"
				if v.ErasedAt != nil {
					erased = v.ErasedAt.Format(time.RFC3339)
				}
				views[i], rows[i] = v, []any{v.LeadID, v.Entry, erased, v.Reason, v.By, v.Receipt}
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), views)
			}
			return printTable(c.OutOrStdout(), "lead\tentry\terased\treason\tby\treceipt", rows)
		})
	}
	return c
}

func erasuresVerify() *cobra.Command {
	c := &cobra.Command{
		Use: "verify", Short: "Check the erasure journal's chain of hashes, and compare it with the database", Args: noArgs,
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.privacy(c.Context(), func(s *privacy.Service) error {
			v, err := s.VerifyErasures(c.Context())
			if err != nil {
				return err
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), v)
			}
			fmt.Fprintf(c.OutOrStdout(), "The erasure journal is intact and matches the database. Entries: %d\n", v.Entries)
			if v.Head != "" {
				fmt.Fprintf(c.OutOrStdout(), "Hash of the last entry: %s\n", v.Head)
			}
			return nil
		})
	}
	return c
}

func erasuresReplay() *cobra.Command {
	c := &cobra.Command{
		Use: "replay", Short: "Erase the leads that are in the erasure journal but not erased in the database",
		Long: `Erase the leads that are in the erasure journal but not erased in the database. Run this command after
you have restored an older backup. Until then, staff cannot reveal or search for personal data.`,
		Args: noArgs,
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.privacy(c.Context(), func(s *privacy.Service) error {
			done, err := s.ReplayErasures(c.Context())
			if err != nil {
				return err
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), done)
			}
			fmt.Fprintf(c.OutOrStdout(), "Erased %s again. Entries replayed: %d\n", counted(done.Leads, "lead"), done.Entries)
			return nil
		})
	}
	return c
}
