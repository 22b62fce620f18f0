package leads

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/models"
)

// Row is a lead in a list.
type Row struct {
	ID                uuid.UUID
	ReceivedAt        time.Time
	PartnerID         uuid.UUID
	PartnerName       string
	Identifier        string // of the account; sent as partnerId in a post
	Industry, Country string
	Price             money.Amount
	State             models.LeadState
	Sandbox           bool
	Returned          bool
}

func (r Row) cursor() Cursor { return Cursor{r.ReceivedAt, r.ID} }

// rowsSQL selects the columns of a Row for each lead that the subquery returns. All leads have ids from
// $1 until $2.
const rowsSQL = `SELECT l.id, l.received_at, l.partner_id, p.name, a.identifier, l.industry, l.country, l.price_minor, l.currency, l.state, l.sandbox,
		EXISTS (SELECT FROM returns r WHERE r.lead_id = l.id AND r.state = 'accepted')
	FROM (%s) chosen JOIN leads l ON l.id = chosen.id AND l.id >= $1 AND l.id < $2
		JOIN partners p ON p.id = l.partner_id JOIN accounts a ON a.id = l.account_id
	ORDER BY l.received_at %[2]s, l.id %[2]s`

// rows returns up to most rows of a page, in the order of the window.
func (o *Reader) rows(ctx context.Context, w window, q Query, most int) ([]Row, error) {
	c := w.conditions()
	c.filter(q)
	chosen := fmt.Sprintf("%s ORDER BY one.received_at %[2]s, one.id %[2]s LIMIT %[3]d",
		w.each(c, "SELECT one.id", "l.received_at, l.id", most), w.order(), most)
	return o.collect(ctx, fmt.Sprintf(rowsSQL, chosen, w.order()), c.args...)
}

func (o *Reader) collect(ctx context.Context, sql string, args ...any) ([]Row, error) {
	rows, err := o.db.Pool.Query(ctx, sql, append([]any{postgres.PlanEachTime}, args...)...)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Row, err error) {
		var currency string
		err = row.Scan(&r.ID, &r.ReceivedAt, &r.PartnerID, &r.PartnerName, &r.Identifier, &r.Industry, &r.Country,
			&r.Price.Minor, &currency, &r.State, &r.Sandbox, &r.Returned)
		if err != nil {
			return r, err
		}
		r.ReceivedAt = r.ReceivedAt.UTC()
		r.Price.Currency, err = money.ParseCurrency(currency)
		return r, err
	})
	return all, postgres.Translate(err)
}

// horizon returns the last lead that List may examine in a window, or zero if it may examine all of
// them, and the number of leads up to there. left is the number of leads that List may still examine.
// If the window has several partners, each gets an equal share of it, and the horizon is where the
// first of them uses up its share.
func (o *Reader) horizon(ctx context.Context, w window, left, size int) (examined int, last Cursor, err error) {
	c, each := w.conditions(), left
	if !w.all {
		each = max(size+1, left/len(w.partners))
	}
	sql := fmt.Sprintf(`WITH examined AS MATERIALIZED (%s) SELECT (SELECT count(*) FROM examined), received_at, id
			FROM (SELECT) one LEFT JOIN (SELECT received_at, id FROM examined WHERE n = %d ORDER BY received_at %[3]s, id %[3]s LIMIT 1) last ON true`,
		w.each(c, "SELECT one.*", "l.received_at, l.id, row_number() OVER (ORDER BY l.received_at "+w.order()+", l.id "+w.order()+") AS n", each), each, w.order())
	var at *time.Time
	var lead *uuid.UUID
	if err := o.db.Pool.QueryRow(ctx, sql, append([]any{postgres.PlanEachTime}, c.args...)...).Scan(&examined, &at, &lead); err != nil || at == nil {
		return examined, last, postgres.Translate(err)
	}
	return examined, Cursor{at.UTC(), *lead}, nil
}

func (w window) order() string {
	if w.up {
		return "ASC"
	}
	return "DESC"
}

// each returns a query for the first leads in the window, at most most for each partner. The query reads
// the partners one by one. If it read several at once, Postgres might read the leads of all partners
// instead.
func (w window) each(c *conditions, sel, columns string, most int) string {
	if w.all {
		return fmt.Sprintf("%s FROM (%s) one", sel, w.first(c, columns, most))
	}
	c.and("l.partner_id = s.id")
	return fmt.Sprintf("%s FROM unnest(%s::uuid[]) s (id) CROSS JOIN LATERAL (%s) one", sel, c.arg(w.partners), w.first(c, columns, most))
}

func (w window) first(c *conditions, columns string, most int) string {
	return fmt.Sprintf("SELECT %s FROM leads l WHERE %s ORDER BY l.received_at %[3]s, l.id %[3]s LIMIT %[4]d", columns, c.text(), w.order(), most)
}

// conditions is a WHERE clause and its arguments. The clause calls the table of leads l.
type conditions struct {
	sql  []string
	args []any
}

// conditions returns the conditions of the window. $1 and $2 are the range of its ids.
func (w window) conditions() *conditions {
	c := &conditions{}
	first, end := quote.IDRange(w.from.ReceivedAt, w.to.ReceivedAt)
	c.and("l.id >= %s", first)
	c.and("l.id < %s", end)
	c.and("(l.received_at, l.id) >= (%s, %s)", w.from.ReceivedAt, w.from.ID)
	c.and("(l.received_at, l.id) < (%s, %s)", w.to.ReceivedAt, w.to.ID)
	return c
}

// arg adds an argument and returns its placeholder.
func (c *conditions) arg(value any) string {
	c.args = append(c.args, value)
	return fmt.Sprintf("$%d", len(c.args))
}

// and adds a condition. Each %s in sql becomes the placeholder of an argument.
func (c *conditions) and(sql string, args ...any) {
	for i := range args {
		args[i] = c.arg(args[i])
	}
	c.sql = append(c.sql, fmt.Sprintf(sql, args...))
}

func (c *conditions) text() string { return strings.Join(c.sql, " AND ") }

// returned is the condition that a return of lead l was accepted. It repeats the range of ids, so that
// Postgres does not read returns outside the window.
const returned = "EXISTS (SELECT FROM returns r WHERE r.lead_id = l.id AND r.state = 'accepted' AND r.lead_id >= $1 AND r.lead_id < $2)"

func (c *conditions) filter(q Query) {
	if q.Account != uuid.Nil {
		c.and("l.account_id = %s", q.Account)
	}
	if q.Industry != "" {
		c.and("l.industry = %s", q.Industry)
	}
	if q.Country != "" {
		c.and("l.country = %s", q.Country)
	}
	switch q.State {
	case "":
	case StateDelivered:
		c.and("l.state = 'delivered' AND NOT l.sandbox AND NOT " + returned)
	case StateReturned:
		c.and(returned)
	case StateErased:
		c.and("l.state = 'erased'")
	case StateSandbox:
		c.and("l.sandbox")
	default:
		c.and("false")
	}
}
