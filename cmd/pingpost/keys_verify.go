package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/dev/devvault"
)

// maxSample is the maximum number of leads for each key version that `keys verify` decrypts.
const maxSample = 10_000

// keyCheckView is the result for one key version.
type keyCheckView struct {
	Wrapper string `json:"wrapper"`
	Version string `json:"version"`
	Leads   int64  `json:"leads"`
	Checked int    `json:"checked"`
	Failed  int    `json:"failed"`
	Problem string `json:"problem,omitempty"` // of one of the leads that failed
}

func keysVerify() *cobra.Command {
	c := &cobra.Command{
		Use: "verify", Short: "Check that leads can be decrypted", Args: noArgs,
		Long: `Check that leads can be decrypted. The command decrypts randomly selected leads of each version of each
wrapping key in memory, and prints no personal data. It exits with 1 if a lead cannot be decrypted. Run it
after a restore, and before you delete a key.`,
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	sample := c.Flags().Int("sample", 100,
		fmt.Sprintf("how many leads to decrypt for each key version: a `NUMBER` from 1 to %d", maxSample))
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *sample < 1 || *sample > maxSample {
			return usageError{fmt.Errorf("--sample: enter a number from 1 to %d", maxSample)}
		}
		return withKeys(c, flags, devvault.Rewrap, func(k *keyServices) error {
			checks, err := k.leads.VerifyKeys(c.Context(), k.wrappers.Wrappers, *sample)
			if err != nil {
				return err
			}
			views, rows, failed := []keyCheckView{}, [][]any{}, false
			for _, check := range checks {
				v := keyCheckView{check.Wrapper, check.Version, check.Leads, check.Checked, check.Failed, ""}
				if check.Cause != nil {
					v.Problem, failed = check.Cause.Error(), true
				}
				views = append(views, v)
				rows = append(rows, []any{v.Wrapper, v.Version, v.Leads, v.Checked, v.Failed, v.Problem})
			}
			if *asJSON {
				err = printJSON(c.OutOrStdout(), views)
			} else {
				err = printTable(c.OutOrStdout(), "WRAPPER\tVERSION\tLEADS\tCHECKED\tFAILED\tPROBLEM", rows)
			}
			if failed {
				err = errors.Join(err, errors.New("some leads cannot be decrypted"))
			}
			return err
		})
	}
	return c
}
