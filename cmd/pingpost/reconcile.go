package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/blobstore"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// reconcileFlags say which list, and how it is read where it does not say so itself.
type reconcileFlags struct {
	partner, file                string
	lead, amount, currency, date string
	decimal, dates, coverage     string
	from, to                     string
	keep, again                  bool
}

func reconcileCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "reconcile --partner PARTNER --file FILE",
		Short: "Compare a partner's own list of leads with the ledger, line by line",
		Long: `Compare a partner's own list of leads, a CSV file, with the ledger, line by line. What the list
shows of its columns need not be said; what it leaves open is asked for. The comparison is a dry
run, of which neither result nor file stays, unless --keep makes it a result that never changes.`,
		Args: noArgs,
	}
	flags, asJSON, f := newDBFlags(c), jsonFlag(c), &reconcileFlags{}
	for _, flag := range []struct {
		into             *string
		name, what, form string
	}{
		{&f.partner, "partner", "whose list it is: slug or id", "PARTNER"},
		{&f.file, "file", "the list; - is standard input", "FILE"},
		{&f.lead, "lead-id", "the column of the leadIds", "COL"},
		{&f.amount, "amount", "the column of the amounts", "COL"},
		{&f.currency, "currency", "the column of the currencies, or the one that all amounts are in", "COL|GBP"},
		{&f.date, "date", "the column of the dates, by which --from and --to are found", "COL"},
		{&f.decimal, "decimal", "the decimal mark of the amounts: dot or comma", "MARK"},
		{&f.dates, "dates", "the order of the dates: ymd, dmy or mdy", "ORDER"},
		{&f.coverage, "coverage",
			"the leads to compare: file for the currencies and accounts that the list names, or all", "LEADS"},
		{&f.from, "from", "the first day that the list covers, as 2026-01-31", "D"},
		{&f.to, "to", "the last day that it covers", "D"},
	} {
		c.Flags().StringVar(flag.into, flag.name, "", flag.what+" (`"+flag.form+"`)")
	}
	c.Flags().BoolVar(&f.keep, "keep", false, "keep the comparison as a result, which never changes")
	c.Flags().BoolVar(&f.again, "again", false, "keep it although a result of the very same file was kept before")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if f.partner == "" || f.file == "" {
			return usageError{errors.New("give --partner and --file")}
		}
		return flags.open(c.Context(), func(db *postgres.DB, keys *keyring.Keys) error {
			return reconcileList(c, db, keys, f, *asJSON)
		})
	}
	return c
}

// reconcileList takes the list in, compares it, prints what was found, and leaves nothing
// behind that was not to be kept.
func reconcileList(c *cobra.Command, db *postgres.DB, keys *keyring.Keys, f *reconcileFlags, asJSON bool) (err error) {
	ctx := c.Context()
	given, err := f.read()
	if err != nil {
		return err
	}
	partner, err := partners.NewService(db, keys, clock.System{}).Find(ctx, scope.System, f.partner)
	if err != nil {
		return err
	}
	queue := jobs.NewQueue(db, clock.System{}, slog.New(slog.DiscardHandler))
	s := reconcile.NewService(db, clock.System{}, queue, blobstore.NewStore(db, keys, clock.System{})).By(audit.Operator)
	r, err := upload(ctx, c.InOrStdin(), s, partner.ID, f.file)
	if err != nil {
		return err
	}
	defer func() {
		if !f.keep || err != nil {
			err = errors.Join(err, discard(context.WithoutCancel(ctx), s, r.ID))
		}
	}()
	same, err := f.sameFile(ctx, s, r)
	if err != nil {
		return err
	}
	m, err := f.suggested(ctx, s, r, given)
	if err != nil {
		return err
	}
	progress := progressOn(c.ErrOrStderr(), same+mappingText(m))
	if err := s.CompareNow(ctx, scope.System, r.ID, r.RowVersion, m.Mapping, m.From, m.To, progress); err != nil {
		return f.asked(err, r)
	}
	if r, err = s.Get(ctx, scope.System, r.ID); err != nil {
		return err
	}
	if f.keep {
		if err := s.Save(ctx, scope.System, r.ID, r.RowVersion); err != nil {
			return err
		}
		r.State = models.ReconciliationKept
	}
	if asJSON {
		return printComparisonJSON(ctx, c.OutOrStdout(), s, r)
	}
	return printComparison(ctx, c.OutOrStdout(), s, r)
}

func upload(
	ctx context.Context, in io.Reader, s *reconcile.Service, partner uuid.UUID, path string,
) (reconcile.Reconciliation, error) {
	name := "standard input"
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return reconcile.Reconciliation{}, err
		}
		defer file.Close()
		in, name = file, filepath.Base(path)
	}
	made, err := s.Upload(ctx, scope.System, partner, name, in)
	if err != nil {
		return reconcile.Reconciliation{}, err
	}
	return s.Get(ctx, scope.System, made.ID)
}

// discard lets go of a comparison that was not kept.
func discard(ctx context.Context, s *reconcile.Service, reconciliation uuid.UUID) error {
	r, err := s.Get(ctx, scope.System, reconciliation)
	if err != nil || r.State == models.ReconciliationKept {
		return err
	}
	if err := s.Discard(ctx, scope.System, r.ID, r.RowVersion); err != nil {
		return err
	}
	return s.DeleteLines(ctx, r.ID)
}

// sameFile says which earlier reconciliations are of the very same file. A second result
// of it is kept only by somebody who knows.
func (f *reconcileFlags) sameFile(ctx context.Context, s *reconcile.Service, r reconcile.Reconciliation) (string, error) {
	same, err := s.SameFile(ctx, scope.System, r)
	var says strings.Builder
	for _, other := range same {
		if other.State == models.ReconciliationKept && f.keep && !f.again {
			return "", usageError{fmt.Errorf("this very file was given before, and its result was kept as %s of %s; give --again to keep another",
				reconcile.ID(other.ID), other.Partner)}
		}
		fmt.Fprintf(&says, "This very file was given before: %s of %s, %s, %s.\n", reconcile.ID(other.ID),
			other.Partner, other.MadeAt.UTC().Format(time.DateOnly), other.State)
	}
	return says.String(), err
}

// read is what the flags say, but for the currency: whether it is a column the list tells.
func (f *reconcileFlags) read() (given reconcile.Suggestion, err error) {
	given.LeadID, given.Amount, given.Date = f.lead, f.amount, f.date
	var ok bool
	if given.Numbers, ok = map[string]reconcile.NumberForm{"": "", "dot": reconcile.DotDecimal, "comma": reconcile.CommaDecimal}[f.decimal]; !ok {
		return given, usageError{errors.New("--decimal is dot or comma")}
	}
	if given.Dates, ok = map[string]reconcile.DateForm{"": "", "ymd": reconcile.YearFirst, "dmy": reconcile.DayFirst, "mdy": reconcile.MonthFirst}[f.dates]; !ok {
		return given, usageError{errors.New("--dates is ymd, dmy or mdy")}
	}
	given.Coverage = reconcile.Coverage(f.coverage)
	for _, day := range []struct {
		flag, text string
		into       *time.Time
	}{{"--from", f.from, &given.From}, {"--to", f.to, &given.To}} {
		if day.text == "" {
			continue
		}
		if *day.into, err = time.Parse(time.DateOnly, day.text); err != nil {
			return given, usageError{fmt.Errorf("%s is a day, like 2026-01-31", day.flag)}
		}
	}
	return given, nil
}

// suggested is what the list suggests, with what the flags say instead.
func (f *reconcileFlags) suggested(
	ctx context.Context, s *reconcile.Service, r reconcile.Reconciliation, given reconcile.Suggestion,
) (reconcile.Suggestion, error) {
	if given.Currency = f.currency; f.currency != "" {
		_, isColumn := r.Profile.Column(f.currency)
		if c, err := money.ParseCurrency(f.currency); err == nil && !isColumn {
			given.Currency, given.Fixed = "", c
		}
	}
	m, err := s.SuggestWith(ctx, r, given.Mapping)
	if !given.From.IsZero() {
		m.From = given.From
	}
	if !given.To.IsZero() {
		m.To = given.To
	}
	return m, err
}

// flagOf is the flag that mends a field of a mapping.
var flagOf = map[string]string{
	"lead_id":  "--lead-id COL",
	"amount":   "--amount COL",
	"currency": "--currency COL|GBP",
	"fixed":    "--currency COL|GBP",
	"date":     "--date COL",
	"numbers":  "--decimal dot|comma",
	"dates":    "--dates ymd|dmy|mdy",
	"coverage": "--coverage file|all",
	"from":     "--from D",
	"to":       "--to D",
}

// asked says exactly what is to be given where the list leaves something open.
func (f *reconcileFlags) asked(err error, r reconcile.Reconciliation) error {
	told := apperr.As(err)
	if told == nil || told.Reason != "mapping" {
		return err
	}
	var b strings.Builder
	b.WriteString("the list cannot be compared yet; give")
	for _, field := range told.Fields {
		fmt.Fprintf(&b, "\n  %-22s %s", flagOf[field.Path[0]], field.Message)
	}
	b.WriteString("\nIts columns are:")
	for _, column := range r.Profile.Columns {
		fmt.Fprintf(&b, "\n  %q", column.Name)
	}
	return usageError{errors.New(b.String())}
}

// progressOn tells what is known before, of each phase, and of every tenth of it.
func progressOn(w io.Writer, before string) func(phase string, done, total int64) {
	last, tenths := "", int64(-1)
	return func(phase string, done, total int64) {
		if last == "" {
			fmt.Fprint(w, before)
		}
		tenth := done * 10 / cmp.Or(total, 1)
		switch {
		case phase == last && tenth == tenths:
		case total == 0: // nobody knows how far it is
			fmt.Fprintln(w, phase)
		default:
			fmt.Fprintf(w, "%s: %d of %s\n", phase, done, rowsText(total))
		}
		last, tenths = phase, tenth
	}
}
