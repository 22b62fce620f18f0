package leads_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

// partnerReads are the methods of partners.Service that write no audit events, so that CheckDuring cannot
// hold their transactions open. All other methods are in partnerChanges.
var partnerReads = []string{
	"Accounts", "AccountsByIDs", "AdjustmentsAt", "By", "ByIDs", "ByLink", "ExpiringBefore", "Find", "FindAccount", "FindSecret",
	"LastActive", "LeadsToday", "Link", "List", "LoadDirectory", "Managers", "MostRejected", "Page", "Pending", "PriceProposal",
	"PriceProposals", "Pricing", "RequireApproval", "Reseal", "Resolve", "ResolveAccount", "Revokers", "SealUses", "Search",
	"SecretEnd", "Secrets", "SecretsByIDs", "SharedAddresses", "WithPolicy",
}

// partnerChanges returns a call of each method of partners.Service that writes an audit event, by the name of
// the method.
func partnerChanges(t *testing.T, p *testkit.Platform, of testkit.Partner) map[string]func() error {
	t.Helper()
	s, ctx, row := p.Partners, t.Context(), of.Partner
	current := func() models.Partner {
		found, err := s.Find(ctx, scope.System, row.Slug)
		if err != nil {
			t.Error(err)
		}
		return found
	}
	taxonomy := p.Card.Get().Table.Taxonomy()
	setPricing := func(s *partners.Service, adjustment string) error {
		pricing, err := s.Pricing(ctx, row)
		if err != nil {
			return err
		}
		return s.SetPricing(ctx, scope.System, row.ID, pricing.Version, partners.PriceForm{Adjustment: adjustment}, taxonomy)
	}
	proposer, approver := testkit.Actor(t, p.DB, row.Slug+"-1@example.com"), testkit.Actor(t, p.DB, row.Slug+"-2@example.com")
	if err := setPricing(s.By(proposer).WithPolicy(partners.PricePolicy{RequireApproval: true}), "7"); err != nil {
		t.Fatal(err)
	}
	proposal, err := s.PriceProposal(ctx, row)
	if err != nil || proposal == nil {
		t.Fatalf("got proposal %v and error %v", proposal, err)
	}
	if _, err := s.NewLink(ctx, scope.System, row); err != nil {
		t.Fatal(err)
	}
	return map[string]func() error{
		"Create": func() error {
			_, err := s.Create(ctx, partners.NewPartner{Slug: "new-partner", Name: "New"})
			return err
		},
		"CreateAccount": func() error {
			_, err := s.CreateAccount(ctx, scope.System, row, partners.NewAccount{Identifier: "another-account"})
			return err
		},
		"SetAccount": func() error {
			a := of.Accounts[0]
			return s.SetAccount(ctx, scope.System, a.ID, a.RowVersion, partners.AccountChange{
				Name: "Renamed", Status: models.AccountActive, Signing: models.SigningInherit,
			})
		},
		"CreateSecret": func() error { _, err := s.CreateSecret(ctx, scope.System, row, "second"); return err },
		"ImportSecret": func() error {
			_, err := s.ImportSecret(ctx, scope.System, row, "imported", "an imported secret of 42 characters, random")
			return err
		},
		"RotateSecret": func() error { _, err := s.RotateSecret(ctx, scope.System, row, "rotated", time.Hour, true); return err },
		"ExpireSecret": func() error {
			return s.ExpireSecret(ctx, scope.System, row, of.SecretID, p.Time.Now().Add(2*time.Hour))
		},
		"RevokeSecret": func() error { return s.RevokeSecret(ctx, scope.System, row, of.SecretID) },
		"SetDetails": func() error {
			return s.SetDetails(ctx, scope.System, row.ID, current().RowVersion, partners.Details{Name: "Renamed", LegalName: "Renamed Ltd"})
		},
		"SetStatus": func() error { return s.SetStatus(ctx, scope.System, row.ID, models.PartnerSuspended) },
		"SetStatusAt": func() error {
			return s.SetStatusAt(ctx, scope.System, row.ID, current().RowVersion, models.PartnerSuspended)
		},
		"SetSigning": func() error {
			return s.SetSigning(ctx, scope.System, row.ID, current().RowVersion, models.SigningReportOnly, false)
		},
		"SetPricing":    func() error { return setPricing(s, "5") },
		"ApprovePrice":  func() error { return s.By(approver).ApprovePrice(ctx, scope.System, row.ID, proposal.ID) },
		"WithdrawPrice": func() error { return s.WithdrawPrice(ctx, scope.System, row.ID, proposal.ID) },
		"RevokeLink":    func() error { return s.RevokeLink(ctx, scope.System, row) },
		"NewLink":       func() error { _, err := s.NewLink(ctx, scope.System, row); return err },
		"DiagnoseSignature": func() error {
			_, _, err := s.DiagnoseSignature(ctx, scope.System, row, "1", "00", []string{"{}"})
			return err
		},
	}
}

// A disclosure text refers to the partner that sent it first. Its insert must not wait for a user who
// changes this partner, because the whole group of posts would wait.
func TestPostsDoNotWaitForPartnerChanges(t *testing.T) {
	t.Parallel()
	p := platform(t)
	var names []string
	for name := range partnerChanges(t, p, p.Required) {
		names = append(names, name)
	}
	for i := range reflect.TypeFor[*partners.Service]().NumMethod() {
		name := reflect.TypeFor[*partners.Service]().Method(i).Name
		if slices.Contains(names, name) == slices.Contains(partnerReads, name) {
			t.Errorf("%s must be in either partnerChanges or partnerReads", name)
		}
	}
	for i, name := range slices.Sorted(slices.Values(names)) {
		of := p.AddPartner(t, fmt.Sprint("partner-number-", i*111), models.SigningRequired)
		change := partnerChanges(t, p, of)[name]
		err := p.DB.CheckDuring(t, change, func() {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			text := "text of " + name
			d := delivery(p, of)
			d.Consent.DisclosureText = &text
			if _, _, err := p.Leads.Deliver(ctx, d); err != nil {
				t.Errorf("a post with a new text during %s: %v", name, err)
			}
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
