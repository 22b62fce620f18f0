package web

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// savedCookie contains the request ID of the last form that redirected. The next page shows what was saved, from the
// audit events of that request.
const savedCookie = "pingpost_saved"

// maxRequestID is the length of a request ID.
const maxRequestID = len("rq_") + 26

// savedSeconds is how long the cookie is valid. After this time, the next page shows no notice.
const savedSeconds = 60

// savedCode is the code of the notice about what was saved. Error pages do not show this notice.
const savedCode = "saved"

// savedTexts are the notices for the actions of forms. Actions without a notice show their result in another way.
var savedTexts = map[string]string{ //nolint:gosec // labels of actions, no credentials
	"account.change":                 "Account saved",
	"account.create":                 "Account created",
	"adjustment.approve":             "Adjustment approved",
	"adjustment.redact":              "Note redacted",
	"adjustment.reject":              "Adjustment rejected",
	"adjustment.request":             "Adjustment requested. Another user must approve it",
	"disclosures.replace":            "Disclosure text replaced",
	"hold.place":                     "Legal hold placed",
	"hold.release":                   "Legal hold released",
	"job.cancel":                     "Job cancelled",
	"lead.erase":                     "Personal data erased",
	"ledger.adjust":                  "Balance adjusted",
	"ledger.redact_note":             "Note redacted",
	"link.revoke":                    "Documentation link revoked",
	"partner.approve":                "Partner approved",
	"partner.create":                 "Partner created",
	"partner.details":                "Details saved",
	"partner.prices":                 "Partner pricing saved",
	"partner.prices_propose":         "Partner pricing proposed. Another user must approve it",
	"partner.prices_withdraw":        "Proposed pricing withdrawn",
	"partner.signing":                "Signing settings saved",
	"partner.status":                 "Partner status changed",
	"payout_run.approve":             "Payout run approved",
	"payout_run.cancel":              "Payout run cancelled",
	"payout_run.pay":                 "Payout run marked as paid",
	"payout_run.prepare":             "Payout run requested",
	"pricing.create":                 "Draft created",
	"pricing.discard":                "Draft discarded",
	"pricing.edit":                   "Draft saved",
	"pricing.publish":                "Prices published",
	"pricing.rename":                 "Draft renamed",
	"pricing.schedule":               "Publication scheduled",
	"pricing.submit":                 "Draft submitted. Another user must approve it",
	"pricing.undo":                   "Edit undone",
	"pricing.withdraw":               "Draft withdrawn",
	"privacy_request.add_leads":      "Leads added",
	"privacy_request.check_identity": "Identity check recorded",
	"privacy_request.close":          "Privacy request closed",
	"privacy_request.create":         "Privacy request created",
	"privacy_request.erase":          "Personal data erased",
	"privacy_request.extend":         "Deadline extended",
	"privacy_request.notify":         "Notice to the partner recorded",
	"privacy_request.remove_leads":   "Leads removed from the request",
	"reconciliation.compare":         "Comparison requested",
	"reconciliation.discard":         "Reconciliation discarded",
	"reconciliation.redact_note":     "Note redacted",
	"reconciliation.resolve":         "Finding resolved",
	"reconciliation.save":            "Reconciliation saved",
	"reconciliation.upload":          "File uploaded",
	"retention.apply":                "Retention periods applied",
	"return.accept":                  "Return accepted",
	"return.redact":                  "Evidence redacted",
	"return.reject":                  "Return rejected",
	"return.request":                 "Return requested",
	"secret.expire":                  "Expiry saved",
	"secret.import":                  "Signing secret imported",
	"secret.revoke":                  "Signing secret revoked",
	"staff.deactivate":               "User deactivated",
	"staff.end_session":              "Session revoked",
	"staff.end_sessions":             "Sessions revoked",
	"staff.password":                 "Password changed",
	"staff.reactivate":               "User reactivated",
	"staff.reset_second_factor":      "Second factor reset",
	"staff.roles":                    "Roles saved",
	"staff.second_factor":            "Second factor set up",
}

// IsSavedAction reports whether the page after a form says that the action was saved.
func IsSavedAction(action string) bool { return savedTexts[action] != "" }

// announceSaved lets the next page show what this request has saved.
func (k *Request) announceSaved() {
	if k.Route.Method == http.MethodPost && k.SignedIn() {
		k.setSavedCookie(k.By.RequestID, savedSeconds)
	}
}

func (k *Request) setSavedCookie(value string, seconds int) {
	http.SetCookie(k.W, &http.Cookie{ //nolint:gosec // a development console has no https
		Name: savedCookie, Value: value, MaxAge: seconds,
		Path: "/", HttpOnly: true, Secure: k.console.production(), SameSite: http.SameSiteLaxMode,
	})
}

// showSaved adds a notice about what the user's last form has saved. It shows each notice once.
func (k *Request) showSaved() error {
	cookie, err := k.R.Cookie(savedCookie)
	if err != nil || k.Route.Method != http.MethodGet || k.Route.live() || k.Route.Long || !k.SignedIn() {
		return nil //nolint:nilerr // there is no cookie
	}
	k.setSavedCookie("", -1)
	if len(cookie.Value) > maxRequestID {
		return nil
	}
	events, err := k.console.Audit.OfRequest(k.R.Context(), k.By.Staff, cookie.Value)
	if err != nil {
		return err
	}
	for _, e := range events {
		if text, ok := savedTexts[e.Action]; ok {
			text += savedDetail(e) + savedChanges(e) + "."
			links, err := k.savedLinks(e)
			k.Notices = append(k.Notices, Notice{Kind: "good", Code: savedCode, Text: text, Choices: links})
			return err
		}
	}
	return nil
}

// savedLinks returns a link to the object of an event, if it is on another page, and one to the page that rolls back
// a published version.
func (k *Request) savedLinks(e models.AuditEvent) (links []ui.Link, err error) {
	rows, err := k.AuditRows([]models.AuditEvent{e})
	if err != nil {
		return nil, err
	}
	object := ui.Link{Label: "View " + rows[0].Kind, URL: rows[0].ObjectURL}
	version := 0
	if e.Action == "pricing.publish" {
		if version, err = strconv.Atoi(FieldText(Fields(e.After), "version")); err != nil {
			return nil, err
		}
		object = ui.Link{Label: "View " + VersionName(version), URL: VersionURL(version)}
	}
	if path, _, _ := strings.Cut(object.URL, "?"); path != "" && path != k.R.URL.Path {
		links = append(links, object)
	}
	if version > 1 && k.May(PublishPricing) {
		links = append(links, ui.Link{Label: "Roll back", URL: VersionURL(version-1) + "/rollback"})
	}
	return links, nil
}

// savedDetail names the secret of an event, as in ": “live” (…9f3K)", or the version from which a published draft was
// copied.
func savedDetail(e models.AuditEvent) string {
	after := Fields(e.After)
	version := FieldText(after, "copied_from")
	switch {
	case e.ObjectKind == "secret":
		return ": “" + FieldText(after, "label") + "” (…" + FieldText(after, "last_four") + ")"
	case version != "":
		return ", based on version " + version
	}
	return ""
}

// savedChanges describes the changed values of an event, such as " (signing mode: off → required)".
func savedChanges(e models.AuditEvent) string {
	if text := ui.ChangedValues(Changes(e.Before, e.After), 3); text != "" {
		return " (" + text + ")"
	}
	return ""
}
