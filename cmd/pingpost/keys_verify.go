package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/leads"
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
	flags, asJSON, sampleFlag := newDBFlags(c), jsonFlag(c), newSampleFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		sample, err := sampleFlag()
		if err != nil {
			return err
		}
		return withKeys(c, flags, devvault.Rewrap, func(k *keyServices) error {
			checks, err := k.leads.VerifyKeys(c.Context(), k.wrappers.Wrappers, sample)
			if err != nil {
				return err
			}
			views, failed := viewKeyChecks(checks)
			if *asJSON {
				err = printJSON(c.OutOrStdout(), views)
			} else {
				err = printKeyChecks(c.OutOrStdout(), views)
			}
			if failed > 0 {
				err = errors.Join(err, errors.New("some leads cannot be decrypted"))
			}
			return err
		})
	}
	return c
}

// viewKeyChecks also returns the number of leads that cannot be decrypted.
func viewKeyChecks(checks []leads.KeyCheck) (views []keyCheckView, failed int) {
	views = make([]keyCheckView, len(checks))
	for i, check := range checks {
		views[i] = keyCheckView{check.Wrapper, check.Version, check.Leads, check.Checked, check.Failed, ""}
		if check.Cause != nil {
			views[i].Problem = check.Cause.Error()
		}
		failed += check.Failed
	}
	return views, failed
}

func printKeyChecks(w io.Writer, views []keyCheckView) error {
	rows := make([][]any, len(views))
	for i, v := range views {
		rows[i] = []any{v.Wrapper, v.Version, v.Leads, v.Checked, v.Failed, v.Problem}
	}
	return printTable(w, "WRAPPER\tVERSION\tLEADS\tCHECKED\tFAILED\tPROBLEM", rows)
}

// newSampleFlag returns a function that returns the value of the flag --sample.
func newSampleFlag(c *cobra.Command) func() (int, error) {
	sample := c.Flags().Int("sample", 100,
		fmt.Sprintf("how many leads to decrypt for each key version: a `NUMBER` from 1 to %d", maxSample))
	return func() (int, error) {
		if *sample < 1 || *sample > maxSample {
			return 0, usageError{fmt.Errorf("--sample: enter a number from 1 to %d", maxSample)}
		}
		return *sample, nil
	}
}
