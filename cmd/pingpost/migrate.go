package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/store"
	"github.com/pingpost/pingpost/migrations"
)

func migrateCommand() *cobra.Command {
	return group("migrate", "Bring the schema up to date, as the role that owns it", migrateUp(), migrateStatus())
}

func migrateUp() *cobra.Command {
	c := &cobra.Command{Use: "up", Short: "Apply the migrations that are missing", Args: cobra.NoArgs}
	reach := reachFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		url, timeout, err := reach.ownerURL()
		if err != nil {
			return err
		}
		db, err := store.OpenOwner(url, timeout)
		if err != nil {
			return err
		}
		defer db.Close()
		applied, err := migrations.Up(c.Context(), db)
		for _, name := range applied {
			fmt.Fprintln(c.OutOrStdout(), "applied", name)
		}
		if err == nil && len(applied) == 0 {
			fmt.Fprintln(c.OutOrStdout(), "the schema is up to date")
		}
		return err
	}
	return c
}

func migrateStatus() *cobra.Command {
	c := &cobra.Command{Use: "status", Short: "Show which migrations are applied", Args: cobra.NoArgs}
	reach, asJSON := reachFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		url, timeout, err := reach.ownerURL()
		if err != nil {
			return err
		}
		db, err := store.OpenOwner(url, timeout)
		if err != nil {
			return err
		}
		defer db.Close()
		steps, err := migrations.Status(c.Context(), db)
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(c.OutOrStdout(), steps)
		}
		var rows [][]any
		for _, s := range steps {
			state := "missing"
			if s.Applied {
				state = "applied"
			}
			rows = append(rows, []any{s.Version, s.Name, state})
		}
		return printTable(c.OutOrStdout(), "VERSION\tMIGRATION\tSTATE", rows)
	}
	return c
}
