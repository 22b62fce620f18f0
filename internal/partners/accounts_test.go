package partners_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

func TestCreateAccount(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	for i, n := range []partners.NewAccount{
		{Identifier: " harbour-search ", Name: " Search "},
		{Identifier: "Harbour.Trial_2", Sandbox: true, Signing: models.SigningOff},
	} {
		a, err := o.CreateAccount(t.Context(), everyPartner, p, n)
		if err != nil {
			t.Fatal(err)
		}
		if a.IsDefault != (i == 0) || a.Sandbox != n.Sandbox || a.Status != models.AccountActive || a.PartnerID != p.ID {
			t.Errorf("created %+v", a)
		}
	}
	list, err := o.Accounts(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || !list[0].IsDefault || list[0].Identifier != "harbour-search" ||
		list[0].Name != "Search" || list[0].SigningMode != models.SigningInherit ||
		list[1].Name != "Harbour.Trial_2" || list[1].SigningMode != models.SigningOff || !list[1].CreatedAt.Equal(o.clock.Now()) {
		t.Errorf("Accounts() = %+v", list)
	}
	other := o.partner(t, "meadow-media")
	_, err = o.CreateAccount(t.Context(), scope.Partners(p.ID), other, partners.NewAccount{Identifier: "meadow"})
	wantError(t, "out of scope", err, apperr.NotFound, "partner")
	if others, err := o.Accounts(t.Context(), other); err != nil || len(others) != 0 {
		t.Errorf("for another partner: Accounts() = %+v, %v, want none", others, err)
	}
	_, err = o.CreateAccount(t.Context(), scope.Partners(p.ID), p, partners.NewAccount{Identifier: "harbour"})
	wantError(t, "in scope", err, "", "")
}

func TestCreateAccountRejects(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	o.account(t, p, "Harbour-Search")
	for _, c := range []struct {
		name   string
		new    partners.NewAccount
		code   apperr.Code
		reason string
	}{
		{"in use", partners.NewAccount{Identifier: "Harbour-Search"}, apperr.Conflict, "identifier_taken"},
		{"in use, in different case", partners.NewAccount{Identifier: "harbour-search"}, apperr.Conflict, "identifier_taken"},
		{"similar to one in use", partners.NewAccount{Identifier: "harb0ur_search"}, apperr.Conflict, "identifier_alike"},
		{"a Cyrillic letter", partners.NewAccount{Identifier: "h\u0430rbour"}, apperr.Invalid, "identifier_form"},
		{"129 characters", partners.NewAccount{Identifier: strings.Repeat("a", 129)}, apperr.Invalid, "identifier_form"},
		{"platform account", partners.NewAccount{Identifier: "platform"}, apperr.Conflict, "identifier_taken"},
		{"no identifier", partners.NewAccount{Name: "An account"}, apperr.Invalid, "identifier_form"},
		{"a space inside", partners.NewAccount{Identifier: "a b"}, apperr.Invalid, "identifier_form"},
		{"a leading dot", partners.NewAccount{Identifier: ".a"}, apperr.Invalid, "identifier_form"},
		{"a control character in the name", partners.NewAccount{Identifier: "a", Name: "a\ab"}, apperr.Invalid, "text"},
		{"a name that is too long", partners.NewAccount{
			Identifier: "a",
			Name:       strings.Repeat("é", 201),
		}, apperr.Invalid, "text"},
		{"an unknown signing mode", partners.NewAccount{
			Identifier: "a",
			Signing:    models.SigningDefault,
		}, apperr.Invalid, "signing_mode"},
	} {
		_, err := o.CreateAccount(t.Context(), everyPartner, other, c.new)
		wantError(t, c.name, err, c.code, c.reason)
		if f := apperr.As(err); f != nil &&
			(len(f.Fields) != 1 || f.Fields[0].Message != f.Message || strings.Contains(f.Message, "arbour-")) {
			t.Errorf("%s: fields %+v", c.name, f.Fields)
		}
	}
}

// The first standard account replaces a sandbox account as the default. Later sandbox accounts do
// not change the default (decision 25).
func TestSandboxIsDefaultUntilAStandardAccountIsCreated(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	for i, step := range []struct {
		new         partners.NewAccount
		wantDefault string
	}{
		{partners.NewAccount{Identifier: "trial", Sandbox: true}, "trial"},
		{partners.NewAccount{Identifier: "trial-2", Sandbox: true}, "trial"},
		{partners.NewAccount{Identifier: "standard"}, "standard"},
		{partners.NewAccount{Identifier: "standard-2"}, "standard"},
		{partners.NewAccount{Identifier: "trial-3", Sandbox: true}, "standard"},
	} {
		made, err := o.CreateAccount(t.Context(), everyPartner, p, step.new)
		if err != nil {
			t.Fatal(err)
		}
		list, err := o.Accounts(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) != i+1 || list[0].Identifier != step.wantDefault || !list[0].IsDefault ||
			i > 0 && list[1].IsDefault || made.IsDefault != (made.Identifier == step.wantDefault) {
			t.Errorf("after %s: %+v", step.new.Identifier, list)
		}
	}
}

// Concurrent calls wait for the lock on the partner's row and then see the new default account, so
// none of them fails or creates a second default.
func TestConcurrentAccountsHaveOneDefault(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	holder := testkit.Connect(t, o.db.RootURL)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := holder.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("BEGIN")
	// This lock does not block inserts that reference the partner.
	exec("SELECT FROM partners WHERE id = $1 FOR NO KEY UPDATE", p.ID)
	exec(`INSERT INTO accounts (id, partner_id, identifier, name, is_default, sandbox, status, signing_mode, created_at, updated_at)
		VALUES (gen_random_uuid(), $1, 'first', 'First', true, false, 'active', 'inherit', now(), now())`, p.ID)
	const accounts = 8
	made := make(chan error, accounts)
	for i := range accounts {
		go func() {
			_, err := o.CreateAccount(t.Context(), everyPartner, p, partners.NewAccount{Identifier: fmt.Sprint("account-", i)})
			made <- err
		}()
	}
	testkit.Eventually(t, time.Minute, "all calls wait for the partner's row", func() bool {
		return testkit.Value[int](t, o.db, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`) == accounts
	})
	exec("COMMIT")
	for range accounts {
		if err := <-made; err != nil {
			t.Error(err)
		}
	}
	list, err := o.Accounts(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != accounts+1 || list[0].Identifier != "first" || !list[0].IsDefault ||
		slices.ContainsFunc(list[1:], func(a models.Account) bool { return a.IsDefault }) {
		t.Errorf("got %+v, want %d accounts and first as the only default", list, accounts+1)
	}
}

// Errors from the database must not contain values from the statement.
func TestDatabaseErrorsAreTranslated(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	o.db.Close()
	calls := map[string]func() error{
		"Create":      func() error { _, err := o.Create(t.Context(), partners.NewPartner{Slug: "a", Name: "A"}); return err },
		"Find":        func() error { _, err := o.Find(t.Context(), everyPartner, "a"); return err },
		"List":        func() error { _, err := o.List(t.Context(), everyPartner); return err },
		"SetStatus":   func() error { return o.SetStatus(t.Context(), everyPartner, p.ID, models.PartnerApproved) },
		"SetStatusAt": func() error { return o.SetStatusAt(t.Context(), everyPartner, p.ID, 1, models.PartnerApproved) },
		"SetDetails":  func() error { return o.SetDetails(t.Context(), everyPartner, p.ID, 1, partners.Details{Name: "A"}) },
		"SetSigning":  func() error { return o.SetSigning(t.Context(), everyPartner, p.ID, 1, models.SigningOff, false) },
		"SetAccount": func() error {
			return o.SetAccount(t.Context(), everyPartner, p.ID, 1, partners.AccountChange{
				Name:    "A",
				Status:  models.AccountActive,
				Signing: models.SigningOff,
			})
		},
		"FindAccount": func() error {
			_, err := o.FindAccount(t.Context(), everyPartner, p, id.Format(id.Account, p.ID))
			return err
		},
		"SharedAddresses":   func() error { _, err := o.SharedAddresses(t.Context()); return err },
		"ExpireSecret":      func() error { return o.ExpireSecret(t.Context(), scope.System, p, p.ID, o.clock.Now()) },
		"LastActive":        func() error { _, err := o.LastActive(t.Context(), scope.System, p, p.ID); return err },
		"DiagnoseSignature": func() error { _, _, err := o.DiagnoseSignature(t.Context(), everyPartner, p, "1", "", nil); return err },
		"CreateAccount": func() error {
			_, err := o.CreateAccount(t.Context(), everyPartner, p, partners.NewAccount{Identifier: "a"})
			return err
		},
		"Accounts":      func() error { _, err := o.Accounts(t.Context(), p); return err },
		"CreateSecret":  func() error { _, err := o.CreateSecret(t.Context(), scope.System, p, ""); return err },
		"RotateSecret":  func() error { _, err := o.RotateSecret(t.Context(), scope.System, p, "", 0, false); return err },
		"RevokeSecret":  func() error { return o.RevokeSecret(t.Context(), scope.System, p, p.ID) },
		"Secrets":       func() error { _, err := o.Secrets(t.Context(), scope.System, p); return err },
		"FindSecret":    func() error { _, err := o.FindSecret(t.Context(), scope.System, p, aSecretID); return err },
		"LoadDirectory": func() error { _, err := o.LoadDirectory(t.Context()); return err },
	}
	for name, call := range calls {
		var safe *postgres.Err
		if err := call(); !errors.As(err, &safe) || apperr.As(err) != nil {
			t.Errorf("%s: got error %v, want a translated database error", name, err)
		}
	}
}
