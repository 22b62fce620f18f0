package payouts

import (
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
)

// Describe say the filter to people, in the audit trail.
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
		words["entries"] = "all that this person may see"
	}
	return words
}
