package intake_test

import (
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/intake"
)

// The reference and the subId of a ping are stored with the lead, unless the post contains others
// (decision 63). The response and its replay contain what was stored.
func TestReferenceAndSubID(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	long := strings.Repeat("€", 64) // does not fit in a quote
	for name, c := range map[string]struct {
		ping             string
		post             []string
		reference, subID string
		warned           int
	}{
		"neither":                {},
		"in the ping":            {`"reference":"click-1","subId":"banner"`, nil, "click-1", "banner", 0},
		"in the post":            {"", []string{`"reference":"click-2"`, `"subId":"mail"`}, "click-2", "mail", 0},
		"in both":                {`"reference":"click-1","subId":"banner"`, []string{`"subId":"mail"`}, "click-1", "mail", 0},
		"not valid in the post":  {`"reference":"click-1"`, []string{`"reference":7`}, "click-1", "", 1},
		"not valid in the ping":  {`"reference":7,"subId":"banner"`, nil, "", "banner", 1},
		"too long for the quote": {`"reference":"` + long + `","subId":"banner"`, nil, "", "banner", 1},
		"sent again in the post": {`"reference":"` + long + `"`, []string{`"reference":"` + long + `"`}, long, "", 0},
	} {
		ping := n.ping(t, n.Required.Slug, strings.TrimSuffix(leastPing, "}")+strings.TrimSuffix(","+c.ping, ",")+"}")
		if len(ping.TransactionID) > 200 || len(ping.Warnings) > 0 {
			t.Errorf("%s: got a transactionId of %d characters and warnings %v", name, len(ping.TransactionID), ping.Warnings)
		}
		r := n.signed(n.Required, n.Required.Slug, body(string(ping.TransactionID), c.post...))
		first := n.post(t, r)
		for what, got := range map[string]intake.PostResult{"response": first, "replay": n.post(t, r)} {
			if got.Replayed != (what == "replay") || got.Reference != c.reference || got.SubID != c.subID || len(got.Warnings) != c.warned {
				t.Errorf("%s: %s: got %q and %q with warnings %v", name, what, got.Reference, got.SubID, got.Warnings)
			}
		}
		stored := see[string](t, n, `SELECT partner_reference || '|' || sub_id || '|' || quoted_postcode FROM leads WHERE id = $1`, first.LeadID)
		if stored != c.reference+"|"+c.subID+"|SW1A 1AA" {
			t.Errorf("%s: stored %s", name, stored)
		}
	}
}
