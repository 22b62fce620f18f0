package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// cellFlags name a cell.
type cellFlags struct{ industry, country, urgency string }

func cellVar(c *cobra.Command) *cellFlags {
	f := &cellFlags{}
	c.Flags().StringVar(&f.industry, "industry", "", "an industry's slug, such as plumber")
	c.Flags().StringVar(&f.country, "country", "", "a market: GB, DE … or other")
	c.Flags().StringVar(&f.urgency, "urgency", "", "emergency, immediate, urgent, standard or flexible")
	return f
}

func (f *cellFlags) required() error {
	if f.industry == "" || f.country == "" {
		return usageError{errors.New("--industry and --country are needed")}
	}
	return nil
}

func pricingSet() *cobra.Command {
	c := &cobra.Command{Use: "set", Short: "Set the base of an industry in a country, in a draft or at once", Args: noArgs}
	reach, cell := reachFlags(c), cellVar(c)
	base := c.Flags().String("base", "", "the amount in the country's currency, such as 45.60")
	publish := c.Flags().Bool("publish", false, "publish it at once, by itself, in a draft of its own")
	note := c.Flags().String("note", "", "why, with --publish")
	draft := draftFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := cell.required(); err != nil {
			return err
		}
		minor, err := pricingrules.ParseAmount(*base)
		switch {
		case err != nil:
			return usageError{fmt.Errorf("--base: %w", err)}
		case *publish && *draft != "":
			return usageError{errors.New("--publish publishes this change alone: leave --draft out, or publish the draft after it")}
		case *publish && *note == "":
			return usageError{errors.New("--publish needs a --note: why the price changes")}
		}
		target := pricingrules.Target{Industry: cell.industry, Country: cell.country, Urgency: cell.urgency}
		return reach.prices(c.Context(), func(s *ratecard.Service) error {
			d, made, err := draftFor(c.Context(), s, *draft, *publish, *note)
			if err != nil {
				return err
			}
			market, _ := s.Markets().ByCode(cell.country)
			what := fmt.Sprintf("%s: base %s", target, money.Amount{Minor: minor, Currency: s.Markets().At(market).Currency})
			_, err = s.SetBases(c.Context(), d.ID, d.RowVersion, what, []ratecard.BaseChange{{Target: target, Minor: minor}})
			if err == nil && *publish {
				return publishDraft(c, s, ratecard.ID(d.ID), *note, time.Time{}, true)
			}
			if err != nil {
				if made {
					err = errors.Join(err, s.Discard(c.Context(), d.ID, d.RowVersion))
				}
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s in the draft %s; nothing is published: pingpost pricing publish --draft %[2]s --note NOTE%s\n", what, ratecard.ID(d.ID), reach.again())
			return nil
		})
	}
	return c
}

// draftFor is the draft that a command works on: the one named, the only one open, or,
// where none is or one of its own is wanted, a new one.
func draftFor(ctx context.Context, s *ratecard.Service, ref string, ownOne bool, title string) (d ratecard.Draft, made bool, err error) {
	if ref != "" {
		d, err = s.Draft(ctx, ref)
		return d, false, err
	}
	if !ownOne {
		d, err = onlyDraft(ctx, s)
		if !errors.Is(err, errNoDrafts) {
			return d, false, err
		}
	}
	card, err := s.Begin(ctx, title, 0)
	return ratecard.Draft{RateCard: card}, true, err
}

var errNoDrafts = errors.New("no draft is open: pingpost pricing set and pingpost pricing import make one")

func onlyDraft(ctx context.Context, s *ratecard.Service) (d ratecard.Draft, err error) {
	open, err := s.Drafts(ctx)
	if err != nil {
		return d, err
	}
	var names []string
	for _, one := range open {
		if one.State == models.RateCardDraft {
			d = one
			names = append(names, fmt.Sprintf("%s (%s, by %s)", ratecard.ID(one.ID), orUntitled(one.Title), one.Author))
		}
	}
	switch len(names) {
	case 0:
		return d, errNoDrafts
	case 1:
		return d, nil
	}
	return d, fmt.Errorf("%d drafts are open, name one with --draft: %s", len(names), strings.Join(names, ", "))
}

func orUntitled(title string) string {
	if title == "" {
		return "untitled"
	}
	return title
}

func pricingPublish() *cobra.Command {
	c := &cobra.Command{Use: "publish", Short: "Publish a draft, now or at a time; live on every node within a second", Args: noArgs}
	reach, draft := reachFlags(c), draftFlag(c)
	note := c.Flags().String("note", "", "why the prices change (required)")
	at := c.Flags().String("at", "", "when, such as 2026-12-01T06:00:00Z (default now)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		var when time.Time
		if *at != "" {
			var err error
			if when, err = time.Parse(time.RFC3339, *at); err != nil {
				return usageError{errors.New("--at is a time like 2026-12-01T06:00:00Z")}
			}
		}
		return reach.prices(c.Context(), func(s *ratecard.Service) error { return publishDraft(c, s, *draft, *note, when, false) })
	}
	return c
}

// publishDraft publishes the draft that is named, or the only one. One that was made
// for this alone goes when it cannot be published.
func publishDraft(c *cobra.Command, s *ratecard.Service, ref, note string, at time.Time, alone bool) error {
	d, err := onlyDraft(c.Context(), s)
	if ref != "" {
		d, err = s.Draft(c.Context(), ref)
	}
	if err != nil {
		return err
	}
	now, err := s.Publish(c.Context(), d.ID, d.RowVersion, note, at)
	if err != nil {
		if alone {
			err = errors.Join(err, s.Discard(c.Context(), d.ID, d.RowVersion))
		}
		return err
	}
	switch now.State {
	case models.RateCardSubmitted:
		fmt.Fprintf(c.OutOrStdout(), "%s waits for approval by another person in the console\n", ratecard.ID(d.ID))
	case models.RateCardScheduled:
		fmt.Fprintf(c.OutOrStdout(), "%s is published at %s\n", ratecard.ID(d.ID), now.EffectiveAt.UTC().Format(time.RFC3339))
	default:
		fmt.Fprintf(c.OutOrStdout(), "version %d is in force, on every node within a second\n", now.Version)
	}
	return nil
}

func pricingExplain() *cobra.Command {
	c := &cobra.Command{Use: "explain", Short: "Show step by step how a lead's price is made, and by which rules", Args: noArgs}
	reach, cell := reachFlags(c), cellVar(c)
	n := c.Flags().Int("version", 0, "of which version `N` (default the one in force)")
	draft := c.Flags().String("draft", "", "of the draft `rc_…` instead")
	partner := c.Flags().String("partner", "", "for a partner's own base URL, by its slug or id")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := cell.required(); err != nil {
			return err
		}
		if *n < 0 || (*n > 0 && *draft != "") {
			return usageError{errors.New("give one version, from 1 on, or one draft")}
		}
		own, err := ownPrice(c.Context(), reach, *partner)
		if err != nil {
			return err
		}
		return reach.prices(c.Context(), func(s *ratecard.Service) error {
			_, sheet, err := sheetOf(c.Context(), s, *n)
			if *draft != "" {
				var d ratecard.Draft
				if d, err = s.Draft(c.Context(), *draft); err == nil {
					sheet, err = s.Sheet(c.Context(), d.RateCard)
				}
			}
			if err != nil {
				return err
			}
			e, err := ratecard.Explain(sheet, ratecard.Lead{Industry: cell.industry, Country: cell.country, Urgency: cell.urgency}, own)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(c.OutOrStdout(), e)
			return err
		})
	}
	return c
}

// ownPrice is what a partner has of its own; nothing for no partner.
func ownPrice(ctx context.Context, r *reach, ref string) (own pricingrules.Own, err error) {
	if ref == "" {
		return own, nil
	}
	err = r.partners(ctx, func(office *partners.Service) error {
		p, err := office.Find(ctx, scope.System, ref)
		if err != nil {
			return err
		}
		price, err := office.OwnPrice(ctx, p)
		own = price.Own
		return err
	})
	return own, err
}
