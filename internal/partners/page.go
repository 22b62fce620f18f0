package partners

import (
	"context"
	"database/sql"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// Query says which partners a list shows; what is empty narrows nothing.
type Query struct {
	// Search is a part of a name, a legal name, a slug or an account's identifier, in
	// either case, or the id of a partner or an account.
	Search                   string
	Status, Manager, Signing string
	// Sort is "name", "leads" or "seen" (the last traffic), with a minus for the other
	// direction; anything else is the newest partner first.
	Sort string
	// Before and After are cursors of a Page with the same Sort; what is none leads to
	// the first page.
	Before, After string
	Size          int
}

// Row is a partner with its last 30 days.
type Row struct {
	models.Partner
	Leads       int64
	Payouts     []money.Amount // by currency code
	LastTraffic time.Time      // to the minute; zero for never
}

// Page is a part of the list. Newer leads to the rows before it, Older to those after it.
type Page struct {
	Rows         []Row
	Newer, Older string    // cursors, "" for none
	Count        int64     // of all that match, up to a bound
	More         bool      // there are more than the bound
	AsOf         time.Time // until when leads and payouts are added up; zero when they never were
}

// countBound is how far matching partners are counted.
const countBound = 10_000

// Page lists partners, the house left out. It takes one query, whatever is asked.
func (s *Service) Page(ctx context.Context, sc scope.Scope, q Query) (out Page, err error) {
	if !q.storable() {
		return out, nil // no partner is called what the database cannot hold
	}
	db := s.db.Gorm.WithContext(ctx)
	matching := q.narrow(restrict(db, sc, "p.id").Table("partners AS p").Select("p.id, p.name").Where("p.id <> ?", models.PlatformIDs.Partner))
	by := orderOf(q.Sort)
	before, after := by.read(q.Before), by.read(q.After)
	var found []listed
	if err := by.list(db, matching, q.Search != "", before, after, q.Size+1).Scan(&found).Error; err != nil {
		return out, postgres.Translate(err)
	}
	out.Count, out.More = min(found[0].Found, countBound), found[0].Found > countBound
	if found[0].AsOf != nil {
		out.AsOf = *found[0].AsOf
	}
	if found[0].ID == uuid.Nil {
		return out, nil // a row of the count alone
	}
	found, newer, older := postgres.SplitPageAt(found, q.Size, after != nil, before != nil)
	if newer {
		out.Newer = by.cursor(found[0])
	}
	if older {
		out.Older = by.cursor(found[len(found)-1])
	}
	out.Rows, err = rows(found)
	return out, err
}

// Managers are the account managers that partners have, for the list's filter.
func (s *Service) Managers(ctx context.Context, sc scope.Scope) (all []string, err error) {
	err = restrict(s.db.Gorm.WithContext(ctx), sc, "id").Model(&models.Partner{}).Distinct("account_manager").
		Where("account_manager <> '' AND id <> ?", models.PlatformIDs.Partner).Order("account_manager").Pluck("account_manager", &all).Error
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
	// Identifiers are ASCII, which folds several times as fast as what a language may have.
	return db.Where(`(strpos(p.searched, lower(@text)) > 0
		OR p.id IN (SELECT partner_id FROM accounts WHERE strpos(lower(identifier COLLATE "C"), lower(@text)) > 0))`, sql.Named("text", text))
}
