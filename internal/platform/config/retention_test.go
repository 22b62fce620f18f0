package config

import (
	"maps"
	"strings"
	"testing"
)

func TestRetentionValidate(t *testing.T) {
	shortest := Retention{SandboxDays: 1, ExportsDays: 1, RequestsDays: 1, PingsDays: 1, RequestLogDays: 1, RequestLogRows: 1, TrafficDays: 1}
	checkProblems(t, shortest.Validate())
	longest := Retention{
		ContactDays: 36500, ConsentDays: 36500, SandboxDays: 3650, ExportsDays: 365, RequestsDays: 3650,
		PingsDays: 3650, RequestLogDays: 90, RequestLogRows: 100_000, TrafficDays: 3650,
	}
	checkProblems(t, longest.Validate())
	checkProblems(t, (&Retention{PingsDays: 3651, RequestLogDays: 91, RequestLogRows: 100_001, ContactDays: -1, ConsentDays: 36501}).Validate(),
		"retention.consent_days",
		"retention.contact_days",
		"retention.exports_days",
		"retention.pings_days",
		"retention.request_log_days",
		"retention.request_log_rows",
		"retention.requests_days",
		"retention.sandbox_days",
		"retention.traffic_days",
	)
}

func TestConsentIsNotStoredShorterThanContactRecord(t *testing.T) {
	type days = map[string]int
	for name, c := range map[string]struct {
		contact, consent     int
		contactBy, consentBy days
		want                 []string
	}{
		"same":                       {contact: 30, consent: 30},
		"longer":                     {contact: 30, consent: 31},
		"until erased":               {contact: 30},
		"shorter":                    {contact: 30, consent: 29, want: []string{"retention.consent_days"}},
		"contact until erased":       {consent: 29, want: []string{"retention.consent_days"}},
		"country, same":              {contactBy: days{"GB": 30}, consentBy: days{"GB": 30}},
		"country, shorter":           {contactBy: days{"GB": 30}, consentBy: days{"GB": 29}, want: []string{"retention.consent_days_by_country[GB]"}},
		"country, default consent":   {contact: 30, consent: 60, contactBy: days{"GB": 61}, want: []string{"retention.consent_days"}},
		"country, default contact":   {contact: 30, consentBy: days{"GB": 29}, want: []string{"retention.consent_days_by_country[GB]"}},
		"country, contact unlimited": {contact: 30, consent: 60, contactBy: days{"GB": 0}, want: []string{"retention.consent_days"}},
		"country, out of range":      {contactBy: days{"GB": -1}, want: []string{"retention.contact_days_by_country[GB]"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := defaultRetention()
			r.ContactDays, r.ConsentDays, r.ContactDaysByCountry, r.ConsentDaysByCountry = c.contact, c.consent, c.contactBy, c.consentBy
			checkProblems(t, r.Validate(), c.want...)
		})
	}
}

func TestRetentionNeedsErasureJournal(t *testing.T) {
	for _, section := range []string{"contact_days: 10", "contact_days_by_country: {GB: 10}"} {
		_, err := loadText("retention:\n  "+section+"\n", sufficient()...)
		checkProblems(t, err, "privacy.erasure_journal")
		mustLoad(t, "retention:\n  "+section+"\nprivacy:\n  erasure_journal: /erasures\n", sufficient()...)
	}
	mustLoad(t, "retention:\n  contact_days_by_country: {GB: 0}\n", sufficient()...)
}

func TestDaysByCountry(t *testing.T) {
	const path = "retention.contact_days_by_country"
	want := map[string]int{"GB": 365, "NO": 0}
	for name, c := range map[string]struct{ file, variable string }{
		"block in the file":  {file: "retention:\n  contact_days_by_country:\n    GB: 365\n    NO: 0\n"},
		"line in the file":   {file: "retention:\n  contact_days_by_country: {GB: 365, NO: 0}\n"},
		"UK in the file":     {file: "retention:\n  contact_days_by_country: {UK: 365, NO: 0}\n"},
		"list in the file":   {file: "retention:\n  contact_days_by_country: [GB=365, NO=0]\n"},
		"variable":           {variable: "GB=365, NO=0"},
		"variable overrides": {file: "retention:\n  contact_days_by_country: {DE: 1}\n", variable: "GB=365 NO=0"},
	} {
		environ := sufficient()
		if c.variable != "" {
			environ = append(environ, "PINGPOST_RETENTION_CONTACT_DAYS_BY_COUNTRY="+c.variable)
		}
		cfg, err := loadText(c.file, append(environ, "PINGPOST_PRIVACY_ERASURE_JOURNAL=/erasures")...)
		if err != nil || !maps.Equal(cfg.Retention.ContactDaysByCountry, want) || !strings.Contains(cfg.Redacted(), `{"GB": 365, "NO": 0}`) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, wrong := range []string{
		"{gb: 1}", "{GBR: 1}", "{GB: x}", "{GB: }", "{GB: 1.5}", "{GB: [1]}", "{GB: {a: 1}}", "{GB: 1, GB: 2}", "{GB: 1, UK: 2}", "{? [a] : 1}", "GB", "GB=", "=1", "[GB=1, GB=2]", "{GB=1: 2}",
		"{GB: 1, &a DE: *a}",
	} {
		_, err := loadText("retention:\n  contact_days_by_country: "+wrong+"\n", append(sufficient(), "PINGPOST_PRIVACY_ERASURE_JOURNAL=/erasures")...)
		if ps := problemsOf(err); len(ps) == 0 || !strings.HasPrefix(ps[0].Path, path) && !strings.HasPrefix(ps[0].Text, "is not valid YAML") {
			t.Errorf("%s: got %v", wrong, err)
		}
	}
	_, err := loadText("retention:\n  contact_days_by_country:\n    GB: -1\n", append(sufficient(), "PINGPOST_PRIVACY_ERASURE_JOURNAL=/erasures")...)
	if ps := problemsOf(err); len(ps) != 1 || ps[0].Path != path+"[GB]" || !strings.HasSuffix(ps[0].Origin, ":3") {
		t.Errorf("got %+v", ps)
	}
}
