package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/config"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func pricingCommand() *cobra.Command {
	return group("pricing", "Prices: drafts and versions of the rate card",
		pricingExport(), pricingImport(), pricingSet(), pricingPublish(), pricingDiff(), pricingExplain())
}

// prices opens the service that the commands about prices use.
func (r *dbFlags) prices(ctx context.Context, use func(*ratecard.Service) error) error {
	cfg, _, err := r.load(config.SectionDatabase, config.SectionPricing)
	if err != nil {
		return err
	}
	db, err := postgres.Open(ctx, postgres.Options{
		URL: cfg.Database.URL.Reveal(), MaxConnections: 2,
		ConnectTimeout: cfg.Database.ConnectTimeout, StatementTimeout: cfg.Database.StatementTimeout,
	})
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := ratecard.NewService(db, clock.System{})
	if err != nil {
		return err
	}
	return use(s.By(audit.Operator).WithPolicy(ratecard.Policy{SecondPerson: cfg.Pricing.SecondPerson}))
}

// cardFlags choose a rate card to look at: a version, or a draft.
type cardFlags struct {
	version int
	draft   string
}

func cardVar(c *cobra.Command) *cardFlags {
	f := &cardFlags{}
	c.Flags().IntVar(&f.version, "version", 0, "which `N` (default the one in force)")
	c.Flags().StringVar(&f.draft, "draft", "", "the draft `rc_…` instead")
	return f
}

func (f *cardFlags) check(c *cobra.Command) error {
	if given := c.Flags().Changed("version"); given && (f.version < 1 || f.draft != "") {
		return usageError{errors.New("give one version, from 1 on, or one draft")}
	}
	return nil
}

// compile reads and compiles the card, and names it.
func (f *cardFlags) compile(ctx context.Context, s *ratecard.Service) (name string, compiled *ratecard.ExaminedCard, err error) {
	if f.draft == "" {
		return compileVersion(ctx, s, f.version)
	}
	d, err := s.Draft(ctx, f.draft)
	if err != nil {
		return "", nil, err
	}
	compiled, err = s.ExamineCard(ctx, d.RateCard)
	return "The draft " + ratecard.ID(d.ID) + " of a rate card.", compiled, err
}

// compileVersion reads the version with a number; 0 for the one in force.
func compileVersion(ctx context.Context, s *ratecard.Service, n int) (name string, compiled *ratecard.ExaminedCard, err error) {
	card, err := s.Current(ctx)
	if n != 0 {
		card, err = s.Version(ctx, n)
	}
	if err != nil {
		return "", nil, err
	}
	compiled, err = s.ExamineCard(ctx, card)
	return fmt.Sprintf("Version %d of the rate card.", card.Version), compiled, err
}

func pricingExport() *cobra.Command {
	c := &cobra.Command{Use: "export", Short: "Print a version of the rate card, or a draft, as YAML", Args: noArgs}
	flags, card := newDBFlags(c), cardVar(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := card.check(c); err != nil {
			return err
		}
		return flags.prices(c.Context(), func(s *ratecard.Service) error {
			name, compiled, err := card.compile(c.Context(), s)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "# %s\n%s", name, pricingrules.FormatCard(compiled.Card))
			return err
		})
	}
	return c
}

func pricingImport() *cobra.Command {
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a draft of a rate card in YAML, and print what it changes of the version in force; - is standard input",
		Args:  exactly(1, "the file of the rate card"),
	}
	flags := newDBFlags(c)
	dry := c.Flags().Bool("dry-run", false, "print the differences and make no draft")
	draft := c.Flags().String("draft", "", "replace the rules of the draft `rc_…` instead of making one")
	title := c.Flags().String("title", "", "what the new draft is for")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *title != "" && *draft != "" {
			return usageError{errors.New("--title is for a new draft: leave it or --draft out")}
		}
		name, data, err := readCard(c, args[0])
		if err != nil {
			return err
		}
		return flags.prices(c.Context(), func(s *ratecard.Service) error {
			card, table, err := pricingrules.Load(name, data, s.Taxonomy(), s.Markets())
			if err != nil {
				return err
			}
			_, live, err := compileVersion(c.Context(), s, 0)
			if err != nil {
				return err
			}
			if !*dry {
				told, err := importCard(c.Context(), s, *draft, *title, "Imported "+filepath.Base(name), card)
				if err != nil {
					return err
				}
				fmt.Fprintln(c.ErrOrStderr(), told+flags.args())
			}
			return printChanges(c.OutOrStdout(), pricingrules.Diff(live.Table, table))
		})
	}
	return c
}

// readCard reads a file, or standard input, up to the bound of a card.
func readCard(c *cobra.Command, path string) (name string, data []byte, err error) {
	from := c.InOrStdin()
	name = "standard input"
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return "", nil, err
		}
		defer file.Close()
		from, name = file, path
	}
	data, err = io.ReadAll(io.LimitReader(from, pricingrules.MaxFile+1))
	if err == nil && len(data) > pricingrules.MaxFile {
		err = fmt.Errorf("%s has more than %d MB: no rate card does", name, pricingrules.MaxFile>>20)
	}
	return name, data, err
}

// importCard puts the rules into the draft that was named, or a new one, and says what
// comes next.
func importCard(ctx context.Context, s *ratecard.Service, ref, title, what string, card pricingrules.Card) (string, error) {
	if ref == "" {
		begun, err := s.CreateDraftWithCard(ctx, title, what, card)
		if ratecard.IsNoChange(err) {
			return "The version in force has these rules already, so no draft was made. To see it: pingpost pricing export", nil
		}
		return publishNext(begun), err
	}
	d, err := s.Draft(ctx, ref)
	if err == nil {
		_, err = s.Replace(ctx, d.ID, d.RowVersion, what, card)
	}
	return publishNext(d.RateCard), err
}

// publishNext is the command that publishes a draft, to be pasted.
func publishNext(draft models.RateCard) string {
	return fmt.Sprintf("The draft is %s; nothing is published: pingpost pricing publish --draft %s --note NOTE",
		draftText(draft), ratecard.ID(draft.ID))
}

// draftText names a draft and its author.
func draftText(draft models.RateCard) string {
	return fmt.Sprintf("%s (%s, by %s)", ratecard.ID(draft.ID), cmp.Or(draft.Title, "untitled"), draft.Author)
}

func printChanges(w io.Writer, changes []pricingrules.Change) error {
	for _, one := range changes {
		fmt.Fprintln(w, one)
	}
	_, err := fmt.Fprintf(w, "%d changes\n", len(changes))
	return err
}

func pricingDiff() *cobra.Command {
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Print the prices that differ between two versions",
		Args:  exactly(2, "the numbers of two versions"),
	}
	flags := newDBFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		var n [2]int
		for i, arg := range args {
			var err error
			if n[i], err = strconv.Atoi(arg); err != nil || n[i] < 1 {
				return usageError{fmt.Errorf("%q is not the number of a version", arg)}
			}
		}
		return flags.prices(c.Context(), func(s *ratecard.Service) error {
			_, a, err := compileVersion(c.Context(), s, n[0])
			if err != nil {
				return err
			}
			_, b, err := compileVersion(c.Context(), s, n[1])
			if err != nil {
				return err
			}
			return printChanges(c.OutOrStdout(), pricingrules.Diff(a.Table, b.Table))
		})
	}
	return c
}
