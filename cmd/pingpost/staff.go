package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

type staffView struct {
	ID           string             `json:"id"`
	Email        string             `json:"email"`
	Name         string             `json:"name"`
	Status       models.StaffStatus `json:"status"`
	Roles        []string           `json:"roles"`
	SecondFactor bool               `json:"second_factor"`
	LastSeen     *time.Time         `json:"last_seen"`
	CreatedAt    time.Time          `json:"created_at"`
	Invitation   string             `json:"invitation,omitempty"` // the path of the page where the user chooses a password
}

func viewStaff(p staff.Member, slugs map[uuid.UUID]string) staffView {
	v := staffView{
		ID: id.Format(id.Staff, p.ID), Email: p.Email, Name: p.Name, Status: p.Status,
		Roles: []string{}, SecondFactor: p.SecondFactor(), CreatedAt: p.CreatedAt,
	}
	if !p.SeenAt.IsZero() {
		v.LastSeen = &p.SeenAt
	}
	for _, r := range p.Roles {
		text := string(r.Role)
		if r.PartnerID != nil {
			text += "@" + slugs[*r.PartnerID]
		}
		v.Roles = append(v.Roles, text)
	}
	return v
}

func staffCommand() *cobra.Command {
	return group("staff", "Manage console users", staffCreate(), staffList())
}

type staffServices struct {
	staff    *staff.Service
	partners *partners.Service
}

func (r *dbFlags) staff(ctx context.Context, use func(staffServices) error) error {
	return r.open(ctx, func(db *postgres.DB, keys *keyring.Keys) error {
		return use(staffServices{
			staff.NewService(db, keys, r.clock, staff.Settings{}).By(audit.Operator),
			partners.NewService(db, keys, r.clock).By(audit.Operator),
		})
	})
}

func staffCreate() *cobra.Command {
	c := &cobra.Command{
		Use: "create EMAIL", Short: "Invite a user to the console; create the first administrator this way",
		Args: exactly(1, "the user's email address"),
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	name := c.Flags().String("name", "", "the user's name (default: the part of the email address before the @)")
	roles := c.Flags().StringSlice("role", nil,
		"administrator, account_manager, pricing_manager, finance, privacy or auditor; add @SLUG to limit the role to one partner")
	fromStdin := c.Flags().Bool("password-stdin", false,
		"read the password from standard input instead of printing an invitation")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(*roles) == 0 {
			return usageError{errors.New("at least one --role is required: administrator, account_manager, pricing_manager, finance, privacy or auditor")}
		}
		if *name == "" {
			*name, _, _ = strings.Cut(args[0], "@")
		}
		var password string
		if *fromStdin {
			var err error
			if password, err = readLine(c.InOrStdin(), "password"); err != nil {
				return err
			}
		}
		return flags.staff(c.Context(), func(p staffServices) error {
			wanted, slugs, err := p.roles(c.Context(), *roles)
			if err != nil {
				return err
			}
			invited, err := p.staff.Invite(c.Context(),
				staff.NewMember{Email: args[0], Name: *name, Roles: wanted})
			if err != nil {
				return err
			}
			if *fromStdin {
				if _, err := p.staff.Accept(c.Context(), invited.Token, password); err != nil {
					return fmt.Errorf("%w The user was invited but has no password. An administrator can send a new invitation", err)
				}
			}
			found, err := p.staff.Find(c.Context(), invited.Email)
			if err != nil {
				return err
			}
			v := viewStaff(found, slugs)
			if !*fromStdin {
				v.Invitation = "/invite/" + invited.Token
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), v)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s  %s: %s\n", v.ID, v.Email, strings.Join(v.Roles, ", "))
			if v.Invitation != "" {
				fmt.Fprintf(c.OutOrStdout(),
					"To choose a password, the user must open this path in the console within three days:\n  %s\n",
					v.Invitation)
			}
			return nil
		})
	}
	return c
}

// readLine reads the first line of standard input. The parameter what describes the line, such as "password".
func readLine(in io.Reader, what string) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", apperr.New(apperr.Invalid, what, "There is no "+what+" on standard input.")
	}
	return line, nil
}

// roles parses roles in the form ROLE or ROLE@SLUG.
func (p staffServices) roles(
	ctx context.Context, texts []string,
) (out []models.StaffRole, slugs map[uuid.UUID]string, err error) {
	slugs = map[uuid.UUID]string{}
	for _, text := range texts {
		role, slug, scoped := strings.Cut(strings.TrimSpace(text), "@")
		r := models.StaffRole{Role: models.Role(role)}
		if scoped {
			partner, err := p.partners.Find(ctx, scope.System, slug)
			if err != nil {
				return nil, nil, err
			}
			r.PartnerID = &partner.ID
			slugs[partner.ID] = partner.Slug
		}
		out = append(out, r)
	}
	return out, slugs, nil
}

func staffList() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "List the console users", Args: noArgs}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.staff(c.Context(), func(p staffServices) error {
			all, err := p.staff.List(c.Context())
			if err != nil {
				return err
			}
			known, err := p.partners.List(c.Context(), scope.System)
			if err != nil {
				return err
			}
			slugs := map[uuid.UUID]string{}
			for _, role := range known {
				slugs[role.ID] = role.Slug
			}
			views := []staffView{}
			var rows [][]any
			for _, role := range all {
				v := viewStaff(role, slugs)
				views = append(views, v)
				factor := "no"
				if v.SecondFactor {
					factor = "yes"
				}
				rows = append(rows, []any{v.Email, v.Status, strings.Join(v.Roles, " "), factor, v.Name, v.ID})
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), views)
			}
			return printTable(c.OutOrStdout(), "EMAIL\tSTATUS\tROLES\tSECOND FACTOR\tNAME\tID", rows)
		})
	}
	return c
}
