package partners

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/models"
)

// order is how a list is sorted: by a key, and partners with the same key by id.
type order struct {
	name string // as Query has it, without the direction
	key  string // an expression that is never null
	desc bool
	// parse reads a key from its text.
	parse func(string) (any, error)
}

func orderOf(sort string) order {
	name, desc := strings.CutPrefix(sort, "-")
	number := func(text string) (any, error) { return strconv.ParseInt(text, 10, 64) }
	switch name {
	case "name":
		return order{name, "lower(p.name)", desc, func(text string) (any, error) {
			if strings.ContainsRune(text, 0) {
				return nil, fmt.Errorf("no name holds %q", text)
			}
			return text, nil
		}}
	case "leads":
		return order{name, "coalesce(f.leads, 0)", desc, number}
	case "seen":
		return order{name, "coalesce(extract(epoch FROM f.last_traffic_at)::bigint, 0)", desc, number}
	}
	// Identifiers are UUIDv7: their order is that of time.
	return order{"", "p.id", true, func(text string) (any, error) { return uuid.Parse(text) }}
}

// place is where in the list a page begins.
type place struct {
	key any
	id  uuid.UUID
}

// listed is a row of the list as the database gives it.
type listed struct {
	Found int64 // that match, up to one more than are counted
	AsOf  *time.Time
	models.Partner
	Leads         int64
	Payouts       string
	LastTrafficAt *time.Time
	SortKey       string
}

// list is so many of the matching partners after a place, or before one, which it
// reads backwards, each with the count of all; the count alone when there are none.
// A search reads every partner, and is not made twice, for the page and the count;
// without one the page is the end of an index. Rows are wide: which are on the page
// is known before they are read.
func (o order) list(db, matching *gorm.DB, searched bool, before, after *place, n int) *gorm.DB {
	from, desc := after, o.desc
	if before != nil {
		from, desc = before, !o.desc
	}
	direction, beyond := "", ">"
	if desc {
		direction, beyond = " DESC", "<"
	}
	page := db.Table("matching AS p").Joins("LEFT JOIN partner_figures f ON f.partner_id = p.id").Select("p.id, " + o.key + " AS sort_key").
		Order(o.key + direction + ", p.id" + direction).Limit(n)
	if from != nil {
		page = page.Where("("+o.key+", p.id) "+beyond+" (?, ?)", from.key, from.id)
	}
	kept := "NOT MATERIALIZED"
	if searched {
		kept = "MATERIALIZED"
	}
	return db.Raw(`WITH matching AS `+kept+` (?)
		SELECT counted.*, p.*, coalesce(f.leads, 0) AS leads, coalesce(f.payouts, '[]') AS payouts, f.last_traffic_at, sort_key
		FROM (SELECT (SELECT count(*) FROM (SELECT FROM matching LIMIT ?) AS bounded) AS found, (SELECT added_until FROM partner_figures_state) AS as_of) AS counted
			LEFT JOIN ((?) AS page JOIN partners p ON p.id = page.id LEFT JOIN partner_figures f ON f.partner_id = p.id) ON true
		ORDER BY sort_key`+direction+`, p.id`+direction, matching, countBound+1, page)
}

// cursor names a row's place for a later page.
func (o order) cursor(row listed) string {
	text, _ := json.Marshal([]string{o.name, row.SortKey, row.ID.String()}) // strings never fail
	return base64.RawURLEncoding.EncodeToString(text)
}

// read is nil for what is no cursor of this order.
func (o order) read(cursor string) *place {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	var parts []string
	if err != nil || json.Unmarshal(text, &parts) != nil || len(parts) != 3 || parts[0] != o.name {
		return nil
	}
	key, err := o.parse(parts[1])
	if err != nil {
		return nil
	}
	row, err := uuid.Parse(parts[2])
	if err != nil {
		return nil
	}
	return &place{key, row}
}

func rows(found []listed) ([]Row, error) {
	all := make([]Row, len(found))
	for i, f := range found {
		all[i] = Row{Partner: f.Partner, Leads: f.Leads}
		if f.LastTrafficAt != nil {
			all[i].LastTraffic = *f.LastTrafficAt
		}
		var payouts []struct {
			Currency string
			Minor    int64
		}
		if err := json.Unmarshal([]byte(f.Payouts), &payouts); err != nil {
			return nil, fmt.Errorf("the figures of partner %s: %w", f.Slug, err)
		}
		for _, p := range payouts {
			currency, err := money.ParseCurrency(p.Currency)
			if err != nil {
				return nil, err
			}
			all[i].Payouts = append(all[i].Payouts, money.Amount{Minor: p.Minor, Currency: currency})
		}
	}
	return all, nil
}
