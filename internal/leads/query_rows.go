package leads

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
)

// Row is a lead in a list.
type Row struct {
	ID                uuid.UUID
	ReceivedAt        time.Time
	PartnerID         uuid.UUID
	PartnerName       string
	PartnerSlug       string
	Identifier        string // of the account; sent as partnerId in a post
	Industry, Country string
	Price             money.Amount
	State             models.LeadState
	Sandbox           bool
	Returned          bool
	PartnerReference  string
	SubID             string
}

// chosen returns the positions of the first leads in the window that match the query, in the order of
// the window. The parameter most is the maximum number of leads.
func (r *Reader) chosen(ctx context.Context, w window, q Query, most int) ([]Cursor, error) {
	c := w.conditions()
	c.filter(q)
	return r.positions(ctx, fmt.Sprintf("%s ORDER BY one.received_at %[2]s, one.id %[2]s LIMIT %[3]d",
		w.each(c, "SELECT one.received_at, one.id", "l.received_at, l.id", most), w.order(), most), c.args...)
}

func (r *Reader) positions(ctx context.Context, sql string, args ...any) ([]Cursor, error) {
	rows, err := r.db.Pool.Query(ctx, sql, append([]any{postgres.PlanEachTime}, args...)...)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Cursor, err error) {
		err = row.Scan(&c.ReceivedAt, &c.ID)
		c.ReceivedAt = c.ReceivedAt.UTC()
		return c, err
	})
	return all, postgres.Translate(err)
}

// rowsSQL selects the leads with the ids $1. All of these ids are between $2 and $3.
const rowsSQL = `SELECT l.id, l.received_at, l.partner_id, p.name, p.slug, a.identifier, l.industry, l.country, l.price_minor, l.currency, l.state, l.sandbox, l.partner_reference, l.sub_id,
		EXISTS (SELECT FROM returns r WHERE r.lead_id = l.id AND r.state = 'accepted')
	FROM leads l JOIN partners p ON p.id = l.partner_id JOIN accounts a ON a.id = l.account_id
	WHERE l.id = ANY ($1) AND l.id >= $2 AND l.id <= $3`

// rows returns a Row for each of the given leads, in the given order. This is a separate query, because
// planning a single query that also selects the leads would take several times as long.
func (r *Reader) rows(ctx context.Context, chosen []Cursor) ([]Row, error) {
	if len(chosen) == 0 {
		return nil, nil
	}
	ids, place := make([]uuid.UUID, len(chosen)), make(map[uuid.UUID]int, len(chosen))
	for i, c := range chosen {
		ids[i], place[c.ID] = c.ID, i
	}
	rows, err := r.db.Pool.Query(ctx, rowsSQL, postgres.PlanEachTime, ids, slices.MinFunc(ids, id.Compare),
		slices.MaxFunc(ids, id.Compare))
	if err != nil {
		return nil, postgres.Translate(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (found Row, err error) {
		var currency string
		err = row.Scan(&found.ID, &found.ReceivedAt, &found.PartnerID, &found.PartnerName, &found.PartnerSlug, &found.Identifier, &found.Industry, &found.Country,
			&found.Price.Minor, &currency, &found.State, &found.Sandbox, &found.PartnerReference, &found.SubID, &found.Returned)
		if err != nil {
			return found, err
		}
		found.ReceivedAt = found.ReceivedAt.UTC()
		found.Price.Currency, err = money.ParseCurrency(currency)
		return found, err
	})
	slices.SortFunc(all, func(a, b Row) int { return place[a.ID] - place[b.ID] })
	return all, postgres.Translate(err)
}

// horizon determines how far List may read a window. The parameter left is the number of leads that List
// may still examine. The result last is the last lead that it may examine, or zero if it may examine the
// whole window. The result examined is the number of leads to subtract from left.
func (r *Reader) horizon(ctx context.Context, w window, left, size int) (examined int, last Cursor, err error) {
	c, each := w.conditions(), left
	if !w.all {
		each = max(size+1, left/len(w.partners))
	}
	sql := fmt.Sprintf(`WITH examined AS MATERIALIZED (%s) SELECT (SELECT count(*) FROM examined), received_at, id
			FROM (SELECT) one LEFT JOIN (SELECT received_at, id FROM examined WHERE n = %d ORDER BY received_at %[3]s, id %[3]s
				LIMIT 1) last ON true`,
		w.each(c, "SELECT one.*", "l.received_at, l.id, row_number() OVER (ORDER BY l.received_at "+w.order()+", l.id "+w.order()+") AS n", each), each, w.order())
	var at *time.Time
	var lead *uuid.UUID
	if err := r.db.Pool.QueryRow(ctx, sql, append([]any{postgres.PlanEachTime}, c.args...)...).Scan(&examined, &at,
		&lead); err != nil || at == nil {
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

// This method returns a query for the first leads in the window. The parameter most is the maximum
// number of leads for each partner, or in total if the window includes all partners. The query reads the
// leads of one partner at a time, because Postgres might otherwise read the leads of all partners.
func (w window) each(c *conditions, sel, columns string, most int) string {
	switch {
	case w.all:
		return fmt.Sprintf("%s FROM (%s) one", sel, w.first(c, columns, most))
	case len(w.partners) == 1:
		c.and("l.partner_id = %s", w.partners[0])
		return fmt.Sprintf("%s FROM (%s) one", sel, w.first(c, columns, most))
	}
	c.and("l.partner_id = s.id")
	return fmt.Sprintf("%s FROM unnest(%s::uuid[]) s (id) CROSS JOIN LATERAL (%s) one", sel, c.arg(w.partners),
		w.first(c, columns, most))
}

func (w window) first(c *conditions, columns string, most int) string {
	return fmt.Sprintf("SELECT %s FROM leads l WHERE %s ORDER BY l.received_at %[3]s, l.id %[3]s LIMIT %[4]d", columns,
		c.text(), w.order(), most)
}

// conditions contains a WHERE clause and its arguments. In the clause, l is the table of leads.
type conditions struct {
	sql  []string
	args []any
}

// conditions returns the conditions for the window's leads. $1 and $2 are the start and the end of the
// range of their ids.
func (w window) conditions() *conditions {
	c := &conditions{}
	first, end := quote.IDRange(w.from.ReceivedAt, w.to.ReceivedAt)
	c.and("l.id >= %s", first)
	c.and("l.id < %s", end)
	c.limit(">=", w.from)
	c.limit("<", w.to)
	if w.reference != "" {
		c.and("l.partner_reference = %s AND l.partner_reference <> ''", w.reference) // the index contains only such leads
	}
	if w.subID != "" {
		c.and("l.sub_id = %s AND l.sub_id <> ''", w.subID)
	}
	return c
}

func (c *conditions) limit(compare string, at Cursor) {
	if at.ID == uuid.Nil { // Postgres plans this faster
		c.and("l.received_at "+compare+" %s", at.ReceivedAt)
		return
	}
	c.and("(l.received_at, l.id) "+compare+" (%s, %s)", at.ReceivedAt, at.ID)
}

func (c *conditions) arg(value any) string {
	c.args = append(c.args, value)
	return fmt.Sprintf("$%d", len(c.args))
}

// This method adds a condition, which is joined to the others with AND. Each %s in sql is replaced by
// the placeholder of an argument.
func (c *conditions) and(sql string, args ...any) {
	for i := range args {
		args[i] = c.arg(args[i])
	}
	c.sql = append(c.sql, fmt.Sprintf(sql, args...))
}

func (c *conditions) text() string { return strings.Join(c.sql, " AND ") }

// returned is the SQL condition for leads l whose return was accepted. It repeats the range of the
// leads' ids, so that Postgres reads only the returns of leads in this range.
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
