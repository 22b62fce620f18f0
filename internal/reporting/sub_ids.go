package reporting

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

const (
	// MaxSubIDLeads is the maximum number of leads that SubIDs reads.
	MaxSubIDLeads = 100_000
	// MaxSubIDs is the maximum number of rows that SubIDs returns.
	MaxSubIDs = 50
)

// SubIDFigures contains the figures of the leads with one subId and currency. Sandbox leads and erased leads are not
// counted.
type SubIDFigures struct {
	SubID    string
	Leads    int64
	Payout   money.Amount // without returns
	Returns  int64        // accepted
	Returned money.Amount
}

// SubIDReport contains the figures of the subIds with the most leads. If there are more than MaxSubIDLeads
// leads, TooMany is set, and there are no figures. More reports whether there are other subIds.
type SubIDReport struct {
	Rows    []SubIDFigures
	More    bool
	TooMany bool
}

// subIDsSQL reads only leads with a subId. The index leads_by_sub_id contains all columns of leads that it
// uses.
var subIDsSQL = fmt.Sprintf(`WITH counted AS MATERIALIZED (
	SELECT id, sub_id, currency, price_minor FROM leads
	WHERE partner_id = $1 AND sub_id <> '' AND received_at >= $2 AND received_at < $3 AND id >= $4 AND id < $5
	AND NOT sandbox LIMIT %[1]d + 1
), returned AS MATERIALIZED (
	SELECT lead_id FROM returns WHERE partner_id = $1 AND state = 'accepted' AND lead_id >= $4 AND lead_id < $5
)
SELECT sub_id, currency, count(*), sum(price_minor)::bigint, count(lead_id), coalesce(sum(price_minor) FILTER (WHERE lead_id IS NOT NULL), 0)::bigint,
	(SELECT count(*) > %[1]d FROM counted)
FROM counted LEFT JOIN returned ON lead_id = id GROUP BY sub_id, currency ORDER BY count(*) DESC, sub_id, currency
LIMIT %[2]d`,
	MaxSubIDLeads, MaxSubIDs+1)

// SubIDs returns a partner's leads, payouts and returns in a range by subId. The report is empty if the
// partner is outside the scope.
func (r *Reader) SubIDs(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, within Range,
) (report SubIDReport, err error) {
	if !sc.Allows(partner) {
		return report, nil
	}
	first, end := quote.IDRange(within.From, within.Until)
	rows, err := r.db.Pool.Query(ctx, subIDsSQL, postgres.PlanEachTime, partner, within.From, within.Until, first, end)
	if err != nil {
		return report, postgres.Translate(err)
	}
	report.Rows, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (f SubIDFigures, err error) {
		var currency string
		if err := row.Scan(&f.SubID, &currency, &f.Leads, &f.Payout.Minor, &f.Returns, &f.Returned.Minor,
			&report.TooMany); err != nil {
			return f, err
		}
		f.Payout.Currency, err = money.ParseCurrency(currency)
		f.Returned.Currency = f.Payout.Currency
		return f, err
	})
	if err != nil || report.TooMany {
		return SubIDReport{TooMany: report.TooMany}, postgres.Translate(err)
	}
	if report.More = len(report.Rows) > MaxSubIDs; report.More {
		report.Rows = report.Rows[:MaxSubIDs]
	}
	return report, nil
}
