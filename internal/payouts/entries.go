package payouts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Entry is a ledger entry with the names that are displayed with it.
type Entry struct {
	models.LedgerEntry
	leads.Texts        // of the lead
	Partner     string // slug
	PartnerName string
	Identifier  string    // the account's identifier, which is "partnerId" in a post
	Run         uuid.UUID // uuid.Nil until a run claims the entry
	RunState    models.RunState
}

// Amount returns the entry's amount with its currency.
func (e Entry) Amount() money.Amount {
	c, _ := money.ParseCurrency(e.Currency) // the database contains only valid currencies
	return money.Amount{Minor: e.AmountMinor, Currency: c}
}

// NoteText returns the note. In the note of a return, it replaces the reason's code with its label.
func (e Entry) NoteText() string {
	if e.Kind != models.EntryReturn {
		return e.Note
	}
	reason, answer, answered := strings.Cut(e.Note, ": ")
	text := ReturnReasonLabel(models.ReturnReason(reason))
	if answered {
		text += ": " + answer
	}
	return text
}

// addEntries adds entries to the ledger, with their notes. It sets their ids.
func addEntries(tx *gorm.DB, entries []models.LedgerEntry) error {
	if err := tx.CreateInBatches(&entries, 1000).Error; err != nil {
		return err
	}
	var notes []models.LedgerNote
	for _, e := range entries {
		if e.Note != "" {
			notes = append(notes, models.LedgerNote{EntryID: e.ID, OccurredAt: e.OccurredAt, Note: e.Note})
		}
	}
	if len(notes) == 0 {
		return nil
	}
	return tx.CreateInBatches(&notes, 1000).Error
}

// entriesSQL selects ledger entries (e) with their claims (c). Callers append a WHERE clause. $1 and $2
// are the start and the end of a period, so that Postgres plans and locks only the partitions of this
// period.
const entriesSQL = `SELECT e.id, e.partner_id, e.account_id, e.lead_id, e.kind, e.reference, e.amount_minor, e.currency, e.occurred_at, coalesce(n.note, ''), e.created_by,
		p.slug, p.name, a.identifier, coalesce(c.run_id, '00000000-0000-0000-0000-000000000000'), coalesce(r.state, '')
	FROM ledger_entries e
		JOIN accounts a ON a.id = e.account_id
		JOIN partners p ON p.id = e.partner_id
		LEFT JOIN ledger_notes n ON n.entry_id = e.id AND n.occurred_at = e.occurred_at` + withClaims + `
		LEFT JOIN payout_runs r ON r.id = c.run_id`

// withClaims is the SQL that joins the claims (c) of entries (e).
const withClaims = ` LEFT JOIN payout_run_entries c
	ON c.entry_id = e.id AND c.occurred_at = e.occurred_at AND c.occurred_at >= $1 AND c.occurred_at < $2`

func scanEntry(rows pgx.Rows, e *Entry) error {
	err := rows.Scan(&e.ID, &e.PartnerID, &e.AccountID, &e.LeadID, &e.Kind, &e.Reference,
		&e.AmountMinor, &e.Currency, &e.OccurredAt, &e.Note, &e.CreatedBy,
		&e.Partner, &e.PartnerName, &e.Identifier, &e.Run, &e.RunState)
	e.OccurredAt = e.OccurredAt.UTC()
	return err
}

func collectEntries(rows pgx.Rows) ([]Entry, error) {
	return pgx.CollectRows(rows, func(pgx.CollectableRow) (e Entry, err error) {
		err = scanEntry(rows, &e)
		return e, err
	})
}

// setLeadTexts sets the texts of each entry's lead.
func setLeadTexts(ctx context.Context, q postgres.Querier, entries []Entry) error {
	var ids []uuid.UUID
	for _, e := range entries {
		if e.LeadID != nil {
			ids = append(ids, *e.LeadID)
		}
	}
	texts, err := leads.ReadTexts(ctx, q, ids)
	if err != nil {
		return err
	}
	for i := range entries {
		if lead := entries[i].LeadID; lead != nil {
			entries[i].Texts = texts[*lead]
		}
	}
	return nil
}

// Entries returns a page of the ledger, newest first. Entries are sorted by month, and within a month by
// id.
func (s *Service) Entries(
	ctx context.Context, sc scope.Scope, f Filter, p postgres.Page[int64],
) (all []Entry, newer, older bool, err error) {
	months, err := s.months(ctx, s.db.Pool, f)
	if err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	q := entryQuery{filter: f, scope: sc, months: months, limit: p.Size + 1}
	if at := max(p.Before, p.After); at > 0 {
		if q.month, err = s.monthOf(ctx, months, at); err != nil {
			return nil, false, false, postgres.Translate(err)
		}
		if q.after, q.oldestFirst = at, p.EndsBefore(); q.month < 0 {
			q, p.Before, p.After = entryQuery{filter: f, scope: sc, months: months, limit: p.Size + 1}, 0, 0
		}
	}
	if all, err = s.find(ctx, q); err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	all, newer, older = postgres.SplitPage(p, all)
	return all, newer, older, nil
}

// Count returns the number of entries that match the filter, up to the given bound. The result more
// reports whether there are more entries than that.
func (s *Service) Count(ctx context.Context, sc scope.Scope, f Filter, bound int64) (n int64, more bool, err error) {
	months, err := s.months(ctx, s.db.Pool, f)
	if err != nil {
		return 0, false, postgres.Translate(err)
	}
	for _, window := range postgres.Windows(months) {
		c := f.conditions(sc, postgres.Span(window))
		var found int64
		err = s.db.Pool.QueryRow(ctx, fmt.Sprintf(`SELECT count(*) FROM (SELECT FROM ledger_entries e%s%s LIMIT %d) AS bounded`,
			f.claims(), c.where(), bound+1-n), c.planned()...).Scan(&found)
		if n += found; err != nil || n > bound {
			break
		}
	}
	if err != nil {
		return 0, false, postgres.Translate(err)
	}
	return min(n, bound), n > bound, nil
}

// Sum contains the totals of the entries in one currency, with a separate total for each kind of entry.
type Sum struct {
	Currency                          money.Currency
	Entries                           int64
	Accrued, Returned, Adjusted, Paid int64 // minor units, signed as in the ledger
}

// Owed returns the balance, which is the sum of the four totals.
func (s Sum) Owed() int64 { return s.Accrued + s.Returned + s.Adjusted + s.Paid }

const sumColumns = `count(*),
	coalesce(sum(e.amount_minor) FILTER (WHERE e.kind = 'accrual'), 0), coalesce(sum(e.amount_minor) FILTER (WHERE e.kind = 'return'), 0),
	coalesce(sum(e.amount_minor) FILTER (WHERE e.kind = 'adjustment'), 0), coalesce(sum(e.amount_minor) FILTER (WHERE e.kind = 'payment'), 0)`

func (s *Sum) add(other Sum) {
	s.Entries += other.Entries
	s.Accrued += other.Accrued
	s.Returned += other.Returned
	s.Adjusted += other.Adjusted
	s.Paid += other.Paid
}

func scanSum(row pgx.CollectableRow) (sum Sum, err error) {
	var code string
	if err := row.Scan(&code, &sum.Entries, &sum.Accrued, &sum.Returned, &sum.Adjusted, &sum.Paid); err != nil {
		return sum, err
	}
	sum.Currency, err = money.ParseCurrency(code)
	return sum, err
}

// Sums returns the totals of the entries that match the filter, by currency. If the filter contains only
// a partner, an account or a currency, Sums reads the table ledger_totals. Any other filter should
// contain a partner, an account or a run, because adding up the whole ledger can take seconds.
func (s *Service) Sums(ctx context.Context, sc scope.Scope, f Filter) ([]Sum, error) {
	var found []Sum
	var err error
	if f == (Filter{Partner: f.Partner, Account: f.Account, Currency: f.Currency}) {
		found, err = s.accountTotals(ctx, sc, f)
	} else {
		found, err = s.addUp(ctx, sc, f)
	}
	return byCurrency(found), postgres.Translate(err)
}

// byCurrency adds up amounts in the same currency.
func byCurrency(found []Sum) []Sum {
	totals := map[money.Currency]Sum{}
	for _, sum := range found {
		sum.add(totals[sum.Currency])
		totals[sum.Currency] = sum
	}
	return slices.SortedFunc(maps.Values(totals), func(a, b Sum) int { return int(a.Currency) - int(b.Currency) })
}

// addUp returns the totals of the entries that match the filter, by currency. It returns separate totals
// for each window, which is a group of months.
func (s *Service) addUp(ctx context.Context, sc scope.Scope, f Filter) (all []Sum, err error) {
	months, err := s.months(ctx, s.db.Pool, f)
	if err != nil {
		return nil, err
	}
	for _, window := range postgres.Windows(months) {
		c := f.conditions(sc, postgres.Span(window))
		rows, err := s.db.Pool.Query(ctx,
			`SELECT e.currency, `+sumColumns+` FROM ledger_entries e`+f.claims()+c.where()+` GROUP BY e.currency`,
			c.planned()...)
		if err != nil {
			return nil, err
		}
		found, err := pgx.CollectRows(rows, scanSum)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
