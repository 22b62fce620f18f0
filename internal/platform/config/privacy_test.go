package config

import (
	"strings"
	"testing"
)

func TestPrivacyValidate(t *testing.T) {
	for reveals, want := range map[int][]string{0: {"privacy.reveals_per_day"}, 1: nil, 10_000: nil, 10_001: {"privacy.reveals_per_day"}} {
		checkProblems(t, (&Privacy{RevealsPerDay: reveals, LookupsPerDay: 1, Law: "gdpr"}).Validate(), want...)
	}
	for lookups, want := range map[int][]string{0: {"privacy.lookups_per_day"}, 1: nil, 100_000: nil, 100_001: {"privacy.lookups_per_day"}} {
		checkProblems(t, (&Privacy{RevealsPerDay: 1, LookupsPerDay: lookups, Law: "gdpr"}).Validate(), want...)
	}
}

func TestLawAndLetters(t *testing.T) {
	for _, c := range []struct {
		law, letters string
		want         []string
	}{
		{"gdpr", "", nil},
		{"uk_gdpr", "/etc/pingpost/letters", nil},
		{"ccpa", "letters", []string{"privacy.letters"}},
		{"", "", []string{"privacy.law uk_gdpr"}},
		{"GDPR", "", []string{"privacy.law uk_gdpr"}},
	} {
		checkProblems(t, (&Privacy{RevealsPerDay: 1, LookupsPerDay: 1, Law: c.law, Letters: c.letters}).Validate(), c.want...)
	}
}

func TestErasureJournalIsAbsolute(t *testing.T) {
	for path, want := range map[string][]string{"": nil, "/srv/erasures": nil, "erasures": {"privacy.erasure_journal"}, "./erasures": {"privacy.erasure_journal"}} {
		checkProblems(t, (&Privacy{RevealsPerDay: 1, LookupsPerDay: 1, Law: "gdpr", ErasureJournal: path}).Validate(), want...)
	}
}

func TestErasureJournalFingerprint(t *testing.T) {
	const path = "privacy.erasure_journal_fingerprint"
	digits := strings.Repeat("0123abcd", 8)
	for value, want := range map[string][]string{"": nil, digits: nil, digits[1:]: {path}, strings.ToUpper(digits): {path}} {
		checkProblems(t, (&Privacy{RevealsPerDay: 1, LookupsPerDay: 1, Law: "gdpr", ErasureJournalFingerprint: value}).Validate(), want...)
	}
}

func TestErasureJournalInBucket(t *testing.T) {
	valid := Privacy{
		RevealsPerDay: 1, LookupsPerDay: 1, Law: "gdpr", ErasureJournal: "s3://erasures/pingpost", JournalEndpoint: "https://s3.example.com", JournalRegion: "us-east-1",
		JournalAccessKey: "key", JournalSecretKey: "secret",
	}
	for _, tt := range []struct {
		change func(*Privacy)
		want   []string
	}{
		{func(*Privacy) {}, nil},
		{func(p *Privacy) { p.JournalEndpoint = "http://127.0.0.1:9000" }, nil},
		{func(p *Privacy) { p.JournalEndpoint = "http://s3.example.com" }, []string{"privacy.journal_endpoint"}},
		{func(p *Privacy) { p.JournalEndpoint = "https://s3.example.com/erasures" }, []string{"privacy.journal_endpoint"}},
		{func(p *Privacy) { p.JournalEndpoint = "s3.example.com" }, []string{"privacy.journal_endpoint"}},
		{func(p *Privacy) { p.ErasureJournal = "s3://" }, []string{"privacy.erasure_journal"}},
		{func(p *Privacy) { p.ErasureJournal = "s3://erasures/../x" }, []string{"privacy.erasure_journal"}},
		{
			func(p *Privacy) {
				p.JournalEndpoint, p.JournalRegion, p.JournalAccessKey, p.JournalSecretKey = "", "", "", ""
			},
			[]string{
				"privacy.journal_access_key PINGPOST_PRIVACY_JOURNAL_ACCESS_KEY", "privacy.journal_endpoint PINGPOST_PRIVACY_JOURNAL_ENDPOINT",
				"privacy.journal_region PINGPOST_PRIVACY_JOURNAL_REGION", "privacy.journal_secret_key PINGPOST_PRIVACY_JOURNAL_SECRET_KEY",
			},
		},
		{
			func(p *Privacy) { p.ErasureJournal = "/srv/erasures" },
			[]string{
				"privacy.journal_access_key privacy.erasure_journal", "privacy.journal_endpoint privacy.erasure_journal",
				"privacy.journal_secret_key privacy.erasure_journal",
			},
		},
	} {
		p := valid
		tt.change(&p)
		checkProblems(t, p.Validate(), tt.want...)
	}
}

func TestExportTextsAreLimited(t *testing.T) {
	long := strings.Repeat("x", maxExportText)
	checkProblems(t, (&Privacy{RevealsPerDay: 1, LookupsPerDay: 1, Law: "gdpr", Controller: long, Purposes: long, Recipients: long}).Validate())
	long += "x"
	checkProblems(t, (&Privacy{RevealsPerDay: 1, LookupsPerDay: 1, Law: "gdpr", Controller: long, Purposes: long, Recipients: long}).Validate(),
		"privacy.controller", "privacy.purposes", "privacy.recipients")
}

// A node that serves only the partner API cannot be configured to decrypt with Vault.
func TestNodeWithoutConsoleMayNotDecrypt(t *testing.T) {
	c := Defaults(Dev)
	c.HTTP.PublicURL, c.Database.URL, c.Keys.Platform = "https://leads.example.com", Secret(databaseURL), []Secret{Secret(keyA)}
	c.HTTP.AdminURL = "https://console.example.com"
	c.Vault.Address, c.Vault.RoleID, c.Vault.SecretID = "https://vault.example.com:8200", "role", "secret"
	c.Vault.ReadRoleID, c.Vault.ReadSecretID = "reader", "secret"
	checkProblems(t, c.Validate())
	c.HTTP.AdminAddr = ""
	checkProblems(t, c.Validate(), "vault.read_role_id http.admin_addr")
}
