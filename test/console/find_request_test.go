package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
)

// TestJumpFindsLeadByRequestID uses the X-Request-Id of the response to a post to open a lead. This
// works only for the request that delivered the lead.
func TestJumpFindsLeadByRequestID(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	p := n.NewPartner(t, "harbour", models.SigningRequired)
	body := n.FreshPost(t, p)
	n.Manual.Advance(quote.Validity - time.Second)
	first := n.Post(t, p, body)
	n.Manual.Advance(time.Second)
	retry, rejected := n.Post(t, p, body), n.Post(t, p, "{}")
	if first.Status != http.StatusOK || retry.Header.Get("Idempotent-Replayed") != "true" ||
		rejected.Status != http.StatusBadRequest {
		t.Fatal(first.Status, retry.Status, rejected.Status)
	}

	people := staff.NewService(n.DB.DB, n.Keys, n.Clock, staff.Settings{
		Idle:         time.Hour,
		Lifetime:     time.Hour,
		PasswordCost: testkit.CheapPasswords(),
	})
	if _, err := people.Seed(t.Context(), audit.Operator, staff.NewMember{Email: staffEmail, Name: "Ben Okafor", Roles: []models.StaffRole{{Role: models.AccountManager}}}, staffPassword); err != nil {
		t.Fatal(err)
	}
	client := visitor(t, ownersAddress)
	in, err := client.PostForm(n.Admin+"/login", url.Values{"email": {staffEmail}, "password": {staffPassword}})
	if err != nil || in.StatusCode != http.StatusSeeOther {
		t.Fatal(in, err)
	}
	in.Body.Close()
	testkit.Eventually(t, node.Patience, "the node knows the user's role", func() bool {
		page, err := client.Get(n.Admin + "/leads")
		if err != nil {
			return false
		}
		page.Body.Close()
		return page.StatusCode == http.StatusOK
	})
	lead := "/leads/" + node.Decode[node.Delivered](t, first).LeadID
	for name, want := range map[string]struct {
		request, location string
		status            int
	}{
		"delivered":                {first.Header.Get("X-Request-Id"), lead, http.StatusSeeOther},
		"delivered, in lower case": {strings.ToLower(first.Header.Get("X-Request-Id")), lead, http.StatusSeeOther},
		"retry":                    {retry.Header.Get("X-Request-Id"), "", http.StatusNotFound},
	} {
		got, err := client.Get(n.Admin + "/jump?q=" + url.QueryEscape(want.request))
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != want.status || got.Header.Get("Location") != want.location {
			t.Errorf("%s: got %d %q, want %d %q", name, got.StatusCode, got.Header.Get("Location"), want.status, want.location)
		}
	}
}
