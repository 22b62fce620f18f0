package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/base/id"
)

func idCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "id ID", Short: "Show an ID in both forms: with its prefix, such as ld_…, and as the UUID in the database",
		Args: exactly(1, "an ID such as ld_…, or a UUID"),
	}
	asJSON := jsonFlag(c)
	show := func(c *cobra.Command, kind id.Kind, u uuid.UUID) error {
		text := id.Format(kind, u)
		if *asJSON {
			return printJSON(c.OutOrStdout(), idView{text, u.String()})
		}
		_, err := fmt.Fprintf(c.OutOrStdout(), "%s  %s\n", text, u)
		return err
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, kind := range id.Kinds {
			if u, err := id.Parse(kind, args[0]); err == nil {
				return show(c, kind, u)
			}
		}
		u, err := uuid.Parse(args[0])
		if err != nil {
			return usageError{errors.New("not an ID: enter a prefix such as ld_ followed by 26 letters and digits, or a UUID")}
		}
		var others []string
		for _, kind := range id.Kinds {
			if kind != id.Lead {
				others = append(others, string(kind))
			}
		}
		fmt.Fprintf(c.ErrOrStderr(),
			"A UUID does not show its type, so the output assumes a lead. IDs of other types have the same characters after %s.\n",
			strings.Join(others, " "))
		return show(c, id.Lead, u)
	}
	return c
}

type idView struct {
	ID   string `json:"id"`
	UUID string `json:"uuid"`
}
