package payouts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// Entry is a ledger entry together with the names that are displayed with it.
type Entry struct {
	models.LedgerEntry
	TransactionID string // the lead's transactionId, as the partner received it
	Partner       string // slug
	PartnerName   string
	Identifier    string    // the account's identifier, which is "partnerId" in a post
	Run           uuid.UUID // uuid.Nil until a run claims the entry
	RunState      models.RunState
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

// entriesSQL selects entries e with their claims c. Callers append a WHERE clause.
const entriesSQL = `SELECT e.id, e.partner_id, e.account_id, e.lead_id, e.kind, e.reference, e.amount_minor, e.currency, e.occurred_at, e.note, e.created_by,
		coalesce(l.transaction_id, ''), p.slug, p.name, a.identifier, coalesce(c.run_id, '00000000-0000-0000-0000-000000000000'), coalesce(r.state, '')
	FROM ledger_entries e
		JOIN accounts a ON a.id = e.account_id
		JOIN partners p ON p.id = e.partner_id
		LEFT JOIN leads l ON l.id = e.lead_id
		LEFT JOIN payout_run_entries c ON c.entry_id = e.id
		LEFT JOIN payout_runs r ON r.id = c.run_id`

func scanEntry(rows pgx.Rows, e *Entry) error {
	err := rows.Scan(&e.ID, &e.PartnerID, &e.AccountID, &e.LeadID, &e.Kind, &e.Reference,
		&e.AmountMinor, &e.Currency, &e.OccurredAt, &e.Note, &e.CreatedBy,
		&e.TransactionID, &e.Partner, &e.PartnerName, &e.Identifier, &e.Run, &e.RunState)
	e.OccurredAt = e.OccurredAt.UTC()
	return err
}

func collectEntries(rows pgx.Rows) ([]Entry, error) {
	return pgx.CollectRows(rows, func(pgx.CollectableRow) (e Entry, err error) {
		err = scanEntry(rows, &e)
		return e, err
	})
}

// Entries returns a page of the ledger, newest first.
func (s *Service) Entries(
	ctx context.Context, sc scope.Scope, f Filter, p postgres.Page,
) (all []Entry, newer, older bool, err error) {
	c, order := f.conditions(sc), "DESC"
	switch {
	case p.NewerThan > 0:
		c.and("e.id > $%d", p.NewerThan)
		order = "ASC"
	case p.OlderThan > 0:
		c.and("e.id < $%d", p.OlderThan)
	}
	rows, err := s.db.Pool.Query(ctx,
		fmt.Sprintf("%s%s ORDER BY e.id %s LIMIT %d", entriesSQL, c.where(), order, p.Size+1), c.args...)
	if err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	if all, err = collectEntries(rows); err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	all, newer, older = postgres.SplitPage(p, all)
	return all, newer, older, nil
}

// Count returns the number of entries that match the filter, but at most bound. more reports
// whether more than bound entries match.
func (s *Service) Count(ctx context.Context, sc scope.Scope, f Filter, bound int64) (n int64, more bool, err error) {
	c := f.conditions(sc)
	err = s.db.Pool.QueryRow(ctx, fmt.Sprintf(`SELECT count(*) FROM (SELECT FROM ledger_entries e LEFT JOIN payout_run_entries c ON c.entry_id = e.id%s LIMIT %d) AS bounded`,
		c.where(), bound+1), c.args...).Scan(&n)
	if err != nil {
		return 0, false, postgres.Translate(err)
	}
	return min(n, bound), n > bound, nil
}

// Sum contains the totals of the entries in one currency, separately for each kind of entry.
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

// Sums returns, for each currency, the totals of the entries that match the filter. Callers should
// filter by partner, account or run, because adding up the whole ledger can take seconds.
func (s *Service) Sums(ctx context.Context, sc scope.Scope, f Filter) ([]Sum, error) {
	c := f.conditions(sc)
	rows, err := s.db.Pool.Query(ctx, `SELECT e.currency, `+sumColumns+
		` FROM ledger_entries e LEFT JOIN payout_run_entries c ON c.entry_id = e.id`+
		c.where()+` GROUP BY e.currency`, c.args...)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (sum Sum, err error) {
		var code string
		if err := row.Scan(&code, &sum.Entries, &sum.Accrued, &sum.Returned, &sum.Adjusted, &sum.Paid); err != nil {
			return sum, err
		}
		sum.Currency, err = money.ParseCurrency(code)
		return sum, err
	})
	slices.SortFunc(all, func(a, b Sum) int { return int(a.Currency) - int(b.Currency) })
	return all, postgres.Translate(err)
}
