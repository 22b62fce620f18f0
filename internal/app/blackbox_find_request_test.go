package app_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// TestSearchFindsALeadByTheRequestThatDeliveredIt searches the console for the
// X-Request-Id of answers that a partner has.
func TestSearchFindsALeadByTheRequestThatDeliveredIt(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.newPartner(t, "harbour", models.SigningRequired)
	body := n.freshPost(t, p)
	n.hands.Advance(quote.Validity - time.Second)
	first := n.post(t, p, body)
	n.hands.Advance(time.Second)
	retry, rejected := n.post(t, p, body), n.post(t, p, "{}")
	if first.status != http.StatusOK || retry.header.Get("Idempotent-Replayed") != "true" || rejected.status != http.StatusBadRequest {
		t.Fatal(first.status, retry.status, rejected.status)
	}

	people := staff.NewService(n.db.DB, n.keys, n.clock, staff.Settings{Idle: time.Hour, Lifetime: time.Hour})
	if _, err := people.Seed(t.Context(), audit.Operator, staff.NewPerson{Email: staffEmail, Name: "Ben Okafor", Roles: []models.StaffRole{{Role: models.AccountManager}}}, staffPassword); err != nil {
		t.Fatal(err)
	}
	client := visitor(t, ownersAddress)
	in, err := client.PostForm(n.admin+"/login", url.Values{"email": {staffEmail}, "password": {staffPassword}})
	if err != nil || in.StatusCode != http.StatusSeeOther {
		t.Fatal(in, err)
	}
	in.Body.Close()
	lead := "/leads/" + decode[delivered](t, first).LeadID
	for name, want := range map[string]struct {
		request, location string
		status            int
	}{
		"delivered":           {first.header.Get("X-Request-Id"), lead, http.StatusSeeOther},
		"delivered, in lower": {strings.ToLower(first.header.Get("X-Request-Id")), lead, http.StatusSeeOther},
		"a retry":             {retry.header.Get("X-Request-Id"), "", http.StatusNotFound},
	} {
		got, err := client.Get(n.admin + "/jump?q=" + url.QueryEscape(want.request))
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != want.status || got.Header.Get("Location") != want.location {
			t.Errorf("%s: %d %q, want %d %q", name, got.StatusCode, got.Header.Get("Location"), want.status, want.location)
		}
	}
}
