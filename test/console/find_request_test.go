package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
)

// TestJumpFindsRequests finds each request by the X-Request-Id of its response, whatever its outcome. For the
// request that delivered a lead, it opens the lead.
func TestJumpFindsRequests(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	p := n.NewPartner(t, "harbour", models.SigningRequired)
	// Without a partnerId, the post belongs to the platform account, which has no other page.
	unsigned := n.Do(t, node.Request{Path: "/api/lead/post", Body: "{}"})
	body := n.FreshPost(t, p)
	n.Manual.Advance(quote.Validity - time.Second)
	first := n.Post(t, p, body)
	n.Manual.Advance(time.Second)
	retry, rejected := n.Post(t, p, body), n.Post(t, p, "{}")
	ping := n.Do(t, node.Request{Path: p.Base() + "/api/lead/ping", Body: node.MinimalPing})
	if first.Status != http.StatusOK || retry.Header.Get("Idempotent-Replayed") != "true" ||
		rejected.Status != http.StatusBadRequest {
		t.Fatal(first.Status, retry.Status, rejected.Status)
	}

	people := staff.NewService(n.DB.DB, n.Keys, n.Clock, staff.Settings{
		Idle:         time.Hour,
		Lifetime:     time.Hour,
		PasswordCost: testkit.CheapPasswords(),
	})
	if _, err := people.By(audit.Operator).Seed(t.Context(), staff.NewMember{Email: staffEmail, Name: "Ben Okafor", Roles: []models.StaffRole{{Role: models.AccountManager}}}, staffPassword); err != nil {
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
	requests := "/partners/" + id.Format(id.Partner, p.ID) + "/requests/"
	for name, c := range map[string]struct {
		of       node.Answer
		location string
	}{
		"delivered": {first, lead},
		"retry":     {retry, requests + retry.Header.Get("X-Request-Id")},
		"rejected":  {rejected, requests + rejected.Header.Get("X-Request-Id")},
		"platform account": {unsigned, "/partners/" + id.Format(id.Partner, models.PlatformIDs.Partner) + "/requests/" +
			unsigned.Header.Get("X-Request-Id")},
		"ping": {ping, requests + ping.Header.Get("X-Request-Id")},
	} {
		request := c.of.Header.Get("X-Request-Id")
		for _, text := range []string{request, strings.ToLower(request)} {
			// Requests and pings are written in the background.
			testkit.Eventually(t, node.Patience, name+" is found", func() bool {
				got, err := client.Get(n.Admin + "/jump?q=" + url.QueryEscape(text))
				if err != nil {
					return false
				}
				got.Body.Close()
				return got.StatusCode == http.StatusSeeOther && got.Header.Get("Location") == c.location
			})
		}
		page, err := client.Get(n.Admin + c.location)
		if err != nil {
			t.Fatal(err)
		}
		page.Body.Close()
		if page.StatusCode != http.StatusOK {
			t.Errorf("%s: its page has status %d", name, page.StatusCode)
		}
	}
}
