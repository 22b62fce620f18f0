package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
)

// The shortest and the longest period for which versions can be kept, in days. Nodes use a new version
// within a minute, so a version that was replaced more than a day ago is not used for new leads.
const (
	minKeepDays = 1
	maxKeepDays = 36_500
)

func keysExpire() *cobra.Command {
	c := &cobra.Command{
		Use:   "expire",
		Short: "Permanently delete old versions of the key in Vault",
		Args:  noArgs,
		Long: `Delete the versions of the key in Vault that were replaced at least the given number of days ago. Leads
in backups from before that can then never be decrypted. Nothing is deleted if a lead in the database still
needs one of these versions. The command shows the versions and asks for confirmation, unless --yes is
set.`,
	}
	flags := newDBFlags(c)
	keep := c.Flags().Int("keep-days", 0, fmt.Sprintf("delete versions that were replaced at least `DAYS` days ago, %d to %d; use at least the age of the oldest backup that must stay readable", minKeepDays, maxKeepDays))
	yes := yesFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *keep < minKeepDays || *keep > maxKeepDays {
			return usageError{fmt.Errorf("--keep-days is required: enter a number from %d to %d", minKeepDays, maxKeepDays)}
		}
		return withKeys(c, flags, devvault.Expire, func(k *keyServices) error {
			versions, before, err := k.expirable(c.Context(), *keep)
			if err != nil {
				return err
			}
			if before == 0 {
				fmt.Fprintln(c.OutOrStdout(), "Nothing was deleted. No version was replaced that long ago.")
				return nil
			}
			what := fmt.Sprintf("This deletes all key versions before v%d. Leads in older backups can then no longer be decrypted.",
				before)
			if err := confirm(c, *yes, what); err != nil {
				return err
			}
			if err := k.expire(c.Context(), versions, before); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(),
				"Deleted all key versions before v%d. Leads in older backups can no longer be decrypted.\n", before)
			return nil
		})
	}
	return c
}

// expirable returns the versions of the key, and the oldest version that was current during the given
// number of days. Versions before this one can be deleted. If there are none, before is 0.
func (k *keyServices) expirable(ctx context.Context, days int) (versions transit.Versions, before int, err error) {
	vault := k.wrappers.Vault
	if vault == nil {
		return versions, 0, errNoVault
	}
	if versions, err = vault.Versions(ctx); err != nil {
		return versions, 0, err
	}
	// Vault records times by the machine's clock.
	before = versions.CurrentAt(clock.System{}.Now().Add(-time.Duration(days) * 24 * time.Hour))
	if before <= max(versions.MinAvailable, 1) {
		return versions, 0, nil
	}
	return versions, before, k.checkUnused(ctx, before)
}

// expire deletes the versions of the key before the given one.
func (k *keyServices) expire(ctx context.Context, versions transit.Versions, before int) error {
	if err := k.wrappers.Vault.Expire(ctx, versions, before); err != nil {
		return err
	}
	if err := k.auditAction(ctx, "keys.expire", map[string]any{"before": fmt.Sprintf("v%d", before)}); err != nil {
		return fmt.Errorf("the versions before v%d were deleted, but this was not recorded in the audit log: %w", before, err)
	}
	return nil
}

// checkUnused returns an error if a stored lead needs a version of the key before the given one.
func (k *keyServices) checkUnused(ctx context.Context, before int) error {
	uses, err := k.leads.Keys(ctx)
	if err != nil {
		return err
	}
	var needed []string
	for _, use := range uses {
		if use.Wrapper == transit.Name && transit.Version(use.Version) < before {
			needed = append(needed, use.Version)
		}
	}
	if len(needed) > 0 {
		return errors.New("nothing was deleted, because leads in the database still need the versions " +
			strings.Join(needed, ", ") + ". Run `pingpost keys rewrap` first")
	}
	return nil
}
