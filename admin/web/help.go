package web

// documentation is the start of the URLs of documentation pages.
const documentation = "https://github.com/pingpost/pingpost/blob/main/docs/"

// helpPages maps pages of the console to documentation pages about them. The longest path that contains a page applies.
var helpPages = map[string]string{
	"/":                    "README.md",
	"/account":             "how-to/manage-staff.md",
	"/audit":               "how-to/manage-staff.md#search-and-export-the-audit-log",
	"/jobs":                "explanation/payouts.md#background-jobs",
	"/leads":               "how-to/manage-partners.md#find-a-partner-a-lead-or-a-page",
	"/partners":            "how-to/manage-partners.md",
	"/partners/new":        "tutorials/onboard-a-partner.md",
	"/partners/requests":   "how-to/manage-partners.md#find-partners-with-many-rejected-posts",
	"/payouts":             "how-to/pay-partners.md",
	"/payouts/runs":        "explanation/payouts.md#payout-runs",
	"/pricing":             "how-to/change-prices.md",
	"/pricing/explain":     "explanation/pricing.md",
	"/privacy/disclosures": "how-to/replace-a-disclosure-text.md",
	"/privacy/holds":       "how-to/retain-leads.md",
	"/privacy/notes":       "how-to/erase-contact-data.md",
	"/privacy/requests":    "how-to/answer-privacy-requests.md",
	"/privacy/retention":   "how-to/retain-leads.md",
	"/reconciliation":      "how-to/reconcile-a-file.md",
	"/staff":               "how-to/manage-staff.md",
}

// helpURL returns the URL of the documentation page about this page.
func (k *Request) helpURL() string {
	longest := "/"
	for path := range helpPages {
		if k.inArea(path) && len(path) > len(longest) {
			longest = path
		}
	}
	return documentation + helpPages[longest]
}
