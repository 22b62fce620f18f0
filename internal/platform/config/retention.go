package config

import (
	"fmt"
	"maps"
	"slices"
)

// Retention holds the settings of the section `retention`. These settings determine how long data is
// stored. The ledger is not affected. A shorter period for contact records or consents takes effect when
// a user or an operator has accepted it (see docs/how-to/retain-leads.md).
type Retention struct {
	// For how many days after its receipt the contact record of a lead is stored, up to 36500. Then the contact record
	// is erased, as if the lead were erased, but the details of its consent are kept. With `0`, contact records are
	// stored until they are erased. Needs `privacy.erasure_journal`.
	ContactDays int

	// Different values of `contact_days` for the leads of some countries. The keys are two-letter country
	// codes, such as `{GB: 365, DE: 180}` in the file or `GB=365,DE=180` in the variable. `UK` is read as
	// `GB`, and `EL` as `GR`.
	ContactDaysByCountry map[string]int

	// For how many days after the receipt of a lead the details of its consent are stored, up to 36500,
	// or `0` to store them until they are erased. Must not be shorter than the period of the contact
	// record.
	ConsentDays int

	// Different values of `consent_days` for the leads of some countries, in the form of
	// `contact_days_by_country`.
	ConsentDaysByCountry map[string]int

	// For how many days sandbox leads are stored, 1 to 3650.
	SandboxDays int

	// For how many days a prepared ledger export can be downloaded, 1 to 365.
	ExportsDays int

	// For how many days pings are stored, 1 to 3650. The table of pings is the largest table. A replay
	// of a draft can only go back this far.
	PingsDays int

	// For how many days requests are kept in the request log, and the durations of delivered posts, 1 to 90. The
	// console shows them.
	RequestLogDays int

	// How many requests of each kind are kept in the request log for each partner, 1 to 100000. The kinds
	// are signed posts, other posts, pings, and requests that got a 429.
	RequestLogRows int

	// For how many days the traffic counters by minute are stored, 1 to 3650. With the default, a month
	// can be compared with the same month of the previous year.
	TrafficDays int

	// For how many days closed privacy requests are stored, 1 to 3650. They contain lead IDs, but no
	// contact data.
	RequestsDays int
}

func defaultRetention() Retention {
	return Retention{
		SandboxDays: 7, ExportsDays: 7, PingsDays: 90, RequestLogDays: 7, RequestLogRows: 10_000,
		TrafficDays: 400, RequestsDays: 365,
	}
}

func (r *Retention) fields() []field {
	return []field{
		whole("contact_days", &r.ContactDays),
		daysByCountry("contact_days_by_country", &r.ContactDaysByCountry),
		whole("consent_days", &r.ConsentDays),
		daysByCountry("consent_days_by_country", &r.ConsentDaysByCountry),
		whole("sandbox_days", &r.SandboxDays),
		whole("exports_days", &r.ExportsDays),
		whole("pings_days", &r.PingsDays),
		whole("request_log_days", &r.RequestLogDays),
		whole("request_log_rows", &r.RequestLogRows),
		whole("traffic_days", &r.TrafficDays),
		whole("requests_days", &r.RequestsDays),
	}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
func (r *Retention) Validate() error {
	const year, tenYears, hundredYears = 365, 3650, 36500
	var ps Problems
	between(&ps, "retention.contact_days", r.ContactDays, 0, hundredYears)
	between(&ps, "retention.consent_days", r.ConsentDays, 0, hundredYears)
	for path, all := range map[string]map[string]int{
		"retention.contact_days_by_country": r.ContactDaysByCountry, "retention.consent_days_by_country": r.ConsentDaysByCountry,
	} {
		for country, days := range all {
			between(&ps, keyedPath(path, country), days, 0, hundredYears)
		}
	}
	r.validateConsent(&ps)
	between(&ps, "retention.sandbox_days", r.SandboxDays, 1, tenYears)
	between(&ps, "retention.exports_days", r.ExportsDays, 1, year)
	between(&ps, "retention.pings_days", r.PingsDays, 1, tenYears)
	between(&ps, "retention.request_log_days", r.RequestLogDays, 1, 90)
	between(&ps, "retention.request_log_rows", r.RequestLogRows, 1, 100_000)
	between(&ps, "retention.traffic_days", r.TrafficDays, 1, tenYears)
	between(&ps, "retention.requests_days", r.RequestsDays, 1, tenYears)
	return ps.asError()
}

// warn adds a warning for each period after which contact records are erased while their leads can still be returned.
func (r *Retention) warn(ps *Problems, returnDays int) {
	check := func(path string, days int) {
		if days > 0 && days < returnDays {
			ps.add(path,
				"is shorter than payouts.return_days: leads can no longer be returned once their contact record has been erased")
		}
	}
	check("retention.contact_days", r.ContactDays)
	for country, days := range r.ContactDaysByCountry {
		check(keyedPath("retention.contact_days_by_country", country), days)
	}
}

// erases reports whether leads are erased after a period.
func (r *Retention) erases() bool {
	limited := func(days int) bool { return days > 0 }
	return limited(r.ContactDays) || slices.ContainsFunc(slices.Collect(maps.Values(r.ContactDaysByCountry)), limited)
}

// validateConsent checks that no consent's details are erased before the contact record of its lead. 0 days is the
// longest period.
func (r *Retention) validateConsent(ps *Problems) {
	check := func(path, of string, contact, consent int) {
		if consent != 0 && (contact == 0 || consent < contact) {
			ps.add(path, "must not be shorter than the period of the contact record%s, which is %s", of, daysText(contact))
		}
	}
	check("retention.consent_days", "", r.ContactDays, r.ConsentDays)
	countries := maps.Clone(r.ContactDaysByCountry)
	if countries == nil {
		countries = map[string]int{}
	}
	maps.Copy(countries, r.ConsentDaysByCountry)
	for _, country := range slices.Sorted(maps.Keys(countries)) {
		contact, consent, path := r.ContactDays, r.ConsentDays, "retention.consent_days"
		if days, ok := r.ContactDaysByCountry[country]; ok {
			contact = days
		}
		if days, ok := r.ConsentDaysByCountry[country]; ok {
			consent, path = days, keyedPath("retention.consent_days_by_country", country)
		}
		check(path, " for the country "+country, contact, consent)
	}
}

func daysText(days int) string {
	if days == 0 {
		return "not limited"
	}
	return fmt.Sprintf("%d days", days)
}
