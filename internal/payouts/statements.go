package payouts

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// AccountStatement is an account's statement with the names that are displayed with it.
type AccountStatement struct {
	models.Statement
	Partner     string // slug
	PartnerName string
	LegalName   string // the payee's legal name, or the partner's name if there is none
	Identifier  string
}

// Payee is the recipient of a payment. Before the run is approved, Payee contains the partner's current
// details. After approval, it contains the details that were recorded at approval.
type Payee struct {
	LegalName, Address, TaxID string
}

// payeeOf is an SQL expression for a payee's name. The function payeeName in the console follows the
// same rule.
const payeeOf = "coalesce(nullif(p.legal_name, ''), p.name)"

// freezePayees records the payees of a run.
func freezePayees(tx *gorm.DB, run uuid.UUID) error {
	return tx.Exec(`INSERT INTO payees (run_id, partner_id, legal_name, address, tax_id)
		SELECT ?, p.id, `+payeeOf+`, p.address, p.tax_id FROM partners p
		WHERE p.id IN (SELECT partner_id FROM statements WHERE run_id = ?) ON CONFLICT DO NOTHING`, run, run).Error
}

const statementsSQL = `SELECT s.run_id, s.account_id, s.partner_id, s.outcome, s.entries, s.accrued_minor, s.returned_minor, s.adjusted_minor, s.net_minor, p.slug, p.name,
		coalesce((SELECT legal_name FROM payees y WHERE y.run_id = s.run_id AND y.partner_id = s.partner_id), ` +
	payeeOf + `), a.identifier
	FROM statements s JOIN partners p ON p.id = s.partner_id JOIN accounts a ON a.id = s.account_id`

// wasPrepared is an SQL condition for statements (s) whose run has been prepared. In a run that is still
// being prepared, some accounts do not have a statement yet.
const wasPrepared = "EXISTS (SELECT FROM payout_runs r WHERE r.id = s.run_id AND r.prepared_at IS NOT NULL)"

func scanStatement(row pgx.CollectableRow) (s AccountStatement, err error) {
	err = row.Scan(&s.RunID, &s.AccountID, &s.PartnerID, &s.Outcome, &s.Entries, &s.AccruedMinor, &s.ReturnedMinor, &s.AdjustedMinor, &s.NetMinor,
		&s.Partner, &s.PartnerName, &s.LegalName, &s.Identifier)
	return s, err
}

// StatementQuery selects a page of the statements in a run, sorted by account identifier. Before and
// After are cursors.
type StatementQuery struct {
	Run     uuid.UUID
	Outcome models.StatementOutcome // "" for any
	Page    postgres.Page[string]   // the keys are identifiers of accounts
}

// Statements returns a page of a run's statements, sorted by account identifier. It includes only
// partners in the scope.
func (s *Service) Statements(
	ctx context.Context, sc scope.Scope, f StatementQuery,
) (all []AccountStatement, newer, older bool, err error) {
	c, order := &conditions{}, "ASC"
	c.and("s.run_id = $%d", f.Run)
	c.sql = append(c.sql, wasPrepared)
	if !sc.All() {
		c.and("s.partner_id = ANY ($%d)", sc.IDs())
	}
	if f.Outcome != "" {
		c.and("s.outcome = $%d", string(f.Outcome))
	}
	switch {
	case f.Page.EndsBefore():
		c.and("a.identifier < $%d", f.Page.Before)
		order = "DESC"
	case f.Page.StartsAfter():
		c.and("a.identifier > $%d", f.Page.After)
	}
	rows, err := s.db.Pool.Query(ctx,
		fmt.Sprintf("%s%s ORDER BY a.identifier %s LIMIT %d", statementsSQL, c.where(), order, f.Page.Size+1), c.args...)
	if err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	if all, err = pgx.CollectRows(rows, scanStatement); err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	all, newer, older = postgres.SplitPage(f.Page, all)
	return all, newer, older, nil
}

// PartnerStatement is a partner's statement for a run. It consists of the statements of the
// partner's accounts.
type PartnerStatement struct {
	Run      models.PayoutRun
	Partner  models.Partner
	Payee    Payee
	Accounts []AccountStatement
}

var errNoStatement = apperr.New(apperr.NotFound, "statement", "Not Found")

// PartnerStatement returns a partner's statement in a prepared run, if the partner is in the scope.
// The run's totals cover all partners. To users with a limited scope, show only the currency, dates
// and reference of the run.
func (s *Service) PartnerStatement(
	ctx context.Context, sc scope.Scope, run, partner uuid.UUID,
) (v PartnerStatement, err error) {
	if !sc.Allows(partner) {
		return v, errNoStatement
	}
	rows, err := s.db.Pool.Query(ctx,
		statementsSQL+` WHERE s.run_id = $1 AND s.partner_id = $2 AND `+wasPrepared+` ORDER BY a.identifier`, run,
		partner)
	if err != nil {
		return v, postgres.Translate(err)
	}
	if v.Accounts, err = pgx.CollectRows(rows, scanStatement); err != nil {
		return v, postgres.Translate(err)
	}
	db := s.db.Gorm.WithContext(ctx)
	if err := db.Where("id = ?", run).Limit(1).Find(&v.Run).Error; err != nil {
		return v, postgres.Translate(err)
	}
	if len(v.Accounts) == 0 {
		return PartnerStatement{}, errNoStatement
	}
	if err := db.Where("id = ?", partner).Take(&v.Partner).Error; err != nil {
		return v, postgres.Translate(err)
	}
	v.Payee = Payee{v.Accounts[0].LegalName, v.Partner.Address, v.Partner.TaxID}
	err = db.Raw(`SELECT legal_name, address, tax_id FROM payees WHERE run_id = ? AND partner_id = ?`, run, partner).
		Scan(&v.Payee).Error
	return v, postgres.Translate(err)
}

// Corrections lists the returns and adjustments that a run has claimed for a partner, oldest first, with
// the notes for the partner. It lists at most size entries. The result more reports whether there are
// others.
func (s *Service) Corrections(
	ctx context.Context, sc scope.Scope, run, partner uuid.UUID, size int,
) (all []Entry, more bool, err error) {
	f := Filter{Run: run, Partner: partner}
	months, err := s.months(ctx, s.db.Pool, f)
	if err == nil {
		all, err = s.find(ctx, entryQuery{
			filter: f, scope: sc, kinds: "e.kind IN ('return', 'adjustment')", months: months, oldestFirst: true, limit: size + 1,
		})
	}
	if err != nil {
		return nil, false, postgres.Translate(err)
	}
	return all[:min(len(all), size)], len(all) > size, nil
}

// RunsOf returns the ids of the newest prepared runs that contain a statement for the partner. It
// omits cancelled runs.
func (s *Service) RunsOf(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, size int,
) (all []uuid.UUID, err error) {
	if !sc.Allows(partner) {
		return nil, errNoStatement
	}
	err = s.db.Gorm.WithContext(ctx).Raw(`SELECT r.id FROM payout_runs r WHERE r.prepared_at IS NOT NULL AND r.state <> 'cancelled'
		AND EXISTS (SELECT FROM statements s WHERE s.run_id = r.id AND s.partner_id = ?) ORDER BY r.id DESC
		LIMIT ?`, partner, size).Scan(&all).Error
	return all, postgres.Translate(err)
}
