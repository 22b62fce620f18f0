package payouts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// Filter chooses entries of the ledger. What is zero does not restrict.
type Filter struct {
	Partner  uuid.UUID        `json:"partner,omitzero"`
	Account  uuid.UUID        `json:"account,omitzero"`
	Lead     uuid.UUID        `json:"lead,omitzero"`
	Run      uuid.UUID        `json:"run,omitzero"`
	Kind     models.EntryKind `json:"kind,omitempty"`
	Currency money.Currency   `json:"currency,omitempty"`
	From     time.Time        `json:"from,omitzero"`  // included
	To       time.Time        `json:"to,omitzero"`    // not included
	Open     bool             `json:"open,omitempty"` // in no run yet
}

// Entry is a ledger entry as people read it.
type Entry struct {
	models.LedgerEntry
	TransactionID string // the lead's, as the partner holds it
	Partner       string // slug
	PartnerName   string
	Identifier    string    // the account's, "partnerId" in a post
	Run           uuid.UUID // Nil while no run has it
	RunState      models.RunState
}

// Amount is the entry's, with its currency.
func (e Entry) Amount() money.Amount {
	c, _ := money.ParseCurrency(e.Currency) // the database knows the five only
	return money.Amount{Minor: e.AmountMinor, Currency: c}
}

// conditions is a condition on entries e and their claims c, with its arguments.
type conditions struct {
	sql  []string
	args []any
}

// and adds a condition whose only placeholder is %d, the argument's number.
func (c *conditions) and(sql string, arg any) {
	c.args = append(c.args, arg)
	c.sql = append(c.sql, fmt.Sprintf(sql, len(c.args)))
}

func (c *conditions) where() string {
	if len(c.sql) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.sql, " AND ")
}

// conditions is what the filter chooses of what the scope allows.
func (f Filter) conditions(sc scope.Scope) *conditions {
	c := &conditions{}
	if !sc.All() {
		c.and("e.partner_id = ANY ($%d)", sc.IDs())
	}
	if f.Partner != uuid.Nil {
		c.and("e.partner_id = $%d", f.Partner)
		c.and("e.account_id IN (SELECT id FROM accounts WHERE partner_id = $%d)", f.Partner) // which has the index
	}
	if f.Account != uuid.Nil {
		c.and("e.account_id = $%d", f.Account)
	}
	if f.Lead != uuid.Nil {
		c.and("e.lead_id = $%d", f.Lead)
	}
	if f.Run != uuid.Nil {
		c.and("c.run_id = $%d", f.Run)
	}
	kinds := []models.EntryKind{models.EntryAccrual, models.EntryReturn, models.EntryAdjustment, models.EntryPayment}
	if slices.Contains(kinds, f.Kind) {
		c.sql = append(c.sql, "e.kind = '"+string(f.Kind)+"'") // in the text, so that the planner knows its index
	} else if f.Kind != "" {
		c.sql = append(c.sql, "false")
	}
	if f.Currency.Valid() {
		c.and("e.currency = $%d", f.Currency.String())
	}
	if !f.From.IsZero() {
		c.and("e.occurred_at >= $%d", f.From)
	}
	if !f.To.IsZero() {
		c.and("e.occurred_at < $%d", f.To)
	}
	if f.Open {
		c.sql = append(c.sql, "c.entry_id IS NULL")
	}
	return c
}

// entriesSQL reads what among chooses.
const entriesSQL = `SELECT e.id, e.partner_id, e.account_id, e.lead_id, e.kind, e.reference, e.amount_minor, e.currency, e.occurred_at, e.note, e.made_by,
		coalesce(l.transaction_id, ''), p.slug, p.name, a.identifier, coalesce(c.run_id, '00000000-0000-0000-0000-000000000000'), coalesce(r.state, '')
	FROM ledger_entries e
		JOIN accounts a ON a.id = e.account_id
		JOIN partners p ON p.id = e.partner_id
		LEFT JOIN leads l ON l.id = e.lead_id
		LEFT JOIN payout_run_entries c ON c.entry_id = e.id
		LEFT JOIN payout_runs r ON r.id = c.run_id`

func scanEntry(rows pgx.Rows, e *Entry) error {
	err := rows.Scan(&e.ID, &e.PartnerID, &e.AccountID, &e.LeadID, &e.Kind, &e.Reference,
		&e.AmountMinor, &e.Currency, &e.OccurredAt, &e.Note, &e.MadeBy,
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

// Entries is a page of the ledger, the newest entry first.
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
	all, newer, older = postgres.Cut(p, all)
	return all, newer, older, nil
}

// Count is how many entries the filter chooses, counted up to a bound: more says that
// there are more.
func (s *Service) Count(ctx context.Context, sc scope.Scope, f Filter, bound int64) (n int64, more bool, err error) {
	c := f.conditions(sc)
	err = s.db.Pool.QueryRow(ctx, fmt.Sprintf(`SELECT count(*) FROM (SELECT FROM ledger_entries e LEFT JOIN payout_run_entries c ON c.entry_id = e.id%s LIMIT %d) AS bounded`,
		c.where(), bound+1), c.args...).Scan(&n)
	if err != nil {
		return 0, false, postgres.Translate(err)
	}
	return min(n, bound), n > bound, nil
}

// Sum is what entries of a currency come to, by kind.
type Sum struct {
	Currency                          money.Currency
	Entries                           int64
	Accrued, Returned, Adjusted, Paid int64 // minor units, signed as in the ledger
}

// Owed is what is owed: the sum of it all.
func (s Sum) Owed() int64 { return s.Accrued + s.Returned + s.Adjusted + s.Paid }

const sumColumns = `count(*),
	coalesce(sum(e.amount_minor) FILTER (WHERE e.kind = 'accrual'), 0), coalesce(sum(e.amount_minor) FILTER (WHERE e.kind = 'return'), 0),
	coalesce(sum(e.amount_minor) FILTER (WHERE e.kind = 'adjustment'), 0), coalesce(sum(e.amount_minor) FILTER (WHERE e.kind = 'payment'), 0)`

// Sums adds up what the filter chooses, by currency. Over a whole large ledger that
// takes seconds: ask it of a partner, an account, a run.
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

// Balance is what is owed to an account in a currency.
type Balance struct {
	Sum
	PartnerID   uuid.UUID
	Partner     string // slug
	PartnerName string
	AccountID   uuid.UUID
	Identifier  string
}

// BalancePage is some partners' balances, by slug. After and Before are where the next
// and the previous page begin; "" where there is none.
type BalancePage struct {
	Balances      []Balance
	After, Before string
}

// balancesWithin bounds the sum of a page of balances.
const balancesWithin = "20s"

// Balances are those of a page of partners that have entries: after a slug, or before
// one, or from the beginning. Each is the sum of its entries, added up anew.
func (s *Service) Balances(
	ctx context.Context, sc scope.Scope, after, before string, partners int,
) (page BalancePage, err error) {
	tx, err := s.db.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return page, postgres.Translate(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = '`+balancesWithin+`'`); err != nil {
		return page, postgres.Translate(err)
	}
	slugs, err := earning(ctx, tx, sc, after, before, partners+1)
	if err != nil {
		return page, postgres.Translate(err)
	}
	slugs, newer, older := postgres.CutAt(slugs, partners, after != "", before != "")
	if len(slugs) == 0 {
		return page, nil
	}
	if newer {
		page.Before = slugs[0]
	}
	if older {
		page.After = slugs[len(slugs)-1]
	}
	page.Balances, err = balancesOf(ctx, tx, slugs)
	return page, postgres.Translate(err)
}

// earning are the slugs of some partners that have entries.
func earning(ctx context.Context, tx pgx.Tx, sc scope.Scope, after, before string, limit int) ([]string, error) {
	c, order := &conditions{}, "ASC"
	c.sql = append(c.sql,
		"EXISTS (SELECT FROM accounts a JOIN ledger_entries e ON e.account_id = a.id WHERE a.partner_id = p.id)")
	if !sc.All() {
		c.and("p.id = ANY ($%d)", sc.IDs())
	}
	switch {
	case before != "":
		c.and("p.slug < $%d", before)
		order = "DESC"
	case after != "":
		c.and("p.slug > $%d", after)
	}
	rows, err := tx.Query(ctx,
		fmt.Sprintf("SELECT p.slug FROM partners p%s ORDER BY p.slug %s LIMIT %d", c.where(), order, limit), c.args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func balancesOf(ctx context.Context, tx pgx.Tx, slugs []string) ([]Balance, error) {
	rows, err := tx.Query(ctx, `SELECT p.id, p.slug, p.name, a.id, a.identifier, e.currency, `+sumColumns+`
		FROM partners p JOIN accounts a ON a.partner_id = p.id JOIN ledger_entries e ON e.account_id = a.id
		WHERE p.slug = ANY ($1) GROUP BY p.id, p.slug, p.name, a.id, a.identifier, e.currency ORDER BY p.slug, a.identifier, e.currency`, slugs)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (b Balance, err error) {
		var code string
		err = row.Scan(&b.PartnerID, &b.Partner, &b.PartnerName, &b.AccountID, &b.Identifier, &code,
			&b.Entries, &b.Accrued, &b.Returned, &b.Adjusted, &b.Paid)
		if err != nil {
			return b, err
		}
		b.Currency, err = money.ParseCurrency(code)
		return b, err
	})
}
