// Package reconcile puts a partner's own list of leads beside the ledger, line by line.
//
// A list comes as a file of any usual form: its columns are named by its first row, in
// any order. Reading it never guesses: where a number or a date could mean two things,
// whoever compares it says which. The comparison is a dry run until somebody keeps it;
// what was kept never changes, and each of its lines can be settled with a note.
//
// Totals that agree say nothing here: two errors that cancel out are two findings.
package reconcile

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/blobstore"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
)

// Service does everything in the name of somebody.
type Service struct {
	db    *postgres.DB
	clock clock.Clock
	queue *jobs.Queue
	files *blobstore.Store
	by    audit.Actor

	maxFile int // MaxFile, or less in a test
}

// NewService handles comparisons at the queue.
func NewService(db *postgres.DB, c clock.Clock, queue *jobs.Queue, blobs *blobstore.Store) *Service {
	s := &Service{db: db.WithConstraints(constraints()), clock: c, queue: queue, files: blobs, by: audit.Service, maxFile: MaxFile}
	queue.Handle(models.WorkReconciliation, jobs.Handler{
		Object: id.Reconciliation, Do: s.compare, Undo: s.undo, Constraints: constraints(),
	})
	return s
}

// By is the service on behalf of somebody.
func (s *Service) By(who audit.Actor) *Service {
	mine := *s
	mine.by = who
	return &mine
}

// ID is how a reconciliation is named to people.
func ID(reconciliation uuid.UUID) string { return id.Format(id.Reconciliation, reconciliation) }

// MaxFile bounds a list in bytes, MaxRows in rows.
const (
	MaxFile = 256 << 20
	MaxRows = 2_000_000
)

// NumberForm is how a list writes amounts.
type NumberForm string

const (
	DotDecimal   NumberForm = "1,234.56" // also 1234.56, 1 234.56, 1'234.56
	CommaDecimal NumberForm = "1.234,56" // also 1234,56, 1 234,56
)

// NumberForms are all of them; parseAmount reads each by its decimal mark.
var NumberForms = []NumberForm{DotDecimal, CommaDecimal}

// DateForm is how a list writes dates.
type DateForm string

const (
	YearFirst  DateForm = "2006-01-31" // with or without a time
	DayFirst   DateForm = "31/01/2006" // also with dots or hyphens
	MonthFirst DateForm = "01/31/2006"
)

// DateForms are all of them.
var DateForms = []DateForm{YearFirst, DayFirst, MonthFirst}

// ChooseForm is the one form that is possible, or of several the one that was chosen; "" where
// that is none of them.
func ChooseForm[F ~string](possible []F, chosen F) (none F) {
	switch {
	case len(possible) == 1:
		return possible[0]
	case slices.Contains(possible, chosen):
		return chosen
	}
	return none
}

// Column is what a column of a file holds, without its values.
type Column struct {
	Name       string       `json:"name"`
	Filled     int          `json:"filled"`               // rows with something in it
	LeadIDs    int          `json:"lead_ids,omitempty"`   // rows with a leadId
	Currencies []string     `json:"currencies,omitempty"` // where every filled row but a few has a currency's code: which
	Numbers    []NumberForm `json:"numbers,omitempty"`    // the forms in which every filled row but a few is an amount; two are a question
	Dates      []DateForm   `json:"dates,omitempty"`      // as Numbers
	Days       []Days       `json:"days,omitempty"`       // as each of Dates has them
}

// Days are the earliest and the latest of a column, as 2006-01-31.
type Days struct {
	First string `json:"first"`
	Last  string `json:"last"`
}

// Profile is what was found in a file when it was taken in.
type Profile struct {
	Delimiter string   `json:"delimiter"` // "," ";" or a tab
	Encoding  string   `json:"encoding"`  // UTF8 or Windows1252; empty for a list from before it was recorded
	Rows      int      `json:"rows"`      // below the head
	Columns   []Column `json:"columns"`
}

// Column is a column by its name.
func (p Profile) Column(name string) (Column, bool) {
	i := slices.IndexFunc(p.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 || name == "" {
		return Column{}, false
	}
	return p.Columns[i], true
}

// Period is from the first to the last day of a column whose dates have a form; zero
// where they cannot have it.
func (p Profile) Period(column string, form DateForm) (from, to time.Time) {
	c, _ := p.Column(column)
	if i := slices.Index(c.Dates, form); i >= 0 {
		from, _ = time.Parse(time.DateOnly, c.Days[i].First)
		to, _ = time.Parse(time.DateOnly, c.Days[i].Last)
	}
	return from, to
}

// Mapping says what the columns are, by name, and how their texts are read.
type Mapping struct {
	LeadID   string         `json:"lead_id"`
	Amount   string         `json:"amount"`
	Currency string         `json:"currency,omitempty"` // a column; "" where every amount is in Fixed
	Fixed    money.Currency `json:"fixed,omitempty"`
	Date     string         `json:"date,omitempty"` // a column; "" for none
	Numbers  NumberForm     `json:"numbers"`
	Dates    DateForm       `json:"dates,omitempty"`
	Coverage Coverage       `json:"coverage,omitempty"` // "" is FileCoverage
}

// Suggestion is a mapping to begin with: the one that this partner's last list with the
// same columns had, else what the columns look like. What could be read in two ways is
// empty in it.
type Suggestion struct {
	Mapping
	From, To   time.Time // days; zero where no date says
	Remembered bool
}

// Reconciliation is one with what its JSON says.
type Reconciliation struct {
	models.Reconciliation
	Partner     string // slug
	PartnerName string
	Profile     Profile
	Mapping     *Mapping
	Result      *Result
}

// Tally is how many lines have a finding, and what they come to in one currency.
// Theirs and Ours are minor units; lines without an amount count as 0.
type Tally struct {
	Finding  models.Finding `json:"finding"`
	Currency string         `json:"currency,omitempty"` // "" of lines without any amount
	Lines    int64          `json:"lines"`
	Theirs   int64          `json:"theirs"`
	Ours     int64          `json:"ours"`
}

// Result is what a comparison came to: each finding by currency, in a fixed order.
type Result struct {
	Rows    int      `json:"rows"`
	Tallies []Tally  `json:"tallies"`
	Took    string   `json:"took"`              // "4.2 s"
	Covered *Covered `json:"covered,omitempty"` // nil in results from before it was recorded
}

// Counts are the lines by finding, whatever their currency.
func (r *Result) Counts() map[models.Finding]int64 {
	counts := map[models.Finding]int64{}
	for _, t := range r.Tallies {
		counts[t.Finding] += t.Lines
	}
	return counts
}

// Line is a line with how it was settled.
type Line struct {
	models.ReconciliationLine
	Account       string // identifier of our lead's account
	OtherPartner  string // slug, for those who may see that partner
	Note, Settler string // "" while the line is not settled
	SettledAt     time.Time
}

// Query chooses reconciliations; Before and After are ids of a page's ends.
type Query struct {
	Partner       uuid.UUID // Nil: any
	State         models.ReconciliationState
	Before, After uuid.UUID
	Size          int
}

// LineQuery chooses lines of a reconciliation; Before and After are line numbers.
type LineQuery struct {
	Reconciliation uuid.UUID
	Finding        models.Finding // "": any
	Open           bool           // not settled yet
	Before, After  int
	Size           int
}

// Findings are all of them, in the order in which they are told: what asks for somebody first.
var Findings = []models.Finding{
	models.AmountDiffers, models.Unknown, models.Duplicated, models.Missing, models.OutsidePeriod, models.Unreadable, models.LeftOut, models.Matched,
}
