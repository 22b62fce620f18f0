package payouts

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
)

// Balance is the balance of an account in one currency.
type Balance struct {
	Sum
	PartnerID   uuid.UUID
	Partner     string // slug
	PartnerName string
	AccountID   uuid.UUID
	Identifier  string
}

// BalancePage is a page of balances, ordered by the partners' slugs. After is the cursor of the
// next page, and Before is the cursor of the previous page. A cursor is "" if there is no such
// page.
type BalancePage struct {
	Balances      []Balance
	After, Before string
}

const balancesTimeout = "20s"

// Balances returns the current balances of up to limit partners that have ledger entries, ordered by
// slug. The parameters after and before are slugs. If after is set, Balances returns the partners that
// follow this slug. If before is set, it returns the partners that precede this slug.
func (s *Service) Balances(
	ctx context.Context, sc scope.Scope, after, before string, limit int,
) (page BalancePage, err error) {
	err = s.withTotals(ctx, func(tx pgx.Tx, later accountSums) error {
		slugs, err := partnersWithEntries(ctx, tx, later, sc, after, before, limit+1)
		if err != nil {
			return err
		}
		slugs, newer, older := postgres.SplitPageAt(slugs, limit, after != "", before != "")
		if len(slugs) == 0 {
			return nil
		}
		if newer {
			page.Before = slugs[0]
		}
		if older {
			page.After = slugs[len(slugs)-1]
		}
		page.Balances, err = balancesOf(ctx, tx, later, slugs)
		return err
	})
	return page, err
}

// withTotals calls the function read in a transaction whose queries all see the same data. The argument
// later contains the totals of the entries that the table ledger_totals does not include yet.
func (s *Service) withTotals(ctx context.Context, read func(tx pgx.Tx, later accountSums) error) error {
	err := pgx.BeginTxFunc(ctx, s.db.Pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = '`+balancesTimeout+`'`); err != nil {
			return err
		}
		later, err := laterSums(ctx, tx)
		if err != nil {
			return err
		}
		return read(tx, later)
	})
	return postgres.Translate(err)
}

// accountSums contains the totals of accounts by currency. Elements with the same index in all slices
// belong to the same account and currency.
type accountSums struct {
	accounts                                   []uuid.UUID
	currencies                                 []string
	entries, accrued, returned, adjusted, paid []int64
}

// laterSums returns the totals of the entries that the table ledger_totals does not include yet. It
// searches all months, because entries can be committed late and can have any time.
func laterSums(ctx context.Context, tx pgx.Tx) (all accountSums, err error) {
	var added int64
	if err := tx.QueryRow(ctx, `SELECT added_to FROM ledger_totals_state`).Scan(&added); err != nil {
		return all, err
	}
	months, err := postgres.Partitions(ctx, tx, "ledger_entries", postgres.Period{})
	if err != nil {
		return all, err
	}
	for _, window := range postgres.Windows(months) {
		span := postgres.Span(window)
		err := postgres.Releasing(ctx, tx, func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, `SELECT e.account_id, e.currency, `+sumColumns+` FROM ledger_entries e
				WHERE e.id > $1 AND e.occurred_at >= $2 AND e.occurred_at < $3 GROUP BY e.account_id, e.currency`, postgres.PlanEachTime, added, span.From, span.Until)
			if err != nil {
				return err
			}
			return all.collect(rows)
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func (all *accountSums) collect(rows pgx.Rows) error {
	var account uuid.UUID
	var currency string
	var sum Sum
	_, err := pgx.ForEachRow(rows, []any{&account, &currency, &sum.Entries, &sum.Accrued, &sum.Returned, &sum.Adjusted, &sum.Paid}, func() error {
		all.accounts, all.currencies = append(all.accounts, account), append(all.currencies, currency)
		all.entries, all.accrued = append(all.entries, sum.Entries), append(all.accrued, sum.Accrued)
		all.returned, all.adjusted = append(all.returned, sum.Returned), append(all.adjusted, sum.Adjusted)
		all.paid = append(all.paid, sum.Paid)
		return nil
	})
	return err
}

func (all accountSums) args(others ...any) []any {
	return append([]any{all.accounts, all.currencies, all.entries, all.accrued, all.returned, all.adjusted, all.paid}, others...)
}

// totalsSQL is an SQL subquery for the totals of all entries. Its result can contain several rows for an
// account and currency.
const totalsSQL = `(SELECT account_id, currency, entries, accrued_minor AS accrued, returned_minor AS returned, adjusted_minor AS adjusted, paid_minor AS paid FROM ledger_totals
	UNION ALL SELECT * FROM unnest($1::uuid[], $2::char(3)[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])) AS t`

const totalColumns = `sum(entries)::bigint, sum(accrued)::bigint, sum(returned)::bigint, sum(adjusted)::bigint, sum(paid)::bigint`

func (s *Service) accountTotals(ctx context.Context, sc scope.Scope, f Filter) (all []Sum, err error) {
	err = s.withTotals(ctx, func(tx pgx.Tx, later accountSums) error {
		c := &conditions{args: later.args()}
		if !sc.All() {
			c.and("a.partner_id = ANY ($%d)", sc.IDs())
		}
		if f.Partner != uuid.Nil {
			c.and("a.partner_id = $%d", f.Partner)
		}
		if f.Account != uuid.Nil {
			c.and("a.id = $%d", f.Account)
		}
		if f.Currency.Valid() {
			c.and("t.currency = $%d", f.Currency.String())
		}
		rows, err := tx.Query(ctx, `SELECT t.currency, `+totalColumns+` FROM accounts a JOIN `+totalsSQL+` ON t.account_id = a.id`+c.where()+` GROUP BY t.currency`, c.args...)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanSum)
		return err
	})
	return all, err
}

func partnersWithEntries(
	ctx context.Context, tx pgx.Tx, later accountSums, sc scope.Scope, after, before string, limit int,
) ([]string, error) {
	c, order := &conditions{}, "ASC"
	c.and(`EXISTS (SELECT FROM accounts a WHERE a.partner_id = p.id
		AND (a.id = ANY ($%d) OR EXISTS (SELECT FROM ledger_totals t WHERE t.account_id = a.id)))`, later.accounts)
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

func balancesOf(ctx context.Context, tx pgx.Tx, later accountSums, slugs []string) ([]Balance, error) {
	rows, err := tx.Query(ctx, `SELECT p.id, p.slug, p.name, a.id, a.identifier, t.currency, `+totalColumns+`
		FROM partners p JOIN accounts a ON a.partner_id = p.id JOIN `+totalsSQL+` ON t.account_id = a.id
		WHERE p.slug = ANY ($8) GROUP BY p.id, p.slug, p.name, a.id, a.identifier, t.currency ORDER BY p.slug, a.identifier, t.currency`, later.args(slugs)...)
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
