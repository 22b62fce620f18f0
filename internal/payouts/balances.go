package payouts

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
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

// BalanceSign says who owes a balance.
type BalanceSign string

const (
	OwedToPartner BalanceSign = "owed"  // a positive balance
	OwedByPartner BalanceSign = "owing" // a negative balance
	ZeroBalance   BalanceSign = "zero"
)

// BalanceFilter selects balances. A field with its zero value matches all balances.
type BalanceFilter struct {
	Partner  uuid.UUID
	Currency money.Currency
	Sign     BalanceSign
}

func (f BalanceFilter) matches(b Balance) bool {
	switch f.Sign {
	case "":
		return true
	case OwedToPartner:
		return b.Owed() > 0
	case OwedByPartner:
		return b.Owed() < 0
	case ZeroBalance:
		return b.Owed() == 0
	}
	return false
}

// Describe returns the fields of the filter that are set, as they are shown in the audit log.
func (f BalanceFilter) Describe() map[string]any {
	words := Filter{Partner: f.Partner, Currency: f.Currency}.Describe()
	if f.Sign != "" {
		words["balance"] = f.Sign
	}
	return words
}

// BalancePage is a page of balances. After is the cursor of the next page, and Before is the cursor of the previous
// page. A cursor is the slug of a partner, or "" if there is no such page.
type BalancePage struct {
	Balances      []Balance
	After, Before string
}

const balancesTimeout = "20s"

// Balances returns the current balances that match a filter, ordered by the partner's slug, account and currency.
func (s *Service) Balances(ctx context.Context, sc scope.Scope, f BalanceFilter) (all []Balance, err error) {
	err = s.withTotals(ctx, func(tx pgx.Tx, later accountSums) error {
		c := &conditions{args: later.args()}
		c.balances(sc, Filter{Partner: f.Partner, Currency: f.Currency})
		rows, err := tx.Query(ctx, `SELECT p.id, p.slug, p.name, a.id, a.identifier, t.currency, `+totalColumns+`
			FROM partners p JOIN accounts a ON a.partner_id = p.id JOIN `+totalsSQL+` ON t.account_id = a.id`+c.where()+`
			GROUP BY p.id, p.slug, p.name, a.id, a.identifier, t.currency`, c.args...)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanBalance)
		return err
	})
	all = slices.DeleteFunc(all, func(b Balance) bool { return !f.matches(b) })
	slices.SortFunc(all, func(a, b Balance) int {
		return cmp.Or(cmp.Compare(a.Partner, b.Partner), cmp.Compare(a.Identifier, b.Identifier),
			cmp.Compare(a.Currency, b.Currency))
	})
	return all, err
}

// PageOfBalances returns a page with the balances of up to limit partners. If after is set, these are the partners that
// follow this slug. If before is set, they are the partners that precede this slug.
func PageOfBalances(all []Balance, after, before string, limit int) (page BalancePage) {
	index := func(slug string) int {
		at, _ := slices.BinarySearchFunc(all, slug, func(b Balance, slug string) int { return cmp.Compare(b.Partner, slug) })
		return at
	}
	var first, end int
	if before != "" {
		end = index(before)
		for first = end; limit > 0 && first > 0; limit-- {
			first = index(all[first-1].Partner)
		}
	} else {
		first = index(after + "\x00") // follows all balances of this partner
		for end = first; limit > 0 && end < len(all); limit-- {
			end = index(all[end].Partner + "\x00")
		}
	}
	if page.Balances = all[first:end]; len(page.Balances) == 0 {
		return page
	}
	if first > 0 {
		page.Before = all[first].Partner
	}
	if end < len(all) {
		page.After = all[end-1].Partner
	}
	return page
}

// SumBalances returns the totals of balances, by currency.
func SumBalances(all []Balance) []Sum {
	sums := make([]Sum, len(all))
	for i, b := range all {
		sums[i] = b.Sum
	}
	return byCurrency(sums)
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
				WHERE e.id > $1 AND e.occurred_at >= $2 AND e.occurred_at < $3
				GROUP BY e.account_id, e.currency`, postgres.PlanEachTime, added, span.From, span.Until)
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
	return append([]any{all.accounts, all.currencies, all.entries, all.accrued, all.returned, all.adjusted, all.paid},
		others...)
}

// totalsSQL is an SQL subquery for the totals of all entries. Its result can contain several rows for an
// account and currency.
const totalsSQL = `(SELECT account_id, currency, entries, accrued_minor AS accrued, returned_minor AS returned, adjusted_minor AS adjusted, paid_minor AS paid FROM ledger_totals
	UNION ALL SELECT * FROM unnest($1::uuid[], $2::char(3)[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])) AS t`

const totalColumns = `sum(entries)::bigint, sum(accrued)::bigint, sum(returned)::bigint, sum(adjusted)::bigint, sum(paid)::bigint`

func (s *Service) accountTotals(ctx context.Context, sc scope.Scope, f Filter) (all []Sum, err error) {
	err = s.withTotals(ctx, func(tx pgx.Tx, later accountSums) error {
		c := &conditions{args: later.args()}
		c.balances(sc, f)
		rows, err := tx.Query(ctx, `SELECT t.currency, `+totalColumns+` FROM accounts a JOIN `+totalsSQL+` ON t.account_id = a.id`+c.where()+` GROUP BY t.currency`, c.args...)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scanSum)
		return err
	})
	return all, err
}

// This method adds the conditions for totals (t) of accounts (a) that are in the scope and match the filter's partner,
// account and currency.
func (c *conditions) balances(sc scope.Scope, f Filter) {
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
}

func scanBalance(row pgx.CollectableRow) (b Balance, err error) {
	var code string
	err = row.Scan(&b.PartnerID, &b.Partner, &b.PartnerName, &b.AccountID, &b.Identifier, &code,
		&b.Entries, &b.Accrued, &b.Returned, &b.Adjusted, &b.Paid)
	if err != nil {
		return b, err
	}
	b.Currency, err = money.ParseCurrency(code)
	return b, err
}
