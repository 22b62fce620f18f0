package main

import (
	"database/sql"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/migrations"
)

func migrateCommand() *cobra.Command {
	return group("migrate", "Migrate the database schema, as the role that owns it", migrateUp(), migrateStatus())
}

// asOwner connects as the role that owns the tables and passes the connection to the given
// function.
func (r *dbFlags) asOwner(use func(*sql.DB) error) error {
	url, timeout, err := r.ownerURL()
	if err != nil {
		return err
	}
	db, err := postgres.OpenOwner(url, timeout)
	if err != nil {
		return err
	}
	defer db.Close()
	return use(db)
}

func migrateUp() *cobra.Command {
	c := &cobra.Command{Use: "up", Short: "Apply pending migrations", Args: noArgs}
	flags := newDBFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.asOwner(func(db *sql.DB) error {
			applied, err := migrations.Up(c.Context(), db)
			for _, name := range applied {
				fmt.Fprintln(c.OutOrStdout(), "applied", name)
			}
			if err == nil && len(applied) == 0 {
				fmt.Fprintln(c.OutOrStdout(), "the schema is up to date")
			}
			return err
		})
	}
	return c
}

func migrateStatus() *cobra.Command {
	c := &cobra.Command{Use: "status", Short: "Show which migrations are applied", Args: noArgs}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.asOwner(func(db *sql.DB) error {
			steps, err := migrations.Status(c.Context(), db)
			if err != nil {
				return err
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), steps)
			}
			var rows [][]any
			for _, s := range steps {
				state := "pending"
				if s.Applied {
					state = "applied"
				}
				rows = append(rows, []any{s.Version, s.Name, state})
			}
			return printTable(c.OutOrStdout(), "VERSION\tMIGRATION\tSTATE", rows)
		})
	}
	return c
}
