package payouts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Filter selects ledger entries. A field with its zero value matches all entries.
type Filter struct {
	Partner  uuid.UUID        `json:"partner,omitzero"`
	Account  uuid.UUID        `json:"account,omitzero"`
	Lead     uuid.UUID        `json:"lead,omitzero"`
	Run      uuid.UUID        `json:"run,omitzero"`
	Kind     models.EntryKind `json:"kind,omitempty"`
	Currency money.Currency   `json:"currency,omitempty"`
	From     time.Time        `json:"from,omitzero"`  // inclusive
	To       time.Time        `json:"to,omitzero"`    // exclusive
	Open     bool             `json:"open,omitempty"` // only entries that no run has claimed
}

// conditions contains the conditions of a WHERE clause and their arguments. In SQL, the entries are
// called e and their claims are called c.
type conditions struct {
	sql  []string
	args []any
}

// This method adds a condition, which is joined to the others with AND. The parameter sql contains %d in
// place of the argument's number.
func (c *conditions) and(sql string, arg any) {
	c.args = append(c.args, arg)
	c.sql = append(c.sql, fmt.Sprintf(sql, len(c.args)))
}

func (c *conditions) where() string {
	if len(c.sql) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.sql, " AND ")
}

func (c *conditions) planned() []any { return append([]any{postgres.PlanEachTime}, c.args...) }

// claims returns the SQL that joins the claims of entries, or "" if the filter has no condition on
// claims.
func (f Filter) claims() string {
	if f.Run == uuid.Nil && !f.Open {
		return ""
	}
	return withClaims
}

// conditions returns the conditions for entries that occurred in the period, match the filter and are in
// the scope. Its first arguments are the start and the end of the period.
func (f Filter) conditions(sc scope.Scope, within postgres.Period) *conditions {
	c := &conditions{sql: []string{"e.occurred_at >= $1", "e.occurred_at < $2"}, args: []any{within.From, within.Until}}
	if !sc.All() {
		c.and("e.partner_id = ANY ($%d)", sc.IDs())
	}
	if f.Partner != uuid.Nil {
		c.and("e.partner_id = $%d", f.Partner)
		// This condition lets the planner use the index on account_id.
		c.and("e.account_id IN (SELECT id FROM accounts WHERE partner_id = $%d)", f.Partner)
	}
	if f.Account != uuid.Nil {
		c.and("e.account_id = $%d", f.Account)
	}
	if f.Lead != uuid.Nil {
		c.and("e.lead_id = $%d", f.Lead)
	}
	if f.Run != uuid.Nil {
		c.and("c.run_id = $%d", f.Run)
	}
	kinds := []models.EntryKind{models.EntryAccrual, models.EntryReturn, models.EntryAdjustment, models.EntryPayment}
	if slices.Contains(kinds, f.Kind) {
		c.sql = append(c.sql, "e.kind = '"+string(f.Kind)+"'") // a literal, so that the planner can use the partial index
	} else if f.Kind != "" {
		c.sql = append(c.sql, "false")
	}
	if f.Currency.Valid() {
		c.and("e.currency = $%d", f.Currency.String())
	}
	if !f.From.IsZero() {
		c.and("e.occurred_at >= $%d", f.From)
	}
	if !f.To.IsZero() {
		c.and("e.occurred_at < $%d", f.To)
	}
	if f.Open {
		c.sql = append(c.sql, "c.entry_id IS NULL")
	}
	return c
}

// Describe returns the fields of the filter that are set, as they are shown in the audit log.
func (f Filter) Describe() map[string]any {
	words := map[string]any{}
	for name, named := range map[string]struct {
		kind id.Kind
		id   uuid.UUID
	}{
		"partner": {id.Partner, f.Partner},
		"account": {id.Account, f.Account},
		"lead":    {id.Lead, f.Lead},
		"run":     {id.Payout, f.Run},
	} {
		if named.id != uuid.Nil {
			words[name] = id.Format(named.kind, named.id)
		}
	}
	for name, at := range map[string]time.Time{"from": f.From, "before": f.To} {
		if !at.IsZero() {
			words[name] = at.UTC().Format(time.RFC3339)
		}
	}
	if f.Kind != "" {
		words["kind"] = f.Kind
	}
	if f.Currency.Valid() {
		words["currency"] = f.Currency.String()
	}
	if f.Open {
		words["run"] = "none yet"
	}
	if len(words) == 0 {
		words["entries"] = "all that the user may see"
	}
	return words
}
