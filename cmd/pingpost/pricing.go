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

	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func pricingCommand() *cobra.Command {
	return group("pricing", "Manage the rate card: drafts and versions",
		pricingExport(), pricingImport(), pricingSet(), pricingPublish(), pricingDiff(), pricingExplain())
}

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
	s, err := ratecard.NewService(db, newQueue(db, r.clock), r.clock)
	if err != nil {
		return err
	}
	return use(s.By(audit.Operator).WithPolicy(ratecard.Policy{RequireApproval: cfg.Pricing.RequireApproval}))
}

// cardFlags are the flags that select a version or a draft of the rate card.
type cardFlags struct {
	version int
	draft   string
}

func cardVar(c *cobra.Command) *cardFlags {
	f := &cardFlags{}
	c.Flags().IntVar(&f.version, "version", 0, "the version `N` (default: the current version)")
	c.Flags().StringVar(&f.draft, "draft", "", "use the draft `rc_…` instead of a version")
	return f
}

func (f *cardFlags) check(c *cobra.Command) error {
	if given := c.Flags().Changed("version"); given && (f.version < 1 || f.draft != "") {
		return usageError{errors.New("set either --draft or a --version of 1 or more")}
	}
	return nil
}

// compile reads and compiles the selected version or draft. The result name is a title for this version
// or draft.
func (f *cardFlags) compile(
	ctx context.Context, s *ratecard.Service,
) (name string, compiled *ratecard.ExaminedCard, err error) {
	if f.draft == "" {
		return compileVersion(ctx, s, f.version)
	}
	d, err := s.Draft(ctx, f.draft)
	if err != nil {
		return "", nil, err
	}
	compiled, err = s.ExamineCard(ctx, d.RateCard)
	return "Draft " + ratecard.ID(d.ID) + " of the rate card.", compiled, err
}

// compileVersion reads and compiles version n, or the current version if n is 0.
func compileVersion(
	ctx context.Context, s *ratecard.Service, n int,
) (name string, compiled *ratecard.ExaminedCard, err error) {
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
		Short: "Import a YAML rate card as a draft and print the price changes; FILE can be - for standard input",
		Args:  exactly(1, "the rate card file, or - for standard input"),
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	dry := c.Flags().Bool("dry-run", false, "print the changes without creating a draft")
	draft := c.Flags().String("draft", "", "replace the rules of the draft `rc_…` instead of creating a draft")
	title := c.Flags().String("title", "", "the new draft's title")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *title != "" && *draft != "" {
			return usageError{errors.New("--title and --draft cannot be used together: --title is for a new draft")}
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
				message, err := importCard(c.Context(), s, *draft, *title, "Imported "+filepath.Base(name), card)
				if err != nil {
					return err
				}
				fmt.Fprintln(c.ErrOrStderr(), message+flags.args())
			}
			return printDiff(c, *asJSON, pricingrules.Diff(live.Table, table))
		})
	}
	return c
}

// readCard reads a file or standard input. It returns an error if the input exceeds the maximum
// size of a rate card.
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
		err = fmt.Errorf("%s is larger than %d MB, the limit for a rate card", name, pricingrules.MaxFile>>20)
	}
	return name, data, err
}

// importCard saves the rules in the draft that the parameter ref identifies. If ref is empty, importCard
// saves them in a new draft. It returns a message that ends with the command to run next.
func importCard(
	ctx context.Context, s *ratecard.Service, ref, title, what string, card pricingrules.Card,
) (string, error) {
	if ref == "" {
		created, err := s.CreateDraftWithCard(ctx, title, what, card)
		if ratecard.IsNoChange(err) {
			return "The current version already has these rules, so no draft was created. To print them: pingpost pricing export", nil
		}
		return publishNext(created), err
	}
	d, err := s.Draft(ctx, ref)
	if err == nil {
		_, err = s.Replace(ctx, d.ID, d.RowVersion, what, card)
	}
	return publishNext(d.RateCard), err
}

func publishNext(draft models.RateCard) string {
	return fmt.Sprintf("Saved in draft %s. To publish it: pingpost pricing publish --draft %s --note NOTE",
		draftText(draft), ratecard.ID(draft.ID))
}

func draftText(draft models.RateCard) string {
	return fmt.Sprintf("%s (%s, by %s)", ratecard.ID(draft.ID), cmp.Or(draft.Title, "untitled"), draft.Author)
}

// printDiff prints the changes between two tables.
func printDiff(c *cobra.Command, asJSON bool, changes []pricingrules.Change) error {
	w := c.OutOrStdout()
	if asJSON {
		return printJSON(w, viewChanges(changes))
	}
	for _, change := range changes {
		fmt.Fprintln(w, change)
	}
	_, err := fmt.Fprintln(w, counted(int64(len(changes)), "change"))
	return err
}

func pricingDiff() *cobra.Command {
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Print the prices that differ between two versions",
		Args:  exactly(2, "two version numbers"),
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		var n [2]int
		for i, arg := range args {
			var err error
			if n[i], err = strconv.Atoi(arg); err != nil || n[i] < 1 {
				return usageError{fmt.Errorf("%q is not a version number", arg)}
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
			return printDiff(c, *asJSON, pricingrules.Diff(a.Table, b.Table))
		})
	}
	return c
}
