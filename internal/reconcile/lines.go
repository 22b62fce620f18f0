package reconcile

import (
	"context"
	"fmt"
	"maps"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// linesSQL reads a page of lines, each with its newest resolution. The first %s stands for the
// conditions, order and limit of the page, and the second for ASC or DESC. $1 is the reconciliation. $2
// lists the partners in the scope, or is null if the scope includes all partners.
//
// If a lead in the file belongs to another partner, that partner is returned only if it is in the scope.
// The limit is in a subquery, because otherwise the joins would read every line.
var linesSQL = `SELECT l.reconciliation_id, l.line, l.file_row, l.finding, l.problem, l.lead_id, l.account_id,
		CASE WHEN $2::uuid[] IS NULL OR l.other_partner = ANY ($2) THEN l.other_partner END, l.first_row,
		l.file_currency, l.file_minor, l.ledger_currency, l.ledger_minor, l.received_at,
		coalesce(a.identifier, ''), coalesce(p.slug, ''), coalesce(s.note, ''), coalesce(s.resolved_by, ''), coalesce(s.at, '0001-01-01Z')
	FROM (SELECT ` + postgres.Columns[models.ReconciliationLine]("l") + ` FROM reconciliation_lines l
		WHERE l.reconciliation_id = $1%s) l
		LEFT JOIN accounts a ON a.id = l.account_id
		LEFT JOIN partners p ON p.id = l.other_partner AND ($2::uuid[] IS NULL OR p.id = ANY ($2))
		LEFT JOIN LATERAL (SELECT note, resolved_by, at FROM reconciliation_resolutions s
			WHERE s.reconciliation_id = l.reconciliation_id AND s.line = l.line ORDER BY s.id DESC LIMIT 1) s ON true
	ORDER BY l.line %s`

// unresolved is an SQL condition for lines that have no resolution. It excludes leads and rows that were not
// compared, because these cannot be resolved.
const unresolved = ` AND l.finding NOT IN ('left_out', 'not_compared')
	AND NOT EXISTS (SELECT FROM reconciliation_resolutions s WHERE s.reconciliation_id = l.reconciliation_id
		AND s.line = l.line)`

// restricted returns the partners in a scope. If the scope includes all partners, it returns nil, which
// becomes NULL in SQL.
func restricted(sc scope.Scope) []uuid.UUID {
	if sc.All() {
		return nil
	}
	return append([]uuid.UUID{}, sc.IDs()...)
}

func scanLine(row pgx.CollectableRow) (l Line, err error) {
	err = row.Scan(&l.ReconciliationID, &l.Line, &l.FileRow, &l.Finding, &l.Problem,
		&l.LeadID, &l.AccountID, &l.ReconciliationLine.OtherPartner, &l.FirstRow,
		&l.FileCurrency, &l.FileMinor, &l.LedgerCurrency, &l.LedgerMinor, &l.ReceivedAt,
		&l.Account, &l.OtherPartner, &l.Note, &l.ResolvedBy, &l.ResolvedAt)
	if l.ReceivedAt != nil {
		*l.ReceivedAt = l.ReceivedAt.UTC()
	}
	l.ResolvedAt = l.ResolvedAt.UTC()
	return l, err
}

// Lines returns a page of lines in file order. The result newer reports whether there is a previous
// page, and the result older reports whether there is a next one.
func (s *Service) Lines(ctx context.Context, sc scope.Scope, q LineQuery) (all []Line, newer, older bool, err error) {
	r, err := s.Get(ctx, sc, q.Reconciliation)
	if err != nil || r.Result == nil { // lines of a reconciliation without a result are about to be deleted
		return nil, false, false, err
	}
	if all, err = readPage(ctx, s.db.Pool, sc, q); err != nil {
		return nil, false, false, err
	}
	all, newer, older = postgres.SplitPage(q.Page, all)
	return all, newer, older, nil
}

// readPage reads a page of lines, and one more line if there is another page. If the page ends
// before a line, the lines are in descending order.
func readPage(ctx context.Context, from postgres.Querier, sc scope.Scope, q LineQuery) ([]Line, error) {
	sql, args, order := "", []any{q.Reconciliation, restricted(sc)}, "ASC"
	and := func(condition string, arg any) {
		args = append(args, arg)
		sql += fmt.Sprintf(" AND "+condition, len(args))
	}
	if q.Finding != "" {
		and("l.finding = $%d", q.Finding)
	}
	if (q.Finding != "" || q.Open) && q.Finding != models.Matched {
		sql += ` AND l.finding <> 'matched'` // a literal, so that the planner can use the partial index
	}
	if q.Open {
		sql += unresolved
	}
	switch {
	case q.Page.EndsBefore():
		and("l.line < $%d", q.Page.Before)
		order = "DESC"
	case q.Page.StartsAfter():
		and("l.line > $%d", q.Page.After)
	}
	sql += fmt.Sprintf(" ORDER BY l.line %s LIMIT %d", order, q.Page.Size+1)
	rows, err := from.Query(ctx, fmt.Sprintf(linesSQL, sql, order), args...)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	all, err := pgx.CollectRows(rows, scanLine)
	if err == nil {
		err = setLeadTexts(ctx, from, all)
	}
	return all, postgres.Translate(err)
}

// setLeadTexts sets the texts of each line's lead. It omits leads that do not belong to the file's partner.
func setLeadTexts(ctx context.Context, from postgres.Querier, lines []Line) error {
	var ids []uuid.UUID
	for _, l := range lines {
		if l.LeadID != nil && l.AccountID != nil {
			ids = append(ids, *l.LeadID)
		}
	}
	texts, err := leads.ReadTexts(ctx, from, ids)
	if err != nil {
		return err
	}
	for i := range lines {
		if l := &lines[i]; l.LeadID != nil && l.AccountID != nil {
			l.Lead = texts[*l.LeadID]
		}
	}
	return nil
}

// OpenLines returns the number of unresolved lines for each finding that can be resolved.
func (s *Service) OpenLines(
	ctx context.Context, sc scope.Scope, reconciliation uuid.UUID,
) (map[models.Finding]int64, error) {
	r, err := s.Get(ctx, sc, reconciliation)
	if err != nil || r.Result == nil {
		return nil, err
	}
	open := r.Result.Counts()
	maps.DeleteFunc(open, func(f models.Finding, _ int64) bool { return !Resolvable(f) })
	rows, err := s.db.Pool.Query(ctx, `SELECT l.finding, count(*) FROM reconciliation_lines l
			JOIN (SELECT DISTINCT line FROM reconciliation_resolutions WHERE reconciliation_id = $1) s ON s.line = l.line
		WHERE l.reconciliation_id = $1 AND l.finding <> 'matched' GROUP BY l.finding`, reconciliation)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	var finding models.Finding
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&finding, &n}, func() error {
		open[finding] -= n
		return nil
	})
	return open, postgres.Translate(err)
}
