package payouts

import (
	"context"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// ExceptionKind is what an exception is about.
type ExceptionKind string

// The kinds of exceptions, in the order in which Exceptions returns them.
const (
	LateReturns      ExceptionKind = "late_returns"      // accepted after the cutoff
	LateAdjustments  ExceptionKind = "late_adjustments"  // made after the cutoff
	OpenReturns      ExceptionKind = "open_returns"      // not decided yet
	OpenAdjustments  ExceptionKind = "open_adjustments"  // not approved yet
	OwingAccounts    ExceptionKind = "owing_accounts"    // the run pays another account of the same partner
	SuspendedPartner ExceptionKind = "suspended_partner" // the run pays a suspended partner
	NoLegalName      ExceptionKind = "no_legal_name"     // the run pays the partner under its display name
)

// Exception is something that the approver of a run must know about a partner: money that the run does not
// contain, or a payment that may be wrong (decision 76).
type Exception struct {
	Kind        ExceptionKind
	PartnerID   uuid.UUID
	Partner     string // slug
	PartnerName string
	Count       int64 // of returns, adjustments or accounts
	AmountMinor int64 // in the run's currency; negative if the partner owes it
}

const exceptionsSQL = `
WITH paid AS MATERIALIZED (
	SELECT partner_id, count(*) AS accounts, sum(net_minor) AS net FROM statements
	WHERE run_id = @run AND outcome = 'pays' GROUP BY partner_id
), late AS MATERIALIZED (
	SELECT e.partner_id, e.kind, count(*) AS entries, sum(e.amount_minor) AS amount FROM ledger_entries e
	WHERE e.kind IN ('return', 'adjustment') AND e.currency = @currency AND e.occurred_at >= @cutoff
		AND NOT EXISTS (SELECT FROM payout_run_entries c WHERE c.entry_id = e.id AND c.occurred_at = e.occurred_at)
	GROUP BY e.partner_id, e.kind
), found (position, kind, partner_id, number, amount) AS (
	SELECT 1, 'late_returns', partner_id, entries, amount FROM late WHERE kind = 'return'
	UNION ALL SELECT 2, 'late_adjustments', partner_id, entries, amount FROM late WHERE kind = 'adjustment'
	UNION ALL SELECT 3, 'open_returns', partner_id, count(*), -sum(amount_minor) FROM returns
		WHERE state = 'open' AND currency = @currency GROUP BY partner_id
	UNION ALL SELECT 4, 'open_adjustments', partner_id, count(*), sum(amount_minor) FROM adjustments
		WHERE state = 'open' AND currency = @currency GROUP BY partner_id
	UNION ALL SELECT 5, 'owing_accounts', partner_id, count(*), sum(net_minor) FROM statements
		WHERE run_id = @run AND outcome = 'negative' AND partner_id IN (SELECT partner_id FROM paid) GROUP BY partner_id
	UNION ALL SELECT 6, 'suspended_partner', partner_id, accounts, net FROM paid
		JOIN partners p ON p.id = partner_id WHERE p.status = 'suspended'
	UNION ALL SELECT 7, 'no_legal_name', partner_id, accounts, net FROM paid
		JOIN partners p ON p.id = partner_id WHERE p.legal_name = ''
)
SELECT f.kind, f.partner_id, p.slug AS partner, p.name AS partner_name, f.number AS count,
	CAST(f.amount AS bigint) AS amount_minor
FROM found f JOIN partners p ON p.id = f.partner_id
ORDER BY f.position, abs(f.amount) DESC, p.slug`

// Exceptions returns the exceptions of a prepared run by kind. Within a kind, those with the largest amounts come
// first. A run covers all partners, so sc must include all partners.
func (s *Service) Exceptions(ctx context.Context, sc scope.Scope, r models.PayoutRun) (all []Exception, err error) {
	if !sc.All() {
		return nil, errNoRun
	}
	all, err = exceptionsOf(s.db.Gorm.WithContext(ctx), r)
	return all, postgres.Translate(err)
}

func exceptionsOf(tx *gorm.DB, r models.PayoutRun) (all []Exception, err error) {
	run := map[string]any{"run": r.ID, "currency": r.Currency, "cutoff": r.Cutoff}
	err = tx.Raw(exceptionsSQL, run).Scan(&all).Error
	return all, err
}

// countExceptions returns the number of exceptions of each kind.
func countExceptions(all []Exception) map[string]any {
	counts := map[string]any{}
	for _, e := range all {
		n, _ := counts[string(e.Kind)].(int64)
		counts[string(e.Kind)] = n + e.Count
	}
	return counts
}
