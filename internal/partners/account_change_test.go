package partners_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

func (o *partnerService) list(t *testing.T, p models.Partner) []models.Account {
	t.Helper()
	list, err := o.Accounts(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// set changes an account, passing its current version.
func (o *partnerService) set(t *testing.T, a models.Account, c partners.AccountChange) error {
	t.Helper()
	now, err := o.FindAccount(t.Context(), scope.System, models.Partner{ID: a.PartnerID}, id.Format(id.Account, a.ID))
	if err != nil {
		t.Fatal(err)
	}
	if c.Name == "" {
		c.Name = now.Name
	}
	if c.Status == "" {
		c.Status = models.AccountActive
	}
	if c.Signing == "" {
		c.Signing = now.SigningMode
	}
	return o.SetAccount(t.Context(), scope.System, a.ID, now.RowVersion, c)
}

func TestSetAccount(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	first, second := o.account(t, p, "harbour-search"), o.account(t, p, "harbour-social")
	o.clock.Advance(time.Hour)
	same := partners.AccountChange{Name: "harbour-search", Status: models.AccountActive, Signing: models.SigningInherit}
	change := partners.AccountChange{Name: " Search ", Status: models.AccountSuspended, Signing: models.SigningOff}
	wantError(t, "out of scope", o.SetAccount(t.Context(), scope.Partners(other.ID), first.ID, 1, change),
		apperr.NotFound, "account")
	wantError(t, "unknown", o.SetAccount(t.Context(), scope.System, uuid.New(), 1, change), apperr.NotFound, "account")
	wantError(t, "platform account", o.SetAccount(t.Context(), scope.System, models.PlatformIDs.Account, 1, change),
		apperr.NotFound, "account")
	wantError(t, "stale", o.SetAccount(t.Context(), scope.System, first.ID, 7, change), apperr.Conflict, "changed")
	err := o.SetAccount(t.Context(), scope.System, first.ID, 1, partners.AccountChange{
		Name:    " ",
		Status:  "gone",
		Signing: models.SigningDefault,
	})
	if got := errorFields(err); !slices.Equal(got, []string{"name required", "status invalid_value", "signing invalid_value"}) {
		t.Errorf("got field errors %q", got)
	}
	_, _, _, events := o.lastEvent(t)
	wantError(t, "no change", o.SetAccount(t.Context(), scope.System, first.ID, 1, same), "", "")
	if _, _, _, n := o.lastEvent(t); n != events || o.list(t, p)[0].RowVersion != 1 {
		t.Error("an update without changes wrote an audit event or a new version")
	}
	wantError(t, "change", o.SetAccount(t.Context(), scope.Partners(p.ID), first.ID, 1, change), "", "")
	e, before, after, _ := o.lastEvent(t)
	if e.Action != "account.change" || e.ObjectID != id.Format(id.Account, first.ID) || *e.PartnerID != p.ID ||
		!maps.Equal(before, map[string]any{"name": "harbour-search", "status": "active", "signing": "inherit"}) ||
		!maps.Equal(after, map[string]any{"name": "Search", "status": "suspended", "signing": "off"}) {
		t.Errorf("audit event %s of %s: %v → %v", e.Action, e.ObjectID, before, after)
	}
	got := o.list(t, p)
	if a := got[0]; a.Name != "Search" || a.Status != models.AccountSuspended ||
		a.SigningMode != models.SigningOff || !a.IsDefault || a.RowVersion != 2 || !a.UpdatedAt.Equal(o.clock.Now()) {
		t.Errorf("got %+v", a)
	}
	if a := got[1]; a.ID != second.ID || a.RowVersion != 1 || a.Status != models.AccountActive {
		t.Errorf("the other account changed: %+v", a)
	}
	if o.directory(t).Account("harbour-search").Active() {
		t.Error("the suspended account is active in the directory")
	}
}

func TestMakeDefault(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	first, second := o.account(t, p, "first"), o.account(t, p, "second")
	trial, err := o.CreateAccount(t.Context(), everyPartner, p, partners.NewAccount{Identifier: "trial", Sandbox: true})
	if err != nil {
		t.Fatal(err)
	}
	byDefault := func(want string) {
		t.Helper()
		list := o.list(t, p)
		if list[0].Identifier != want || !list[0].IsDefault ||
			slices.ContainsFunc(list[1:], func(a models.Account) bool { return a.IsDefault }) {
			t.Errorf("the default account is %s, want %s and no other", list[0].Identifier, want)
		}
	}
	wantError(t, "suspended account", o.set(t, second, partners.AccountChange{
		Status:      models.AccountSuspended,
		MakeDefault: true,
	}), apperr.Conflict, "default_suspended")
	wantError(t, "sandbox account", o.set(t, trial, partners.AccountChange{MakeDefault: true}), apperr.Conflict, "default_sandbox")
	byDefault("first")
	wantError(t, "current default", o.set(t, first, partners.AccountChange{MakeDefault: true}), "", "")
	wantError(t, "second account", o.set(t, second, partners.AccountChange{MakeDefault: true}), "", "")
	byDefault("second")
	if _, before, after, _ := o.lastEvent(t); before["default"] != "first" || after["default"] != "second" {
		t.Errorf("audit event %v → %v", before, after)
	}
	wantError(t, "suspend the default", o.set(t, second, partners.AccountChange{Status: models.AccountSuspended}), "", "")
	byDefault("second")
	wantError(t, "sandbox account while a standard one is active", o.set(t, trial, partners.AccountChange{MakeDefault: true}),
		apperr.Conflict, "default_sandbox")
	wantError(t, "suspend the first", o.set(t, first, partners.AccountChange{Status: models.AccountSuspended}), "", "")
	wantError(t, "sandbox account while no standard one is active", o.set(t, trial, partners.AccountChange{MakeDefault: true}), "", "")
	byDefault("trial")
	// A standard account that becomes active replaces the sandbox account as the default.
	wantError(t, "reactivate the first", o.set(t, first, partners.AccountChange{}), "", "")
	byDefault("first")
	if o.directory(t).ByID(p.ID).Default.Identifier != "first" {
		t.Error("the first account is not the default in the directory")
	}
}

func TestConcurrentDefaultChangesLeaveOneDefault(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	o.account(t, p, "first")
	others := []models.Account{o.account(t, p, "second"), o.account(t, p, "third"), o.account(t, p, "fourth")}
	for _, err := range atOnce(len(others), func(i int) error {
		return o.SetAccount(t.Context(), scope.System, others[i].ID, 1, partners.AccountChange{
			Name: others[i].Name, Status: models.AccountActive, Signing: models.SigningInherit, MakeDefault: true})
	}) {
		if err != nil && apperr.As(err) == nil {
			t.Error(err)
		}
	}
	defaults := 0
	for _, a := range o.list(t, p) {
		if a.IsDefault {
			defaults++
		}
	}
	if defaults != 1 {
		t.Errorf("got %d default accounts, want 1", defaults)
	}
}

func TestFindAccount(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	a := o.account(t, p, "harbour-search")
	text := id.Format(id.Account, a.ID)
	if found, err := o.FindAccount(t.Context(), scope.Partners(p.ID), p, strings.ToLower(text)); err != nil || found.ID != a.ID {
		t.Errorf("FindAccount() = %+v, %v", found, err)
	}
	for name, c := range map[string]struct {
		sc   scope.Scope
		of   models.Partner
		text string
	}{
		"other partner": {scope.System, other, text},
		"out of scope":  {scope.Partners(other.ID), p, text},
		"unknown":       {scope.System, p, id.Format(id.Account, uuid.New())},
		"partner id":    {scope.System, p, id.Format(id.Partner, a.ID)},
		"partnerId":     {scope.System, p, "harbour-search"},
		"empty":         {scope.System, p, ""},
	} {
		_, err := o.FindAccount(t.Context(), c.sc, c.of, c.text)
		wantError(t, name, err, apperr.NotFound, "account")
	}
}
