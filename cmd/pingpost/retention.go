package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/models"
)

func retentionCommand() *cobra.Command {
	return group("retention", "Show and carry out how long leads are stored", retentionPlan(), retentionRun())
}

// plannedView is a retention period, as commands print it.
type plannedView struct {
	Category models.RetentionCategory `json:"category"`
	Country  string                   `json:"country"` // "" for all other countries

	ConfiguredDays int        `json:"configured_days"` // 0 means until erased
	EffectiveDays  int        `json:"effective_days"`
	OldestLead     *time.Time `json:"oldest_lead"` // null without leads
	LeadsToErase   int64      `json:"leads_to_erase"`
}

func viewPlan(p retention.Plan) (views []plannedView) {
	for _, period := range p.Periods {
		v := plannedView{
			Category: period.Category, Country: period.Country, ConfiguredDays: period.Configured,
			EffectiveDays: period.Days, LeadsToErase: period.Due.Leads,
		}
		if !period.Due.Oldest.IsZero() {
			v.OldestLead = &period.Due.Oldest
		}
		views = append(views, v)
	}
	return views
}

func printPlan(w io.Writer, p retention.Plan) error {
	var rows [][]any
	for _, v := range viewPlan(p) {
		oldest := "none"
		if v.OldestLead != nil {
			oldest = v.OldestLead.Format(time.RFC3339)
		}
		rows = append(rows, []any{
			v.Category, cmp.Or(v.Country, "other"), daysText(v.ConfiguredDays), daysText(v.EffectiveDays), oldest,
			v.LeadsToErase,
		})
	}
	return printTable(w, "category\tcountry\tconfigured\tin effect\toldest lead\tleads to erase", rows)
}

func daysText(days int) string {
	if days == 0 {
		return "until erased"
	}
	return counted(int64(days), "day")
}

const nodesNeedPeriods = "All nodes must have these periods in their configuration. A running node with longer periods " +
	"puts its own periods into effect again within seconds."

func retentionPlan() *cobra.Command {
	c := &cobra.Command{
		Use: "plan", Short: "Show how many leads the configured retention periods would erase now", Args: noArgs,
		Long: `Show how many leads the configured retention periods would erase now, for each country and category of
data. The command changes nothing. A lead under a legal hold is counted, but not erased.`,
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.privacy(c.Context(), func(s privacy.Services) error {
			p, err := s.Retention.Plan(c.Context(), 0)
			if err != nil {
				return err
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), viewPlan(p))
			}
			if err := printPlan(c.OutOrStdout(), p); err != nil || p.Applied() {
				return err
			}
			fmt.Fprintln(c.OutOrStdout(),
				"\nThe configured periods are not all in effect. To put them into effect, run: pingpost retention run --yes")
			fmt.Fprintln(c.OutOrStdout(), nodesNeedPeriods)
			return nil
		})
	}
	return c
}

// erasedView is the result of a run, as commands print it.
type erasedView struct {
	Contact map[string]int64 `json:"contact"` // numbers of leads by country
	Consent map[string]int64 `json:"consent"`
}

func retentionRun() *cobra.Command {
	c := &cobra.Command{
		Use: "run", Short: "Put the configured retention periods into effect, and erase the leads whose period has passed", Args: noArgs,
		Long: `Print the plan, put the configured retention periods into effect, and erase the leads whose period has
passed. This cannot be undone. The command asks for confirmation, unless --yes is set. You can stop the
command at any time. A node then continues. All nodes need the same periods in their configuration,
because a running node puts its own longer periods into effect again.`,
	}
	flags, asJSON, yes := newDBFlags(c), jsonFlag(c), yesFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.privacy(c.Context(), func(s privacy.Services) error {
			p, err := s.Retention.Plan(c.Context(), 0)
			if err != nil {
				return err
			}
			if !*asJSON {
				if err := printPlan(c.OutOrStdout(), p); err != nil {
					return err
				}
			}
			what := "This erases the leads in the plan."
			if !p.Applied() {
				what = "This puts the configured periods into effect and erases the leads in the plan.\n" + nodesNeedPeriods
			}
			if err := confirm(c, *yes, what); err != nil {
				return err
			}
			return applyRetention(c.Context(), s.Retention, p, c.OutOrStdout(), *asJSON)
		})
	}
	return c
}

func applyRetention(ctx context.Context, s *retention.Service, p retention.Plan, w io.Writer, asJSON bool) error {
	if err := s.Apply(ctx, p.Version); err != nil {
		return err
	}
	run, err := s.Run(ctx)
	if err != nil {
		return err
	}
	v := erasedView{run.Erased[models.RetainContact], run.Erased[models.RetainConsent]}
	if asJSON {
		return printJSON(w, v)
	}
	fmt.Fprintf(w, "Contact records erased: %s\n", countsText(v.Contact))
	fmt.Fprintf(w, "Details of consents erased: %s\n", countsText(v.Consent))
	return nil
}

// countsText formats numbers of leads, such as "5 (DE 2, GB 3)".
func countsText(byCountry map[string]int64) string {
	var total int64
	var parts []string
	for _, country := range slices.Sorted(maps.Keys(byCountry)) {
		total += byCountry[country]
		parts = append(parts, fmt.Sprintf("%s %d", country, byCountry[country]))
	}
	if total == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", total, strings.Join(parts, ", "))
}
