package partners

import (
	"context"
	"database/sql"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Query selects partners for the list of partners. An empty field matches all partners.
type Query struct {
	// Search matches any part of a partner's name, legal name or slug, or of an account's name or
	// identifier, ignoring case and accents. It can also be the id of a partner or an account.
	Search                   string
	Status, Manager, Signing string
	// Sort is "name", "leads", "payout" (the currency with the most leads, then the amount), "rejected" (rejected
	// posts), "accepted" (the share of accepted posts) or "seen" (last traffic). A leading minus sign means
	// descending order. Anything else sorts by creation time, newest first.
	Sort string
	// Page has cursors from a Page with the same Sort. An invalid cursor selects the first page.
	Page postgres.Page[string]
}

// Row is a partner in the list of partners, with its figures. Leads and Payouts cover the last 30 days.
type Row struct {
	models.Partner
	Leads       int64
	Payouts     []money.Amount // the currency with the most leads first
	Posts       PostFigures
	LastTraffic time.Time // rounded down to the minute; zero if there was none
}

// PostFigures contains the numbers of a partner's posts and rejected posts. It leaves out posts of sandbox accounts.
type PostFigures struct {
	Posts, Rejected int64 // in the last 24 hours
	RejectedBefore  int64 // in the 7 days before these 24 hours
}

// Change returns the difference between the rejected posts of the last 24 hours and the daily average of the 7 days
// before them, rounded to the nearest integer.
func (f PostFigures) Change() int64 {
	return int64(math.Round(float64(f.Rejected) - float64(f.RejectedBefore)/7))
}

// Page is a page of the list of partners. Newer is the cursor for the previous page, and Older is
// the cursor for the next one.
type Page struct {
	Rows         []Row
	Newer, Older string    // "" if there is no such page
	Count        int64     // number of matching partners, at most countBound
	More         bool      // more than countBound partners match
	AsOf         time.Time // end of the 30 days that Leads and Payouts cover; zero before the first rollup
}

const countBound = 10_000

// Page returns a page of partners in a single query. The platform partner is not included.
func (s *Service) Page(ctx context.Context, sc scope.Scope, q Query) (out Page, err error) {
	if !q.storable() {
		return out, nil // the database cannot contain this text, so no partner matches
	}
	db := s.db.Gorm.WithContext(ctx)
	matching := q.narrow(restrict(db, sc, "p.id").Table("partners AS p").Select("p.id, p.name").Where("p.id <> ?",
		models.PlatformIDs.Partner))
	by := orderOf(q.Sort)
	before, after := by.read(q.Page.Before), by.read(q.Page.After)
	if before == nil {
		q.Page.Before = ""
	}
	if after == nil {
		q.Page.After = ""
	}
	var found []listRow
	if err := by.list(db, matching, q.Search != "", before, after, q.Page.Size+1).Scan(&found).Error; err != nil {
		return out, postgres.Translate(err)
	}
	out.Count, out.More = min(found[0].Found, countBound), found[0].Found > countBound
	if found[0].AsOf != nil {
		out.AsOf = *found[0].AsOf
	}
	if found[0].ID == uuid.Nil {
		return out, nil // the row contains only the count
	}
	found, newer, older := postgres.SplitPage(q.Page, found)
	if newer {
		out.Newer = by.cursor(found[0])
	}
	if older {
		out.Older = by.cursor(found[len(found)-1])
	}
	out.Rows, err = rows(found)
	return out, err
}

// Managers returns the names of all account managers who have partners, as options for a filter.
func (s *Service) Managers(ctx context.Context, sc scope.Scope) (all []string, err error) {
	err = restrict(s.db.Gorm.WithContext(ctx), sc, "id").Model(&models.Partner{}).Distinct("account_manager").
		Where("account_manager <> '' AND id <> ?", models.PlatformIDs.Partner).Order("account_manager").
		Pluck("account_manager", &all).Error
	return all, postgres.Translate(err)
}

func (q Query) storable() bool {
	for _, text := range []string{q.Search, q.Status, q.Manager, q.Signing} {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return false
		}
	}
	return true
}

func (q Query) narrow(db *gorm.DB) *gorm.DB {
	for column, value := range map[string]string{
		"p.status":          q.Status,
		"p.account_manager": q.Manager,
		"p.signing_mode":    q.Signing,
	} {
		if value != "" {
			db = db.Where(column+" = ?", value)
		}
	}
	text := strings.TrimSpace(q.Search)
	if text == "" {
		return db
	}
	if partner, err := id.Parse(id.Partner, text); err == nil {
		return db.Where("p.id = ?", partner)
	}
	if account, err := id.Parse(id.Account, text); err == nil {
		return db.Where("p.id = (SELECT partner_id FROM accounts WHERE id = ?)", account)
	}
	return db.Where(`(strpos(p.searched, fold(@text)) > 0
		OR p.id IN (SELECT partner_id FROM accounts WHERE strpos(searched, fold(@text)) > 0))`, sql.Named("text", text))
}
