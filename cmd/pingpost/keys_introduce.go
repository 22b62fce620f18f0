package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
)

func keysIntroduce() *cobra.Command {
	c := &cobra.Command{
		Use:   "introduce",
		Short: "Register the configured wrapping keys, so that nodes can store leads with them",
		Args:  noArgs,
		Long: `Register the wrapping keys in the configuration: all local keys, and the key in Vault. Nodes store leads
only with registered keys. The first node of a platform registers its keys itself. Run this command before
nodes write with another key.`,
	}
	flags := newDBFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return withKeys(c, flags, devvault.Serve,
			func(k *keyServices) error { return k.introduce(c.Context(), c.OutOrStdout()) })
	}
	return c
}

func (k *keyServices) introduce(ctx context.Context, out io.Writer) error {
	wrappers := k.wrappers.Wrappers
	if _, _, err := wrappers.CurrentKeyVersion(ctx); errors.Is(err, envelope.ErrNoWrapper) {
		return errors.New("no key wrapper is configured: set LEAD_VAULT_KEK or vault.address")
	} else if err != nil {
		return fmt.Errorf("the key for new leads does not work, so no key was registered: %w", err)
	}
	added, err := k.leads.RegisterKeys(ctx, wrappers.Keys())
	if err != nil {
		return err
	}
	names := []string{}
	for _, key := range wrappers.Keys() {
		if slices.Contains(added, key) {
			names = append(names, key.String())
			fmt.Fprintf(out, "Registered %s\n", key)
		} else {
			fmt.Fprintf(out, "%s is already registered\n", key)
		}
	}
	if len(added) == 0 {
		return nil
	}
	if err := k.auditAction(ctx, "keys.introduce", map[string]any{"keys": names}); err != nil {
		return fmt.Errorf("the keys were registered, but this was not recorded in the audit log: %w", err)
	}
	return nil
}

// mayWrite returns an error if the key for new leads is not registered. Other nodes may not be able to
// decrypt leads that are moved to this key.
func (k *keyServices) mayWrite(ctx context.Context) error {
	registered, err := k.leads.WrappingKeys(ctx)
	if key := k.wrappers.Wrappers.Keys()[0]; err == nil && !slices.Contains(registered, key) {
		err = fmt.Errorf("%s is not registered: if all nodes have this key, register it with `pingpost keys introduce`", key)
	}
	return err
}
