// Package reconcile compares a partner's file with the ledger, lead by lead.
//
// A file is a CSV file whose first row contains the column names. If its numbers or dates can be read
// in several ways, the user must choose the format. A comparison is a dry run until a user saves its
// result. A saved result never changes, but its lines can be resolved with a note.
//
// Leads are compared one by one, because totals do not show errors that cancel out.
package reconcile

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Service compares files with the ledger. It acts for a user, who is recorded in the audit log.
type Service struct {
	db    *postgres.DB
	clock clock.Clock
	queue *jobs.Queue
	files *blobstore.Store
	by    audit.Actor

	maxFile int // MaxFile, or less in tests
}

// NewService returns a service and registers its handler for comparison jobs.
func NewService(db *postgres.DB, c clock.Clock, queue *jobs.Queue, blobs *blobstore.Store) *Service {
	s := &Service{
		db: db.WithConstraints(constraints()), clock: c, queue: queue, files: blobs, by: audit.Service, maxFile: MaxFile,
	}
	queue.Handle(models.JobReconciliation, jobs.Handler{
		Object: id.Reconciliation, Do: s.compare, Undo: s.undo, Constraints: constraints(),
	})
	return s
}

// By returns a copy of the service that acts for another user.
func (s *Service) By(actor audit.Actor) *Service {
	mine := *s
	mine.by = actor
	return &mine
}

// ID formats the ID of a reconciliation as users see it, such as rn_….
func ID(reconciliation uuid.UUID) string { return id.Format(id.Reconciliation, reconciliation) }

// MaxFile is the maximum size of a file in bytes. MaxRows is the maximum number of rows in a file.
const (
	MaxFile = 256 << 20
	MaxRows = 2_000_000
)

// NumberForm is the format of amounts in a file.
type NumberForm string

const (
	DotDecimal   NumberForm = "1,234.56" // also 1234.56, 1 234.56, 1'234.56
	CommaDecimal NumberForm = "1.234,56" // also 1234,56, 1 234,56
)

// NumberForms lists all number formats.
var NumberForms = []NumberForm{DotDecimal, CommaDecimal}

// DateForm is the format of dates in a file. In each format, the separators can be slashes, dots or
// hyphens, and a time can follow the date.
type DateForm string

const (
	YearFirst  DateForm = "2006-01-31"
	DayFirst   DateForm = "31/01/2006"
	MonthFirst DateForm = "01/31/2006"
)

// DateForms lists all date formats.
var DateForms = []DateForm{YearFirst, DayFirst, MonthFirst}

// ChooseForm returns the only possible format if there is just one. Otherwise, it returns the chosen
// format, or "" if that format is not possible.
func ChooseForm[F ~string](possible []F, chosen F) (none F) {
	switch {
	case len(possible) == 1:
		return possible[0]
	case slices.Contains(possible, chosen):
		return chosen
	}
	return none
}

// Column summarises the values in a column. It does not contain the values themselves.
type Column struct {
	Name       string       `json:"name"`
	Filled     int          `json:"filled"`               // number of rows with a value
	LeadIDs    int          `json:"lead_ids,omitempty"`   // number of rows with a leadId
	Currencies []string     `json:"currencies,omitempty"` // the currencies, if most values are currency codes
	Numbers    []NumberForm `json:"numbers,omitempty"`    // formats in which most values are amounts; if there are two, the user must choose one
	Dates      []DateForm   `json:"dates,omitempty"`      // formats in which most values are dates
	Days       []Days       `json:"days,omitempty"`       // the first and the last day, for each format in Dates
}

// Days contains the first and last day in a column, in the format 2006-01-31.
type Days struct {
	First string `json:"first"`
	Last  string `json:"last"`
}

// Profile describes the format and the columns of a file. It is created when the file is uploaded.
type Profile struct {
	Delimiter string   `json:"delimiter"` // ",", ";" or a tab
	Encoding  string   `json:"encoding"`  // UTF8 or Windows1252; empty for old files without a recorded encoding
	Rows      int      `json:"rows"`      // number of rows, without the header
	Columns   []Column `json:"columns"`
}

// Column returns the column with the given name. It returns false if there is no such column.
func (p Profile) Column(name string) (Column, bool) {
	i := slices.IndexFunc(p.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 || name == "" {
		return Column{}, false
	}
	return p.Columns[i], true
}

// Period returns the first and the last day in a column whose dates are in the given format. It
// returns zero times if the dates are not in this format.
func (p Profile) Period(column string, form DateForm) (from, to time.Time) {
	c, _ := p.Column(column)
	if i := slices.Index(c.Dates, form); i >= 0 {
		from, _ = time.Parse(time.DateOnly, c.Days[i].First)
		to, _ = time.Parse(time.DateOnly, c.Days[i].Last)
	}
	return from, to
}

// Mapping selects the columns to compare and the formats of their values.
type Mapping struct {
	LeadID   string         `json:"lead_id"`
	Amount   string         `json:"amount"`
	Currency string         `json:"currency,omitempty"` // a column; "" if all amounts are in Fixed
	Fixed    money.Currency `json:"fixed,omitempty"`
	Date     string         `json:"date,omitempty"` // a column; "" if there are no dates
	Numbers  NumberForm     `json:"numbers"`
	Dates    DateForm       `json:"dates,omitempty"`
	Coverage Coverage       `json:"coverage,omitempty"` // "" means FileCoverage
}

// Suggestion is a proposed mapping. It is copied from the partner's latest file that has the same
// columns as the new file. If there is no such file, the names and values of the columns determine the
// mapping. Ambiguous fields are empty.
type Suggestion struct {
	Mapping
	From, To   time.Time // days; zero if the file has no dates
	Remembered bool
}

// Reconciliation is a stored reconciliation with its decoded JSON columns.
type Reconciliation struct {
	models.Reconciliation
	Partner     string // slug
	PartnerName string
	Profile     Profile
	Mapping     *Mapping
	Result      *Result
}

// Tally contains the number of lines with the same finding and currency, and the totals of their
// amounts in minor units: FileAmount in the file, and LedgerAmount in the ledger. A missing amount
// counts as 0.
type Tally struct {
	Finding      models.Finding `json:"finding"`
	Currency     string         `json:"currency,omitempty"` // "" for lines without an amount
	Lines        int64          `json:"lines"`
	FileAmount   int64          `json:"file_amount"`
	LedgerAmount int64          `json:"ledger_amount"`
}

// Result is the result of a comparison. Tallies are sorted by finding, in the order of the variable
// Findings, and then by currency.
type Result struct {
	Rows    int      `json:"rows"`
	Tallies []Tally  `json:"tallies"`
	Took    string   `json:"took"`              // "4.2 s"
	Covered *Covered `json:"covered,omitempty"` // nil in old results without recorded coverage
}

// Counts returns the number of lines with each finding.
func (r *Result) Counts() map[models.Finding]int64 {
	counts := map[models.Finding]int64{}
	for _, t := range r.Tallies {
		counts[t.Finding] += t.Lines
	}
	return counts
}

// Line is a line of a result with its newest resolution.
type Line struct {
	models.ReconciliationLine
	Account          string      // identifier of the lead's account
	Lead             leads.Texts // zero if the lead does not belong to the partner
	OtherPartner     string      // slug of the other partner that owns the lead, or ""
	Note, ResolvedBy string      // "" if the line has not been resolved
	ResolvedAt       time.Time
}

// Query selects a page of reconciliations.
type Query struct {
	Partner uuid.UUID // uuid.Nil for any
	State   models.ReconciliationState
	Page    postgres.Page[uuid.UUID]
}

// LineQuery selects a page of lines.
type LineQuery struct {
	Reconciliation uuid.UUID
	Finding        models.Finding     // "" for any
	Open           bool               // only unresolved lines
	Page           postgres.Page[int] // the keys are line numbers
}

// Findings lists all findings. Those that need attention come first.
var Findings = []models.Finding{
	models.AmountDiffers, models.Unknown, models.Duplicated, models.Missing, models.OutsidePeriod, models.Unreadable, models.LeftOut,
	models.NotCompared, models.Matched,
}
