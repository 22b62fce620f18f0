package config

import (
	"strings"
	"testing"
)

func TestPrivacyValidate(t *testing.T) {
	for reveals, want := range map[int][]string{0: {"privacy.reveals_per_day"}, 1: nil, 10_000: nil, 10_001: {"privacy.reveals_per_day"}} {
		checkProblems(t, (&Privacy{RevealsPerDay: reveals}).Validate(), want...)
	}
}

func TestErasureJournalIsAbsolute(t *testing.T) {
	for path, want := range map[string][]string{"": nil, "/srv/erasures": nil, "erasures": {"privacy.erasure_journal"}, "./erasures": {"privacy.erasure_journal"}} {
		checkProblems(t, (&Privacy{RevealsPerDay: 1, ErasureJournal: path}).Validate(), want...)
	}
}

func TestExportTextsAreLimited(t *testing.T) {
	long := strings.Repeat("x", maxExportText)
	checkProblems(t, (&Privacy{RevealsPerDay: 1, Controller: long, Purposes: long, Recipients: long}).Validate())
	long += "x"
	checkProblems(t, (&Privacy{RevealsPerDay: 1, Controller: long, Purposes: long, Recipients: long}).Validate(),
		"privacy.controller", "privacy.purposes", "privacy.recipients")
}

// A node that serves only the partner API cannot be configured to decrypt with Vault.
func TestNodeWithoutConsoleMayNotDecrypt(t *testing.T) {
	c := Defaults(Dev)
	c.HTTP.PublicURL, c.Database.URL, c.Keys.Platform = "https://leads.example.com", Secret(databaseURL), []Secret{Secret(keyA)}
	c.Vault.Address, c.Vault.RoleID, c.Vault.SecretID = "https://vault.example.com:8200", "role", "secret"
	c.Vault.ReadRoleID, c.Vault.ReadSecretID = "reader", "secret"
	checkProblems(t, c.Validate())
	c.HTTP.AdminAddr = ""
	checkProblems(t, c.Validate(), "vault.read_role_id http.admin_addr")
}
