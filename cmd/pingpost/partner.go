package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

type partnerView struct {
	ID            string               `json:"id"`
	Slug          string               `json:"slug"`
	Name          string               `json:"name"`
	Status        models.PartnerStatus `json:"status"`
	Signing       models.SigningMode   `json:"signing"`
	SharedBaseURL bool                 `json:"shared_base_url"`
	Accounts      int                  `json:"accounts"`
	ActiveSecrets int                  `json:"active_secrets"`
	CreatedAt     time.Time            `json:"created_at"`
}

func viewPartner(p partners.Summary) partnerView {
	return partnerView{
		ID: id.Format(id.Partner, p.ID), Slug: p.Slug, Name: p.Name, Status: p.Status, Signing: p.SigningMode,
		SharedBaseURL: p.SharedBaseURL, Accounts: p.Accounts, ActiveSecrets: p.ActiveSecrets, CreatedAt: p.CreatedAt,
	}
}

func partnerCommand() *cobra.Command {
	return group("partner", "Manage partners",
		partnerCreate(), partnerList(),
		partnerStatus("approve", "Approve a partner, so that it can sell leads", models.PartnerApproved),
		partnerStatus("suspend", "Suspend a partner: reject its posts and stop offering it prices", models.PartnerSuspended))
}

func partnerCreate() *cobra.Command {
	c := &cobra.Command{
		Use: "create SLUG", Short: "Create a partner; it is pending until you approve it",
		Args: exactly(1, "the partner's slug, which becomes part of its base URL"),
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	name := c.Flags().String("name", "", "the partner's name (default: the slug)")
	legal := c.Flags().String("legal-name", "", "the partner's legal name, used for payouts")
	mode := c.Flags().String("signing", "default",
		"signing mode: required, report_only, off, or default (the platform's mode)")
	only := c.Flags().Bool("own-url-only", false, "do not recognise the partner by its secret on the shared base URL")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *name == "" {
			*name = args[0]
		}
		return flags.partners(c.Context(), func(s *partners.Service) error {
			p, err := s.Create(c.Context(), partners.NewPartner{
				Slug:            args[0],
				Name:            *name,
				LegalName:       *legal,
				Signing:         models.SigningMode(*mode),
				NoSharedBaseURL: *only,
			})
			if err != nil {
				return err
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), viewPartner(partners.Summary{Partner: p}))
			}
			fmt.Fprintf(c.OutOrStdout(), "%s  %s is pending. Next steps:\n  %s\n  %s\n  pingpost partner approve %s%s\n",
				id.Format(id.Partner, p.ID), p.Slug, addAccount(p, flags), addSecret(p, flags), p.Slug, flags.args())
			return nil
		})
	}
	return c
}

func addAccount(p models.Partner, r *dbFlags) string {
	return "pingpost account create " + p.Slug + " PARTNER_ID" + r.args()
}

func addSecret(p models.Partner, r *dbFlags) string {
	return "pingpost secret create " + p.Slug + r.args()
}

func partnerList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the partners", Args: noArgs}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.partners(c.Context(), func(s *partners.Service) error {
			list, err := s.List(c.Context(), scope.System)
			if err != nil {
				return err
			}
			views := []partnerView{}
			var rows [][]any
			for _, p := range list {
				v := viewPartner(p)
				views = append(views, v)
				rows = append(rows, []any{v.Slug, v.Status, v.Signing, v.Accounts, v.ActiveSecrets, v.Name, v.ID})
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), views)
			}
			return printTable(c.OutOrStdout(), "SLUG\tSTATUS\tSIGNING\tACCOUNTS\tSECRETS\tNAME\tID", rows)
		})
	}
	return c
}

func partnerStatus(use, short string, to models.PartnerStatus) *cobra.Command {
	c := &cobra.Command{Use: use + " PARTNER", Short: short, Args: exactly(1, "the partner's slug or ID")}
	flags := newDBFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return flags.partners(c.Context(), func(s *partners.Service) error {
			p, err := s.Find(c.Context(), scope.System, args[0])
			if err != nil {
				return err
			}
			if err := s.SetStatus(c.Context(), scope.System, p.ID, to); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s is %s; every node applies this within a second\n", p.Slug, to)
			if to != models.PartnerApproved {
				return nil
			}
			return printMissing(c, s, p, flags)
		})
	}
	return c
}

// printMissing prints the steps that remain before an approved partner can sell leads.
func printMissing(c *cobra.Command, s *partners.Service, p models.Partner, r *dbFlags) error {
	accounts, err := s.Accounts(c.Context(), p)
	if err != nil {
		return err
	}
	if len(accounts) == 0 {
		fmt.Fprintf(c.OutOrStdout(), "It has no account yet. To create one: %s\n", addAccount(p, r))
	}
	signs, err := canSign(c.Context(), s, p, r.clock.Now())
	if err == nil && !signs {
		fmt.Fprintf(c.OutOrStdout(), "It has no active signing secret. To create one: %s\n", addSecret(p, r))
	}
	return err
}

// exactly is like cobra.ExactArgs, but its error describes the n required arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return usageError{fmt.Errorf("too many arguments: %s takes %s. Run `%s --help` for usage",
				c.CommandPath(), what, c.CommandPath())}
		}
		if len(args) < n {
			return usageError{fmt.Errorf("%s needs %s. Run `%s --help` for usage", c.CommandPath(), what, c.CommandPath())}
		}
		return nil
	}
}

// noArgs is like cobra.NoArgs, but returns a usageError.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no arguments. Run `%s --help` for usage", c.CommandPath(), c.CommandPath())}
	}
	return nil
}
