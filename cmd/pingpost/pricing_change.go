package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/iso3166"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

type cellFlags struct{ industry, country, urgency string }

func cellVar(c *cobra.Command) *cellFlags {
	f := &cellFlags{}
	c.Flags().StringVar(&f.industry, "industry", "", "the industry's slug, such as plumber")
	c.Flags().StringVar(&f.country, "country", "", "the market: GB, DE, … or other (UK is read as GB)")
	c.Flags().StringVar(&f.urgency, "urgency", "", "the urgency: emergency, immediate, urgent, standard or flexible")
	return f
}

func (f *cellFlags) required() error {
	if f.industry == "" || f.country == "" {
		return usageError{errors.New("--industry and --country are required")}
	}
	return nil
}

func draftFlag(c *cobra.Command) *string {
	return c.Flags().String("draft", "", "the draft `rc_…` to use (default: the only open draft)")
}

func pricingSet() *cobra.Command {
	c := &cobra.Command{
		Use:   "set",
		Short: "Set an industry's base price in one market, either in a draft or with immediate effect",
		Args:  noArgs,
	}
	flags, cell, asJSON := newDBFlags(c), cellVar(c), jsonFlag(c)
	base := c.Flags().String("base", "", "the base price in the country's currency, such as 45.60")
	publish := c.Flags().Bool("publish", false, "publish only this change, immediately")
	note := c.Flags().String("note", "", "the reason for the change (required with --publish)")
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
			return usageError{errors.New("--publish and --draft cannot be used together: --publish publishes only this change")}
		case *publish && *note == "":
			return usageError{errors.New("--publish needs --note: the reason for the change")}
		case !*publish && *note != "":
			return usageError{errors.New("--note needs --publish: a draft gets its note when it is published")}
		}
		return flags.prices(c.Context(), func(s *ratecard.Service) error {
			target := pricingrules.Target{Industry: cell.industry, Country: iso3166.Country(cell.country), Urgency: cell.urgency}
			change := ratecard.BaseChange{Target: target, Minor: minor}
			what := changeText(s, change)
			if *publish {
				now, err := s.PublishBases(c.Context(), what, *note, []ratecard.BaseChange{change})
				if err != nil {
					return err
				}
				return printPublished(c.OutOrStdout(), *asJSON, now)
			}
			d, err := setInDraft(c.Context(), s, *draft, what, change)
			if err != nil {
				return err
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), viewCard(d))
			}
			fmt.Fprintf(c.OutOrStdout(), "%s\n%s%s\n", what, publishNext(d), flags.args())
			return nil
		})
	}
	return c
}

// changeText describes a price change for the draft's history. If the country has no market, the text
// is not used, because the change is rejected later.
func changeText(s *ratecard.Service, change ratecard.BaseChange) string {
	market, _ := s.Markets().ByCode(change.Target.Country)
	return fmt.Sprintf("%s: base %s", change.Target, money.Amount{
		Minor:    change.Minor,
		Currency: s.Markets().At(market).Currency,
	})
}

// setInDraft changes a base price in the draft that the parameter ref identifies. If ref is empty, it
// uses the only open draft. If no draft is open, it creates one.
func setInDraft(
	ctx context.Context, s *ratecard.Service, ref, what string, change ratecard.BaseChange,
) (models.RateCard, error) {
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
			fmt.Sprintf("draft %s already has this base price; nothing was changed", ratecard.ID(d.ID)))
	}
	return d.RateCard, err
}

func draftFor(ctx context.Context, s *ratecard.Service, ref string) (ratecard.Draft, error) {
	if ref != "" {
		return s.Draft(ctx, ref)
	}
	return onlyDraft(ctx, s)
}

var errNoDrafts = apperr.New(apperr.NotFound, "drafts",
	"No draft is open. Create one with `pingpost pricing set` or `pingpost pricing import`.")

func onlyDraft(ctx context.Context, s *ratecard.Service) (d ratecard.Draft, err error) {
	open, err := s.Drafts(ctx)
	if err != nil {
		return d, err
	}
	var names []string
	for _, draft := range open {
		if draft.State == models.RateCardDraft {
			d = draft
			names = append(names, draftText(draft.RateCard))
		}
	}
	switch len(names) {
	case 0:
		return d, errNoDrafts
	case 1:
		return d, nil
	}
	return d, apperr.New(apperr.Conflict, "drafts",
		fmt.Sprintf("%d drafts are open; select one with --draft: %s", len(names), strings.Join(names, ", ")))
}

func pricingPublish() *cobra.Command {
	c := &cobra.Command{
		Use:   "publish",
		Short: "Publish a draft, now or at a set time; every node uses it within a second",
		Args:  noArgs,
	}
	flags, draft, asJSON := newDBFlags(c), draftFlag(c), jsonFlag(c)
	note := c.Flags().String("note", "", "the reason for the change (required)")
	at := c.Flags().String("at", "", "when to publish, such as 2026-12-01T06:00:00Z (default: now)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *note == "" {
			return usageError{errors.New("--note is required: the reason for the change")}
		}
		var when time.Time
		if *at != "" {
			var err error
			if when, err = time.Parse(time.RFC3339, *at); err != nil {
				return usageError{errors.New("--at must be a time such as 2026-12-01T06:00:00Z")}
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
			return printPublished(c.OutOrStdout(), *asJSON, now)
		})
	}
	return c
}

// printPublished prints whether the rate card was published, scheduled, or submitted for approval.
func printPublished(w io.Writer, asJSON bool, card models.RateCard) (err error) {
	if asJSON {
		return printJSON(w, viewCard(card))
	}
	switch card.State {
	case models.RateCardSubmitted:
		_, err = fmt.Fprintf(w, "%s is waiting for another user to approve it in the console\n", ratecard.ID(card.ID))
	case models.RateCardScheduled:
		_, err = fmt.Fprintf(w, "%s will be published at %s if a node is running\n", ratecard.ID(card.ID),
			card.EffectiveAt.UTC().Format(time.RFC3339))
	default:
		_, err = fmt.Fprintf(w, "version %d is published; every node uses it within a second\n", card.Version)
	}
	return err
}

func pricingExplain() *cobra.Command {
	c := &cobra.Command{
		Use:   "explain",
		Short: "Show how a lead's price is calculated, rule by rule",
		Args:  noArgs,
	}
	flags, cell, card, asJSON := newDBFlags(c), cellVar(c), cardVar(c), jsonFlag(c)
	partner := c.Flags().String("partner", "", "include this partner's own pricing (slug or ID)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := cell.required(); err != nil {
			return err
		}
		if err := card.check(c); err != nil {
			return err
		}
		own, err := partnerPricing(c.Context(), flags, *partner)
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
			if *asJSON {
				return printJSON(c.OutOrStdout(), viewExplanation(e))
			}
			_, err = fmt.Fprint(c.OutOrStdout(), e)
			return err
		})
	}
	return c
}

// partnerPricing returns the pricing of the partner that the parameter ref identifies. If ref is empty,
// it returns the zero value.
func partnerPricing(ctx context.Context, r *dbFlags, ref string) (own pricingrules.PartnerPricing, err error) {
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
