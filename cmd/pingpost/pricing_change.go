package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/apperr"
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

func draftFlag(c *cobra.Command) *string {
	return c.Flags().String("draft", "", "the draft `rc_…` to work on (default the only one that is open)")
}

func pricingSet() *cobra.Command {
	c := &cobra.Command{
		Use:   "set",
		Short: "Set the base of an industry in a country, in a draft or at once",
		Args:  noArgs,
	}
	flags, cell := newDBFlags(c), cellVar(c)
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
		case !*publish && *note != "":
			return usageError{errors.New("--note goes with --publish: a draft gets its note when it is published")}
		}
		return flags.prices(c.Context(), func(s *ratecard.Service) error {
			target := pricingrules.Target{Industry: cell.industry, Country: cell.country, Urgency: cell.urgency}
			change := ratecard.BaseChange{Target: target, Minor: minor}
			what := changeText(s, change)
			if *publish {
				now, err := s.PublishBases(c.Context(), what, *note, []ratecard.BaseChange{change})
				if err != nil {
					return err
				}
				return printPublished(c.OutOrStdout(), now)
			}
			d, err := setInDraft(c.Context(), s, *draft, what, change)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s\n%s%s\n", what, publishNext(d), flags.args())
			return nil
		})
	}
	return c
}

// changeText is what the history calls a change. A country without a market is
// refused before anybody reads it.
func changeText(s *ratecard.Service, change ratecard.BaseChange) string {
	market, _ := s.Markets().ByCode(change.Target.Country)
	return fmt.Sprintf("%s: base %s", change.Target, money.Amount{
		Minor:    change.Minor,
		Currency: s.Markets().At(market).Currency,
	})
}

// setInDraft makes a change in the draft that is named, or the only one; where none is
// open it makes one.
func setInDraft(ctx context.Context, s *ratecard.Service, ref, what string, change ratecard.BaseChange) (models.RateCard, error) {
	d, err := draftFor(ctx, s, ref)
	if errors.Is(err, errNoDrafts) {
		return s.CreateDraftWithBases(ctx, "", what, []ratecard.BaseChange{change})
	}
	if err != nil {
		return d.RateCard, err
	}
	rules, err := s.SetBases(ctx, d.ID, d.RowVersion, what, []ratecard.BaseChange{change})
	if err == nil && rules == 0 {
		err = apperr.New(apperr.Invalid, "nothing",
			fmt.Sprintf("the draft %s has this base already: nothing was changed", ratecard.ID(d.ID)))
	}
	return d.RateCard, err
}

// draftFor is the draft that is named, or the only one that is open.
func draftFor(ctx context.Context, s *ratecard.Service, ref string) (ratecard.Draft, error) {
	if ref != "" {
		return s.Draft(ctx, ref)
	}
	return onlyDraft(ctx, s)
}

var errNoDrafts = apperr.New(apperr.NotFound, "drafts",
	"no draft is open: pingpost pricing set and pingpost pricing import make one")

func onlyDraft(ctx context.Context, s *ratecard.Service) (d ratecard.Draft, err error) {
	open, err := s.Drafts(ctx)
	if err != nil {
		return d, err
	}
	var names []string
	for _, one := range open {
		if one.State == models.RateCardDraft {
			d = one
			names = append(names, draftText(one.RateCard))
		}
	}
	switch len(names) {
	case 0:
		return d, errNoDrafts
	case 1:
		return d, nil
	}
	return d, apperr.New(apperr.Conflict, "drafts",
		fmt.Sprintf("%d drafts are open, name one with --draft: %s", len(names), strings.Join(names, ", ")))
}

func pricingPublish() *cobra.Command {
	c := &cobra.Command{
		Use:   "publish",
		Short: "Publish a draft, now or at a time; live on every node within a second",
		Args:  noArgs,
	}
	flags, draft := newDBFlags(c), draftFlag(c)
	note := c.Flags().String("note", "", "why the prices change (required)")
	at := c.Flags().String("at", "", "when, such as 2026-12-01T06:00:00Z (default now)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *note == "" {
			return usageError{errors.New("--note is needed: why the prices change")}
		}
		var when time.Time
		if *at != "" {
			var err error
			if when, err = time.Parse(time.RFC3339, *at); err != nil {
				return usageError{errors.New("--at is a time like 2026-12-01T06:00:00Z")}
			}
		}
		return flags.prices(c.Context(), func(s *ratecard.Service) error {
			d, err := draftFor(c.Context(), s, *draft)
			if err != nil {
				return err
			}
			now, err := s.Publish(c.Context(), d.ID, d.RowVersion, *note, when)
			if err != nil {
				return err
			}
			return printPublished(c.OutOrStdout(), now)
		})
	}
	return c
}

// printPublished says what became of a card that was to be published.
func printPublished(w io.Writer, card models.RateCard) (err error) {
	switch card.State {
	case models.RateCardSubmitted:
		_, err = fmt.Fprintf(w, "%s waits for approval: another person gives it in the console\n", ratecard.ID(card.ID))
	case models.RateCardScheduled:
		_, err = fmt.Fprintf(w, "%s is published at %s by a node that runs then\n", ratecard.ID(card.ID),
			card.EffectiveAt.UTC().Format(time.RFC3339))
	default:
		_, err = fmt.Fprintf(w, "version %d is in force, on every node within a second\n", card.Version)
	}
	return err
}

func pricingExplain() *cobra.Command {
	c := &cobra.Command{
		Use:   "explain",
		Short: "Show step by step how a lead's price is made, and by which rules",
		Args:  noArgs,
	}
	flags, cell, card := newDBFlags(c), cellVar(c), cardVar(c)
	partner := c.Flags().String("partner", "", "for a partner's own base URL, by its slug or id")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := cell.required(); err != nil {
			return err
		}
		if err := card.check(c); err != nil {
			return err
		}
		own, err := ownPrice(c.Context(), flags, *partner)
		if err != nil {
			return err
		}
		return flags.prices(c.Context(), func(s *ratecard.Service) error {
			_, compiled, err := card.compile(c.Context(), s)
			if err != nil {
				return err
			}
			e, err := ratecard.Explain(compiled, ratecard.Lead{
				Industry: cell.industry,
				Country:  cell.country,
				Urgency:  cell.urgency,
			}, own)
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
func ownPrice(ctx context.Context, r *dbFlags, ref string) (own pricingrules.PartnerPricing, err error) {
	if ref == "" {
		return own, nil
	}
	err = r.partners(ctx, func(service *partners.Service) error {
		p, err := service.Find(ctx, scope.System, ref)
		if err != nil {
			return err
		}
		price, err := service.Pricing(ctx, p)
		own = price.PartnerPricing
		return err
	})
	return own, err
}
