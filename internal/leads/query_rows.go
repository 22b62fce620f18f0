package leads

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/postgres"
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

// rowsSQL selects the columns of a Row for each lead that the subquery returns.
const rowsSQL = `SELECT l.id, l.received_at, l.partner_id, p.name, a.identifier, l.industry, l.country, l.price_minor, l.currency, l.state, l.sandbox,
		EXISTS (SELECT FROM returns r WHERE r.lead_id = l.id AND r.state = 'accepted')
	FROM (%s) chosen JOIN leads l ON l.id = chosen.id JOIN partners p ON p.id = l.partner_id JOIN accounts a ON a.id = l.account_id ORDER BY l.id %s`

// rows returns the rows of a page in the order of the window, and one more row if there is another
// page.
func (o *Reader) rows(ctx context.Context, w window, q Query) ([]Row, error) {
	c := w.conditions()
	c.filter(q)
	chosen := w.each(c, fmt.Sprintf("LIMIT %d", q.Size+1)) + fmt.Sprintf(" ORDER BY one.id %s LIMIT %d", w.order(), q.Size+1)
	return o.collect(ctx, fmt.Sprintf(rowsSQL, chosen, w.order()), c.args...)
}

func (o *Reader) collect(ctx context.Context, sql string, args ...any) ([]Row, error) {
	rows, err := o.db.Pool.Query(ctx, sql, args...)
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

// horizon returns the id of the last lead that List may examine for a page, or uuid.Nil if it may
// examine all leads in the window. If the window has several partners, each gets an equal share of the
// limit, and the horizon is where the first of them uses up its share.
func (o *Reader) horizon(ctx context.Context, w window, size int) (last uuid.UUID, err error) {
	c, each := w.conditions(), o.limit.allPartners
	if !w.all {
		each = max(size+1, o.limit.onePartner/len(w.partners))
	}
	sql := w.each(c, fmt.Sprintf("OFFSET %d LIMIT 1", each-1)) + " ORDER BY one.id " + w.order() + " LIMIT 1"
	err = o.db.Pool.QueryRow(ctx, sql, c.args...).Scan(&last)
	if errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, nil
	}
	return last, postgres.Translate(err)
}

func (w window) order() string {
	if w.up {
		return "ASC"
	}
	return "DESC"
}

// each returns a query for the ids of the leads in the window. The query reads the partners one by
// one. If it read several at once, Postgres might read the leads of all partners instead.
func (w window) each(c *conditions, limit string) string {
	if w.all {
		return fmt.Sprintf("SELECT one.id FROM (SELECT l.id FROM leads l WHERE %s ORDER BY l.id %s %s) one", c.text(),
			w.order(), limit)
	}
	c.and("l.partner_id = s.id")
	return fmt.Sprintf("SELECT one.id FROM unnest(%s::uuid[]) s (id) CROSS JOIN LATERAL (SELECT l.id FROM leads l WHERE %s ORDER BY l.id %s %s) one",
		c.arg(w.partners), c.text(), w.order(), limit)
}

// conditions is a WHERE clause and its arguments. The clause calls the table of leads l.
type conditions struct {
	sql  []string
	args []any
}

// conditions returns the conditions of the window. $1 and $2 are its ends.
func (w window) conditions() *conditions {
	c := &conditions{}
	c.and("l.id >= %s", w.from)
	c.and("l.id < %s", w.to)
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

// returned is the condition that a return of lead l was accepted. It repeats the ends of the window,
// so that Postgres does not read returns outside the window.
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
