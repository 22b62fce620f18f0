package admin_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/models"
)

// TestLiveRequestsDoNotExtendSession checks that opening a page extends the session, but reloading
// the live part of an open page does not.
func TestLiveRequestsDoNotExtendSession(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	partner := web.PartnerURL(h.AddPartner(t, "north-road"))
	for path, want := range map[string]int{
		partner + "/onboarding":      http.StatusOK,
		partner + "/onboarding/live": http.StatusSeeOther,
	} {
		b := h.SignedInAs(t, models.AccountManager)
		for range 4 { // the session may be idle for half an hour
			b.Get(t, path)
			h.Time.Advance(10 * time.Minute)
		}
		if last := b.Get(t, path); last.Status != want {
			t.Errorf("%s after 40 minutes of requests: got %d, want %d", path, last.Status, want)
		}
	}
}
