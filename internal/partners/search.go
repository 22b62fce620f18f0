package partners

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Match is a partner, or one of its accounts, that a search found.
type Match struct {
	Partner           uuid.UUID
	Slug, PartnerName string
	Account           uuid.UUID // uuid.Nil if the partner itself was found
	Identifier, Name  string    // of the account
	Exact             bool      // the text is the complete name, legal name, slug or identifier
}

// searchSQL matches the text with any part of a name, and ranks complete names and beginnings of names first.
// The columns named searched contain one name in each line.
const searchSQL = `SELECT partner_id, slug, partner_name, account_id, identifier, name, rank = 0 FROM (
		SELECT m.partner_id, m.slug, m.partner_name, m.account_id, m.identifier, m.name, CASE
			WHEN strpos(E'\n' || searched || E'\n', E'\n' || typed || E'\n') > 0 THEN 0
			WHEN strpos(E'\n' || searched, E'\n' || typed) > 0 THEN 1
			ELSE 2 END AS rank
		FROM (SELECT fold($1) AS typed) t, (
			SELECT p.id AS partner_id, p.slug, p.name AS partner_name, $2::uuid AS account_id, '' AS identifier, '' AS name, p.searched
			FROM partners p
			UNION ALL
			SELECT p.id, p.slug, p.name, a.id, a.identifier, a.name, a.searched
			FROM accounts a JOIN partners p ON p.id = a.partner_id) m
		WHERE strpos(searched, typed) > 0 AND partner_id <> $3 AND ($4 OR partner_id = ANY ($5))) found
	ORDER BY rank, account_id <> $2, lower(partner_name), partner_id, identifier LIMIT $6`

// Search returns the partners and accounts whose names contain the text, ignoring case and accents. The names
// of a partner are its name, legal name and slug. The names of an account are its name and identifier. The
// best matches come first.
func (s *Service) Search(ctx context.Context, sc scope.Scope, text string, limit int) ([]Match, error) {
	text = strings.TrimSpace(text)
	if text == "" || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, nil
	}
	rows, err := s.db.Pool.Query(ctx, searchSQL, postgres.PlanEachTime,
		text, uuid.Nil, models.PlatformIDs.Partner, sc.All(), sc.IDs(), limit)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Match])
	return all, postgres.Translate(err)
}

// maxCandidates is the maximum number of matches from which a user chooses.
const maxCandidates = 20

// Resolve returns the partner that a user entered: by its id, its slug, or a part of its name or of an
// account's name. If several partners match, Resolve returns them as candidates, and no partner.
//
// Errors: NotFound if no partner matches.
func (s *Service) Resolve(
	ctx context.Context, sc scope.Scope, text string,
) (p models.Partner, candidates []Match, err error) {
	text = strings.TrimSpace(text)
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return p, nil, errNoPartner
	}
	p, err = s.Find(ctx, sc, text)
	if f := apperr.As(err); f == nil || f.Code != apperr.NotFound {
		return p, nil, err
	}
	if _, err := id.Parse(id.Partner, text); err == nil {
		return p, nil, errNoPartner
	}
	found, err := s.Search(ctx, sc, text, maxCandidates)
	if err != nil {
		return p, nil, err
	}
	found = best(found, func(a, b Match) bool { return a.Partner == b.Partner })
	switch len(found) {
	case 0:
		return p, nil, errNoPartner
	case 1:
		p, err = s.Find(ctx, sc, id.Format(id.Partner, found[0].Partner))
		return p, nil, err
	}
	return p, found, nil
}

// ResolveAccount returns the account that a user entered: by its id, its identifier, or a part of its name. If
// partner is not uuid.Nil, it finds only accounts of that partner. If several accounts match, it returns them as
// candidates, and no account.
//
// Errors: NotFound if no account matches.
func (s *Service) ResolveAccount(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, text string,
) (a models.Account, candidates []Match, err error) {
	text = strings.TrimSpace(text)
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) || partner != uuid.Nil && !sc.Allows(partner) {
		return a, nil, errNoAccount
	}
	if partner != uuid.Nil {
		sc = scope.Partners(partner)
	}
	find := func(condition string, value any) (found bool, err error) {
		q := restrict(s.db.Gorm.WithContext(ctx), sc, "partner_id").Where(condition, value).Limit(1).Find(&a)
		return q.RowsAffected > 0, postgres.Translate(q.Error)
	}
	if account, err := id.Parse(id.Account, text); err == nil {
		if found, err := find("id = ?", account); found || err != nil {
			return a, nil, err
		}
		return a, nil, errNoAccount
	}
	if found, err := find("identifier = ?", text); found || err != nil {
		return a, nil, err
	}
	all, err := s.Search(ctx, sc, text, 10*maxCandidates)
	if err != nil {
		return a, nil, err
	}
	all = slices.DeleteFunc(all, func(m Match) bool { return m.Account == uuid.Nil })
	all = best(all, func(a, b Match) bool { return a.Account == b.Account })
	switch len(all) {
	case 0:
		return a, nil, errNoAccount
	case 1:
		_, err = find("id = ?", all[0].Account)
		return a, nil, err
	}
	return a, all[:min(len(all), maxCandidates)], nil
}

// best returns the exact match if there is only one, and otherwise all matches. Of equal matches, it returns the
// first.
func best(found []Match, equal func(a, b Match) bool) (all []Match) {
	exact := 0
	for _, m := range found {
		if slices.ContainsFunc(all, func(o Match) bool { return equal(o, m) }) {
			continue
		}
		if all = append(all, m); m.Exact {
			exact++
		}
	}
	if exact == 1 {
		return all[:1]
	}
	return all
}
