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

// balancesTimeout is the statement timeout of the queries for a page of balances.
const balancesTimeout = "20s"

// Balances returns the current balances of up to limit partners that have ledger entries. If after
// is set, it returns the partners that follow this slug. If before is set, it returns those that
// precede it.
func (s *Service) Balances(
	ctx context.Context, sc scope.Scope, after, before string, limit int,
) (page BalancePage, err error) {
	tx, err := s.db.Pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return page, postgres.Translate(err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = '`+balancesTimeout+`'`); err != nil {
		return page, postgres.Translate(err)
	}
	slugs, err := partnersWithEntries(ctx, tx, sc, after, before, limit+1)
	if err != nil {
		return page, postgres.Translate(err)
	}
	slugs, newer, older := postgres.SplitPageAt(slugs, limit, after != "", before != "")
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

// partnersWithEntries returns the slugs of up to limit partners that have entries.
func partnersWithEntries(ctx context.Context, tx pgx.Tx, sc scope.Scope, after, before string, limit int) ([]string, error) {
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
