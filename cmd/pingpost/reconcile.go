package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

// reconcileFlags are the flags of `pingpost reconcile`.
type reconcileFlags struct {
	partner, file                string
	lead, amount, currency, date string
	decimal, dates, coverage     string
	from, to                     string
	save, again                  bool
}

func reconcileCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "reconcile --partner PARTNER --file FILE",
		Short: "Compare a partner's file with the ledger, lead by lead",
		Long: `Compare a partner's CSV file of leads with the ledger, lead by lead. Columns and formats are
detected. If something cannot be detected, the command lists the flags to add. Without --save, the
command is a dry run and saves neither the result nor the file.`,
		Args: noArgs,
	}
	flags, asJSON, f := newDBFlags(c), jsonFlag(c), &reconcileFlags{}
	for _, flag := range []struct {
		into       *string
		name, help string
	}{
		{&f.partner, "partner", "the `PARTNER`, by slug or ID"},
		{&f.file, "file", "the CSV `FILE`; - reads standard input"},
		{&f.lead, "lead-id", "the column `COL` with the lead IDs"},
		{&f.amount, "amount", "the column `COL` with the amounts"},
		{&f.currency, "currency",
			"`COL|GBP`: the column COL with the currencies, or one currency for all amounts, such as GBP"},
		{&f.date, "date", "the column `COL` with the dates, used to detect --from and --to"},
		{&f.decimal, "decimal", "the decimal `MARK` of the amounts: dot or comma"},
		{&f.dates, "dates", "the `FORMAT` of the dates: ymd, dmy or mdy"},
		{&f.coverage, "coverage",
			"the `LEADS` to compare: file (only leads in the file's currencies and accounts) or all"},
		{&f.from, "from", "the first `DAY` that the file covers, such as 2026-01-31"},
		{&f.to, "to", "the last `DAY` that the file covers"},
	} {
		c.Flags().StringVar(flag.into, flag.name, "", flag.help)
	}
	c.Flags().BoolVar(&f.save, "save", false, "save the result; a saved result never changes")
	c.Flags().BoolVar(&f.again, "again", false, "save the result even if the same file was saved before")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if f.partner == "" || f.file == "" {
			return usageError{errors.New("--partner and --file are required")}
		}
		return flags.open(c.Context(), func(db *postgres.DB, keys *keyring.Keys) error {
			return reconcileFile(c, db, keys, flags.clock, f, *asJSON)
		})
	}
	return c
}

// reconcileFile uploads the file, compares it and prints the findings. Without --save, or
// after an error, it discards the reconciliation.
func reconcileFile(
	c *cobra.Command, db *postgres.DB, keys *keyring.Keys, service clock.Clock, f *reconcileFlags, asJSON bool,
) (err error) {
	ctx := c.Context()
	given, err := f.read()
	if err != nil {
		return err
	}
	partner, err := partners.NewService(db, keys, service).Find(ctx, scope.System, f.partner)
	if err != nil {
		return err
	}
	queue := newQueue(db, service)
	s := reconcile.NewService(db, service, queue, blobstore.NewStore(db, keys, service)).By(audit.Operator)
	r, err := upload(ctx, c.InOrStdin(), s, partner.ID, f.file)
	if err != nil {
		return err
	}
	defer func() {
		if !f.save || err != nil {
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
		return f.missingFlags(err, r)
	}
	if r, err = s.Get(ctx, scope.System, r.ID); err != nil {
		return err
	}
	if f.save {
		if err := s.Save(ctx, scope.System, r.ID, r.RowVersion); err != nil {
			return err
		}
		r.State = models.ReconciliationSaved
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
	uploaded, err := s.Upload(ctx, scope.System, partner, name, in)
	if err != nil {
		return reconcile.Reconciliation{}, err
	}
	return s.Get(ctx, scope.System, uploaded.ID)
}

// discard deletes the result, the file and the lines of a reconciliation that was not saved.
func discard(ctx context.Context, s *reconcile.Service, reconciliation uuid.UUID) error {
	r, err := s.Get(ctx, scope.System, reconciliation)
	if err != nil || r.State == models.ReconciliationSaved {
		return err
	}
	if err := s.Discard(ctx, scope.System, r.ID, r.RowVersion); err != nil {
		return err
	}
	return s.DeleteLines(ctx, r.ID)
}

// sameFile describes earlier reconciliations of the same file. If one of them was saved, and --save
// is set without --again, it returns an error.
func (f *reconcileFlags) sameFile(
	ctx context.Context, s *reconcile.Service, r reconcile.Reconciliation,
) (string, error) {
	same, err := s.SameFile(ctx, scope.System, r)
	var text strings.Builder
	for _, other := range same {
		if other.State == models.ReconciliationSaved && f.save && !f.again {
			return "", usageError{fmt.Errorf("this file was uploaded before, and its result was saved as %s for %s; add --again to save it again",
				reconcile.ID(other.ID), other.Partner)}
		}
		fmt.Fprintf(&text, "This file was uploaded before: %s for %s, %s, %s.\n", reconcile.ID(other.ID),
			other.Partner, other.CreatedAt.UTC().Format(time.DateOnly), other.State)
	}
	return text.String(), err
}

// read parses the flags, except --currency, which depends on the file's columns.
func (f *reconcileFlags) read() (given reconcile.Suggestion, err error) {
	given.LeadID, given.Amount, given.Date = f.lead, f.amount, f.date
	var ok bool
	if given.Numbers, ok = map[string]reconcile.NumberForm{"": "", "dot": reconcile.DotDecimal, "comma": reconcile.CommaDecimal}[f.decimal]; !ok {
		return given, usageError{errors.New("--decimal must be dot or comma")}
	}
	if given.Dates, ok = map[string]reconcile.DateForm{"": "", "ymd": reconcile.YearFirst, "dmy": reconcile.DayFirst, "mdy": reconcile.MonthFirst}[f.dates]; !ok {
		return given, usageError{errors.New("--dates must be ymd, dmy or mdy")}
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
			return given, usageError{fmt.Errorf("%s must be a day such as 2026-01-31", day.flag)}
		}
	}
	return given, nil
}

// suggested detects the file's columns, formats and period. Flags take precedence.
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

// flagOf maps each field of a column mapping to the flag that sets it.
var flagOf = map[string]string{
	"lead_id":  "--lead-id COL",
	"amount":   "--amount COL",
	"currency": "--currency COL|GBP",
	"fixed":    "--currency COL|GBP",
	"date":     "--date COL",
	"numbers":  "--decimal dot|comma",
	"dates":    "--dates ymd|dmy|mdy",
	"coverage": "--coverage file|all",
	"from":     "--from DAY",
	"to":       "--to DAY",
}

// missingFlags turns an error about the mapping into a list of the flags to add and a list
// of the file's columns.
func (f *reconcileFlags) missingFlags(err error, r reconcile.Reconciliation) error {
	invalid := apperr.As(err)
	if invalid == nil || invalid.Reason != "mapping" {
		return err
	}
	var b strings.Builder
	b.WriteString("the file cannot be compared yet. Add these flags:")
	for _, field := range invalid.Fields {
		fmt.Fprintf(&b, "\n  %-22s %s", flagOf[field.Path[0]], field.Message)
	}
	b.WriteString("\nThe file has these columns:")
	for _, column := range r.Profile.Columns {
		fmt.Fprintf(&b, "\n  %q", column.Name)
	}
	return usageError{errors.New(b.String())}
}

// progressOn returns a function that prints the progress of each phase after every tenth of the rows.
// Before its first output, the function prints the introduction.
func progressOn(w io.Writer, introduction string) func(phase string, done, total int64) {
	last, tenths := "", int64(-1)
	return func(phase string, done, total int64) {
		if last == "" {
			fmt.Fprint(w, introduction)
		}
		tenth := done * 10 / cmp.Or(total, 1)
		switch {
		case phase == last && tenth == tenths:
		case total == 0: // the total is not known
			fmt.Fprintln(w, phase)
		default:
			fmt.Fprintf(w, "%s: %d of %s\n", phase, done, counted(total, "row"))
		}
		last, tenths = phase, tenth
	}
}
