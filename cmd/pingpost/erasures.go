package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/platform/journal"
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
		return flags.privacy(c.Context(), func(s privacy.Services) error {
			all, err := s.Erasures.Receipts(c.Context(), *before, erasuresListed)
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
		Use: "verify", Short: "Check the erasure journal's signatures and chain of hashes, and compare it with the database", Args: noArgs,
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.privacy(c.Context(), func(s privacy.Services) error {
			v, err := s.Erasures.Verify(c.Context())
			if err != nil {
				return err
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), v)
			}
			fmt.Fprintf(c.OutOrStdout(), "The erasure journal is intact and matches the database. Entries: %d\n", v.Entries)
			if v.Head != "" {
				fmt.Fprintf(c.OutOrStdout(), "Hash of the last entry: %s\nFingerprint of the first key: %s\n", v.Head,
					v.Fingerprint)
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
you have restored an older backup. Until then, the console hides personal data. The command lists the
erasures and asks for confirmation. It also asks whether leads under a legal hold are erased.`,
		Args: noArgs,
	}
	flags, asJSON, yes := newDBFlags(c), jsonFlag(c), yesFlag(c)
	eraseHeld := c.Flags().Bool("erase-held", false, "also erase the leads that are under a legal hold in this database")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.privacy(c.Context(), func(s privacy.Services) error {
			plan, err := s.Erasures.PlanReplay(c.Context())
			if err != nil {
				return err
			}
			if len(plan) > 0 {
				if err := confirmReplay(c, plan, *yes, eraseHeld); err != nil {
					return err
				}
			}
			done, err := s.Erasures.Replay(c.Context(), plan, *eraseHeld)
			if err != nil {
				return err
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), done)
			}
			fmt.Fprintf(c.OutOrStdout(), "Erased %s again. Entries replayed: %d\n", counted(int64(done.Leads), "lead"),
				done.Entries)
			return nil
		})
	}
	return c
}

var errHeldUnconfirmed = usageError{errors.New(
	"nothing was changed, because leads are under a legal hold. To erase these leads too, add --erase-held. Until then, the console hides personal data")}

// confirmReplay lists the leads that a replay erases, and asks the user to confirm it. If leads are under a
// legal hold, it asks a second question, unless eraseHeld is set, and sets eraseHeld to the answer.
func confirmReplay(c *cobra.Command, plan []erasure.ReplayEntry, yes bool, eraseHeld *bool) error {
	var rows [][]any
	var held int64
	for _, e := range plan {
		held += int64(len(e.Held))
		for _, lead := range e.Leads {
			hold := ""
			if slices.Contains(e.Held, lead) {
				hold = "legal hold"
			}
			rows = append(rows, []any{lead, journal.Name(e.Sequence), e.At.Format(time.RFC3339), e.Reason, e.By, hold})
		}
	}
	if err := printTable(c.ErrOrStderr(), "lead\tfile\trequested\treason\tby\t", rows); err != nil {
		return err
	}
	what := fmt.Sprintf("This erases the personal data of %s again.", counted(int64(len(rows)), "lead"))
	if err := confirm(c, yes, what); err != nil || held == 0 || *eraseHeld {
		return err
	}
	fmt.Fprintf(c.ErrOrStderr(),
		"Leads under a legal hold in this database: %d. The holds may have been released after the backup was made.\n", held)
	*eraseHeld = interactive(c.InOrStdin()) && answers(c, "Type erase to erase these leads too: ", "erase")
	if !*eraseHeld {
		return errHeldUnconfirmed
	}
	return nil
}
