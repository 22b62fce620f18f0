package main

import (
	"cmp"
	"database/sql"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/platform/postgres"
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
	c := &cobra.Command{
		Use: "up", Short: "Apply pending migrations", Args: noArgs,
		Long: `Apply pending migrations. If the schema is newer than this program, nothing is applied. The command then
exits with 0 if this program works with the schema, and with 1 if it does not.`,
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.asOwner(func(db *sql.DB) error {
			applied, err := migrations.Up(c.Context(), db)
			if !*asJSON {
				for _, name := range applied {
					fmt.Fprintln(c.OutOrStdout(), "applied", name)
				}
			}
			if err != nil || len(applied) > 0 && !*asJSON {
				return err
			}
			schema, err := migrations.ReadSchema(c.Context(), db)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return printJSON(c.OutOrStdout(), migratedView{append([]string{}, applied...), schema.Version})
			}
			fmt.Fprintln(c.OutOrStdout(), upToDate(schema))
			return nil
		})
	}
	return c
}

type migratedView struct {
	Applied []string `json:"applied"` // the names of the migrations
	Schema  int64    `json:"schema"`  // the version of the schema
}

// upToDate returns the reason why no migration was applied.
func upToDate(s migrations.Schema) string {
	if s.IsNewer() {
		return fmt.Sprintf("nothing was applied: the schema has version %d, which is newer than this program but works with it", s.Version)
	}
	return "the schema is up to date"
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
				rows = append(rows, []any{s.Version, cmp.Or(s.Name, "unknown to this program"), state})
			}
			return printTable(c.OutOrStdout(), "VERSION\tMIGRATION\tSTATUS", rows)
		})
	}
	return c
}
