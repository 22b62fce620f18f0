package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

type accountView struct {
	ID        string               `json:"id"`
	PartnerID string               `json:"partner_id"`
	Name      string               `json:"name"`
	Partner   string               `json:"partner"`
	Default   bool                 `json:"default"`
	Sandbox   bool                 `json:"sandbox"`
	Status    models.AccountStatus `json:"status"`
	Signing   models.SigningMode   `json:"signing"`
}

func viewAccount(p models.Partner, a models.Account) accountView {
	return accountView{
		ID: id.Format(id.Account, a.ID), PartnerID: a.Identifier, Name: a.Name, Partner: p.Slug,
		Default: a.IsDefault, Sandbox: a.Sandbox, Status: a.Status, Signing: a.SigningMode,
	}
}

func accountCommand() *cobra.Command {
	return group("account", "Manage partners' accounts", accountCreate(), accountList())
}

func accountCreate() *cobra.Command {
	c := &cobra.Command{
		Use:   "create PARTNER PARTNER_ID",
		Short: "Create an account; a partner's first account becomes its default",
		Long: "Create an account for a partner. PARTNER is the partner's slug or ID. PARTNER_ID is the value that\n" +
			"the partner sends as \"partnerId\" in its posts, and must be unique on the platform.",
		Args: exactly(2, "the partner's slug or ID, and the new account's partnerId"),
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	name := c.Flags().String("name", "", "the account's name (default: its partnerId)")
	mode := c.Flags().String("signing", "inherit",
		"signing mode: required, report_only, off, or inherit (the partner's mode)")
	sandbox := c.Flags().Bool("sandbox", false,
		"create a sandbox account: its leads earn nothing and are deleted automatically")
	c.RunE = func(c *cobra.Command, args []string) error {
		return flags.partners(c.Context(), func(s *partners.Service) error {
			p, err := s.Find(c.Context(), scope.System, args[0])
			if err != nil {
				return err
			}
			a, err := s.CreateAccount(c.Context(), scope.System, p, partners.NewAccount{
				Identifier: args[1], Name: *name, Signing: models.SigningMode(*mode), Sandbox: *sandbox,
			})
			if err != nil {
				return err
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), viewAccount(p, a))
			}
			fmt.Fprintf(c.OutOrStdout(), "%s  created account %s for %s\n", id.Format(id.Account, a.ID), a.Identifier, p.Slug)
			return nil
		})
	}
	return c
}

func accountList() *cobra.Command {
	c := &cobra.Command{
		Use:   "list PARTNER",
		Short: "List a partner's accounts, the default first",
		Args:  exactly(1, "the partner's slug or ID"),
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return onPartner(c, flags, args[0], func(s *partners.Service, p models.Partner) error {
			list, err := s.Accounts(c.Context(), p)
			if err != nil {
				return err
			}
			views := []accountView{}
			var rows [][]any
			for _, a := range list {
				v := viewAccount(p, a)
				views = append(views, v)
				rows = append(rows, []any{v.PartnerID, v.Name, yes(v.Default), yes(v.Sandbox), v.Status, v.Signing, v.ID})
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), views)
			}
			return printTable(c.OutOrStdout(), "PARTNER_ID\tNAME\tDEFAULT\tSANDBOX\tSTATUS\tSIGNING\tID", rows)
		})
	}
	return c
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
