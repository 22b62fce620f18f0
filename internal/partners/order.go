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

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// order is a sort order for the list of partners: by key, then by id.
type order struct {
	name string // Query.Sort without the direction
	key  string // an SQL expression that is never null
	desc bool
	// parse parses a key in a cursor.
	parse func(string) (any, error)
}

func orderOf(sort string) order {
	name, desc := strings.CutPrefix(sort, "-")
	number := func(key string) (any, error) { return strconv.ParseInt(key, 10, 64) }
	text := func(key string) (any, error) {
		if strings.ContainsRune(key, 0) {
			return nil, fmt.Errorf("key %q contains NUL", key)
		}
		return key, nil
	}
	switch name {
	case "name":
		return order{name, "lower(p.name)", desc, text}
	case "leads":
		return order{name, "coalesce(f.leads, 0)", desc, number}
	case "payout":
		// By currency, then by amount, because amounts in different currencies cannot be compared.
		const digits = `to_char((f.payouts #>> '{0,minor}')::bigint, 'FM0000000000000000000')`
		return order{name, `coalesce(f.payouts #>> '{0,currency}' || ` + digits + `, '') COLLATE "C"`, desc, text}
	case "rejected":
		return order{name, "coalesce(f.rejected_posts, 0)", desc, number}
	case "accepted":
		// Partners without posts come last in both orders.
		none := "10001"
		if desc {
			none = "-1"
		}
		return order{name, "coalesce((f.posts - f.rejected_posts) * 10000 / nullif(f.posts, 0), " + none + ")", desc, number}
	case "seen":
		return order{name, "coalesce(extract(epoch FROM f.last_traffic_at)::bigint, 0)", desc, number}
	}
	// Ids are UUIDv7, so this sorts by creation time.
	return order{"", "p.id", true, func(text string) (any, error) { return uuid.Parse(text) }}
}

// position identifies a row in the list of partners. A page either starts after that row or ends
// before it.
type position struct {
	key any
	id  uuid.UUID
}

type listRow struct {
	Found int64 // number of matching partners, at most countBound+1
	AsOf  *time.Time
	models.Partner
	Leads   int64
	Payouts string
	PostFigures
	LastTrafficAt *time.Time
	SortKey       string
}

// list returns a query for up to n matching partners before or after a position. Each row also
// contains the count of all matching partners. If before is set, the rows are in reverse order. If
// the page is empty, the query returns one row that contains only the count.
//
// A search scans all partners, so its result is materialized and then used for both the page and
// the count. Without a search, the page is read from an index. Rows are wide, so the query first
// selects the ids on the page and then reads only those rows.
func (o order) list(db, matching *gorm.DB, searched bool, before, after *position, n int) *gorm.DB {
	from, desc := after, o.desc
	if before != nil {
		from, desc = before, !o.desc
	}
	direction, beyond := "", ">"
	if desc {
		direction, beyond = " DESC", "<"
	}
	page := db.Table("matching AS p").Joins("LEFT JOIN partner_figures f ON f.partner_id = p.id").
		Select("p.id, " + o.key + " AS sort_key").
		Order(o.key + direction + ", p.id" + direction).Limit(n)
	if from != nil {
		page = page.Where("("+o.key+", p.id) "+beyond+" (?, ?)", from.key, from.id)
	}
	materialized := "NOT MATERIALIZED"
	if searched {
		materialized = "MATERIALIZED"
	}
	return db.Raw(`WITH matching AS `+materialized+` (?)
		SELECT counted.found, counted.as_of, `+postgres.Columns[models.Partner]("p")+`, coalesce(f.leads, 0) AS leads, coalesce(f.payouts, '[]') AS payouts,
			coalesce(f.posts, 0) AS posts, coalesce(f.rejected_posts, 0) AS rejected, coalesce(f.rejected_before, 0) AS rejected_before,
			f.last_traffic_at, sort_key
		FROM (SELECT (SELECT count(*) FROM (SELECT FROM matching LIMIT ?) AS bounded) AS found, (SELECT added_until
			FROM partner_figures_state) AS as_of) AS counted
			LEFT JOIN ((?) AS page JOIN partners p ON p.id = page.id LEFT JOIN partner_figures f ON f.partner_id = p.id) ON true
		ORDER BY sort_key`+direction+`, p.id`+direction, matching, countBound+1, page)
}

func (o order) cursor(row listRow) string {
	text, _ := json.Marshal([]string{o.name, row.SortKey, row.ID.String()}) // never fails, because it encodes only strings
	return base64.RawURLEncoding.EncodeToString(text)
}

// read decodes a cursor. It returns nil if the cursor is malformed or was made for another sort
// order.
func (o order) read(cursor string) *position {
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
	return &position{key, row}
}

func rows(found []listRow) ([]Row, error) {
	all := make([]Row, len(found))
	for i, f := range found {
		all[i] = Row{Partner: f.Partner, Leads: f.Leads, Posts: f.PostFigures}
		if f.LastTrafficAt != nil {
			all[i].LastTraffic = *f.LastTrafficAt
		}
		var payouts []struct {
			Currency string
			Minor    int64
		}
		if err := json.Unmarshal([]byte(f.Payouts), &payouts); err != nil {
			return nil, fmt.Errorf("reading payouts of partner %s: %w", f.Slug, err)
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
