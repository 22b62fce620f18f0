package admintest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/models"
)

// PrivacyRequest creates a privacy request for a copy of the data of the given leads, and returns its id. If no leads
// are given, the request contains none.
func PrivacyRequest(t testing.TB, h *Console, leadIDs ...uuid.UUID) string {
	t.Helper()
	n := requests.NewRequest{
		Kind: models.RequestAccess, ReceivedOn: h.Time.Now().UTC().Truncate(24 * time.Hour), Leads: leadIDs,
		Identity: requests.Identity{Check: models.IdentityReply},
	}
	if len(leadIDs) == 0 {
		n.Person.Email = "nothing-is-found@example.com"
	}
	r, err := h.Options.Requests.By(audit.Operator).Create(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return requests.ID(r.ID)
}
