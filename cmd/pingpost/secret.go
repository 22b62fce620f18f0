package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

// secretView is a signing secret as commands print it. The field Secret is empty unless the secret has
// just been created.
type secretView struct {
	ID        string     `json:"id"`
	Partner   string     `json:"partner"`
	Label     string     `json:"label"`
	Hint      string     `json:"hint"`
	State     string     `json:"state"`
	Secret    string     `json:"secret,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
}

func viewSecret(p models.Partner, s models.SigningSecret, now time.Time) secretView {
	return secretView{
		ID: id.Format(id.Secret, s.ID), Partner: p.Slug, Label: s.Label, Hint: s.Prefix + "…" + s.LastFour,
		State: partners.StateOf(s, now), ExpiresAt: s.ExpiresAt, CreatedAt: s.CreatedAt,
	}
}

func stateText(state string) string {
	switch state {
	case partners.StateExpiring:
		return "expiring"
	case partners.StateExpired:
		return "expired"
	}
	return state
}

// canSign reports whether a partner has a signing secret that is valid at the given time.
func canSign(ctx context.Context, s *partners.Service, p models.Partner, now time.Time) (bool, error) {
	list, err := s.Secrets(ctx, scope.System, p)
	return slices.ContainsFunc(list, func(secret models.SigningSecret) bool { return partners.Valid(secret, now) }), err
}

func secretCommand() *cobra.Command {
	return group("secret", "Manage partners' signing secrets", secretCreate(), secretImport(), secretRotate(), secretExpire(),
		secretRevoke(), secretList())
}

// onPartner finds a partner by slug or ID and passes the partner to the given function.
func onPartner(c *cobra.Command, r *dbFlags, name string, fn func(*partners.Service, models.Partner) error) error {
	return r.partners(c.Context(), func(s *partners.Service) error {
		p, err := s.Find(c.Context(), scope.System, name)
		if err != nil {
			return err
		}
		return fn(s, p)
	})
}

// printCreated prints a new secret, which no command can print again.
func printCreated(
	c *cobra.Command, asJSON bool, p models.Partner, created partners.CreatedSecret, now time.Time,
) error {
	if asJSON {
		v := viewSecret(p, created.SigningSecret, now)
		v.Secret = created.Plain
		return printJSON(c.OutOrStdout(), v)
	}
	fmt.Fprintf(c.OutOrStdout(), "%s\n\nThe secret is not shown again. Send it to the partner through a secure channel.\nID %s, label %q\n",
		created.Plain, id.Format(id.Secret, created.ID), created.Label)
	return nil
}

func secretCreate() *cobra.Command {
	c := &cobra.Command{
		Use:   "create PARTNER",
		Short: "Create a secret; existing ones stay valid",
		Args:  exactly(1, "the partner's slug or ID"),
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	label := c.Flags().String("label", "", "a label for the secret")
	c.RunE = func(c *cobra.Command, args []string) error {
		return onPartner(c, flags, args[0], func(s *partners.Service, p models.Partner) error {
			made, err := s.CreateSecret(c.Context(), scope.System, p, *label)
			if err != nil {
				return err
			}
			return printCreated(c, *asJSON, p, made, flags.clock.Now())
		})
	}
	return c
}

func secretImport() *cobra.Command {
	c := &cobra.Command{
		Use: "import PARTNER", Short: "Import a secret that the partner already uses, from standard input",
		Args: exactly(1, "the partner's slug or ID, and the secret on standard input"),
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	label := c.Flags().String("label", "", "a label for the secret")
	c.RunE = func(c *cobra.Command, args []string) error {
		text, err := io.ReadAll(io.LimitReader(c.InOrStdin(), 4096))
		if err != nil {
			return fmt.Errorf("reading the secret: %w", err)
		}
		plain := strings.TrimRight(string(text), "\r\n")
		return onPartner(c, flags, args[0], func(s *partners.Service, p models.Partner) error {
			made, err := s.ImportSecret(c.Context(), scope.System, p, *label, plain)
			if err != nil {
				return err
			}
			if *asJSON { // does not contain the secret, which the partner already has
				return printJSON(c.OutOrStdout(), viewSecret(p, made.SigningSecret, flags.clock.Now()))
			}
			fmt.Fprintf(c.OutOrStdout(), "%s  imported for %s\n", id.Format(id.Secret, made.ID), p.Slug)
			return nil
		})
	}
	return c
}

func secretRotate() *cobra.Command {
	c := &cobra.Command{
		Use:   "rotate PARTNER",
		Short: "Create a secret and let the existing ones expire",
		Args:  exactly(1, "the partner's slug or ID"),
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	label := c.Flags().String("label", "", "a label for the secret")
	overlap := overlap{Duration: partners.DefaultOverlap, max: maxOverlap}
	c.Flags().Var(&overlap, "overlap", "how long existing secrets stay valid: a `TIME` such as 36h or 3d, at most 90 days")
	force := c.Flags().Bool("force", false, "rotate even if an earlier rotation is still in progress")
	c.RunE = func(c *cobra.Command, args []string) error {
		return onPartner(c, flags, args[0], func(s *partners.Service, p models.Partner) error {
			made, err := s.RotateSecret(c.Context(), scope.System, p, *label, overlap.Duration, *force)
			if err != nil {
				return err
			}
			if err := printCreated(c, *asJSON, p, made, flags.clock.Now()); err != nil || *asJSON {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "Previous secrets are valid until %s.\n",
				made.CreatedAt.Add(overlap.Duration).UTC().Format(time.RFC3339))
			return nil
		})
	}
	return c
}

func secretExpire() *cobra.Command {
	c := &cobra.Command{
		Use: "expire PARTNER SECRET_ID --in TIME", Short: "Set when a secret expires",
		Args: exactly(2, "the partner's slug or ID, and the secret's ID"),
	}
	flags := newDBFlags(c)
	in := overlap{max: partners.MaxExtension, unset: true}
	c.Flags().Var(&in, "in",
		"how long the secret stays valid: a `TIME` such as 36h or 3d, at most 30 days; 0s expires it now")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case in.unset:
			return usageError{errors.New("--in is required: how long the secret stays valid, such as 36h, 3d or 0s")}
		case in.Duration < 0:
			return usageError{errors.New("--in cannot be negative: to expire the secret now, use 0s")}
		}
		return onPartner(c, flags, args[0], func(s *partners.Service, p models.Partner) error {
			secret, err := s.FindSecret(c.Context(), scope.System, p, args[1])
			if err != nil {
				return err
			}
			at := flags.clock.Now().Add(in.Duration)
			if err := s.ExpireSecret(c.Context(), scope.System, p, secret.ID, at); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s expires at %s\n", args[1], at.Format(time.RFC3339))
			return err
		})
	}
	return c
}

func secretRevoke() *cobra.Command {
	c := &cobra.Command{
		Use: "revoke PARTNER SECRET_ID", Short: "Revoke a secret immediately",
		Args: exactly(2, "the partner's slug or ID, and the secret's ID"),
	}
	flags := newDBFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return onPartner(c, flags, args[0], func(s *partners.Service, p models.Partner) error {
			secret, err := s.FindSecret(c.Context(), scope.System, p, args[1])
			if err != nil {
				return err
			}
			if err := s.RevokeSecret(c.Context(), scope.System, p, secret.ID); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s is revoked; every node will reject it within a second\n", args[1])
			signs, err := canSign(c.Context(), s, p, flags.clock.Now())
			if err == nil && !signs {
				fmt.Fprintf(c.ErrOrStderr(),
					"warning: this was the last active secret of %s, which cannot sign posts until you create one: %s\n",
					p.Slug, addSecret(p, flags))
			}
			return err
		})
	}
	return c
}

func secretList() *cobra.Command {
	c := &cobra.Command{
		Use:   "list PARTNER",
		Short: "List a partner's secrets, without their values",
		Args:  exactly(1, "the partner's slug or ID"),
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return onPartner(c, flags, args[0], func(s *partners.Service, p models.Partner) error {
			list, err := s.Secrets(c.Context(), scope.System, p)
			if err != nil {
				return err
			}
			views := []secretView{}
			var rows [][]any
			for _, secret := range list {
				v := viewSecret(p, secret, flags.clock.Now())
				views = append(views, v)
				expires := "never"
				if v.ExpiresAt != nil {
					expires = v.ExpiresAt.UTC().Format(time.RFC3339)
				}
				rows = append(rows, []any{v.ID, v.Hint, stateText(v.State), expires, v.Label})
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), views)
			}
			return printTable(c.OutOrStdout(), "ID\tSECRET\tSTATUS\tEXPIRES\tLABEL", rows)
		})
	}
	return c
}
