package intake_test

import (
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
)

// The partner in a quote owns the post even after the quote has expired. Posts signed by other
// partners are rejected (decision 13).
func TestExpiredQuoteStillDeterminesTheOwner(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	away := n.AddPartner(t, "not-at-the-shared-address", models.SigningRequired)
	n.DB.Exec(t, `UPDATE partners SET shared_base_url = false WHERE id = $1`, away.ID)
	n.Reload(t)
	bodies := map[*testkit.Partner][]byte{}
	for _, p := range []*testkit.Partner{&n.Required, &n.Off, &away} {
		bodies[p] = body(n.quote(t, p.Slug))
	}
	n.Time.Advance(quote.Validity + time.Millisecond)
	n.stores(t, nothing, func() {
		for p, b := range bodies {
			n.rejected(t, n.signed(*p, shared, b), expired)
			n.rejected(t, n.signed(n.ReportOnly, shared, b), badSignature)
		}
		n.rejected(t, unsigned(shared, bodies[&n.Off]), expired) // this partner need not sign
		n.rejected(t, unsigned(shared, bodies[&n.Required]), noSignature)
	})
}
