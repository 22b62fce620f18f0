package admintest

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// AddDisclosure adds a disclosure text that a partner was the first to send, and returns the URL of its page.
func AddDisclosure(t testing.TB, h *Console, partner uuid.UUID) string {
	t.Helper()
	return web.DisclosureURL(testkit.Value[uuid.UUID](t, h.Database,
		`INSERT INTO disclosures (digest, text, partner_id, first_used_at) VALUES (sha256('I agree'), 'I agree', $1, $2) RETURNING id`, partner, h.Time.Now()))
}
