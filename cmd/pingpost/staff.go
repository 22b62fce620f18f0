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

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// staffView is a person as the command line shows them.
type staffView struct {
	ID           string             `json:"id"`
	Email        string             `json:"email"`
	Name         string             `json:"name"`
	Status       models.StaffStatus `json:"status"`
	Roles        []string           `json:"roles"`
	SecondFactor bool               `json:"second_factor"`
	LastSeen     *time.Time         `json:"last_seen"`
	CreatedAt    time.Time          `json:"created_at"`
	Invitation   string             `json:"invitation,omitempty"` // the path that lets them choose a password
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
	return group("staff", "Staff: who works in the console", staffCreate(), staffList())
}

// people are what the staff commands work with.
type people struct {
	staff    *staff.Service
	partners *partners.Service
}

func (r *dbFlags) people(ctx context.Context, use func(people) error) error {
	return r.open(ctx, func(db *postgres.DB, keys *keyring.Keys) error {
		c := clock.System{}
		return use(people{staff.NewService(db, keys, c, staff.Settings{}), partners.NewService(db, keys, c).By(audit.Operator)})
	})
}

func staffCreate() *cobra.Command {
	c := &cobra.Command{
		Use: "create EMAIL", Short: "Invite somebody to the console; the first administrator comes from here",
		Args: exactly(1, "the person's e-mail address"),
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	name := c.Flags().String("name", "", "the person's name (default the part of the address before the @)")
	roles := c.Flags().StringSlice("role", nil,
		"administrator, account_manager, pricing_manager, finance or auditor; with @SLUG at one partner only")
	fromStdin := c.Flags().Bool("password-stdin", false, "read a password from standard input, instead of printing an invitation")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(*roles) == 0 {
			return usageError{errors.New("give at least one --role: administrator, account_manager, pricing_manager, finance or auditor")}
		}
		if *name == "" {
			*name, _, _ = strings.Cut(args[0], "@")
		}
		var password string
		if *fromStdin {
			var err error
			if password, err = readLine(c.InOrStdin()); err != nil {
				return err
			}
		}
		return flags.people(c.Context(), func(p people) error {
			wanted, slugs, err := p.roles(c.Context(), *roles)
			if err != nil {
				return err
			}
			made, err := p.staff.Invite(c.Context(), audit.Operator, staff.NewMember{Email: args[0], Name: *name, Roles: wanted})
			if err != nil {
				return err
			}
			if *fromStdin {
				if _, err := p.staff.Accept(c.Context(), audit.Operator, made.Token, password); err != nil {
					return fmt.Errorf("%w; they are invited, and an administrator can invite them again", err)
				}
			}
			found, err := p.staff.Find(c.Context(), made.Email)
			if err != nil {
				return err
			}
			v := viewStaff(found, slugs)
			if !*fromStdin {
				v.Invitation = "/invite/" + made.Token
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), v)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s  %s: %s\n", v.ID, v.Email, strings.Join(v.Roles, ", "))
			if v.Invitation != "" {
				fmt.Fprintf(c.OutOrStdout(),
					"To choose a password, within three days, they open at the console's address:\n  %s\n",
					v.Invitation)
			}
			return nil
		})
	}
	return c
}

func readLine(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", apperr.New(apperr.Invalid, "password", "there is no password on standard input")
	}
	return line, nil
}

// roles reads role and role@slug.
func (p people) roles(ctx context.Context, texts []string) (out []models.StaffRole, slugs map[uuid.UUID]string, err error) {
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
	c := &cobra.Command{Use: "list", Short: "List the staff", Args: noArgs}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.people(c.Context(), func(p people) error {
			all, err := p.staff.List(c.Context())
			if err != nil {
				return err
			}
			known, err := p.partners.List(c.Context(), scope.System)
			if err != nil {
				return err
			}
			slugs := map[uuid.UUID]string{}
			for _, one := range known {
				slugs[one.ID] = one.Slug
			}
			views := []staffView{}
			var rows [][]any
			for _, one := range all {
				v := viewStaff(one, slugs)
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
