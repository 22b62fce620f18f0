package partners

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/admin/web/outcomes"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

// requestURL returns the URL of a request's page.
func requestURL(r reporting.Request) string {
	page := "/requests/" + id.Format(id.Request, r.RequestID)
	if r.Partner == uuid.Nil {
		return "/partners" + page
	}
	return web.PartnerURL(r.Partner) + page
}

// requestPage shows a request of a partner, including a ping that received a price. The platform account has no other
// pages. The page of a request that belongs to no partner names no partner.
func (h *Handlers) requestPage(k *web.Request) error {
	head, partner, err := h.requestHead(k)
	if err != nil {
		return err
	}
	requestID, err := k.PathID("request", id.Request)
	if err != nil {
		return err
	}
	r, logged, err := h.Reporting.FindRequest(k.R.Context(), k.Scope, requestID)
	if err != nil {
		return err
	}
	if !logged || r.Partner != partner {
		return web.ErrNotFound
	}
	names, err := h.requestNames(k, []reporting.Request{r})
	if err != nil {
		return err
	}
	words, kind, rejected := outcomes.Label(r.Outcome)
	v := view.PartnerRequestView{
		Head:      head,
		RequestID: id.Format(id.Request, r.RequestID),
		At:        r.At,
		Kind:      kind,
		Outcome:   ui.Sentence(words),
		Endpoint:  ui.Sentence(r.Endpoint),
		Status:    statusText(r.Status),
		Code:      r.Code,
		Message:   r.Message,
		Detail:    r.Detail,
		Fields:    r.Fields,
		Account:   names.accounts[r.Account].Identifier,
		Fix:       outcomes.Fix(r.Outcome, r.Code),
		Took:      ui.DurationText(r.Took()),
		ListURL:   requestsPath,
	}
	if head.URL != "" {
		v.ListURL = head.URL + "?tab=requests"
	}
	secret, known := names.secrets[r.Secret]
	if known {
		v.Secret = secretName(secret)
	} else if r.Outcome == wrongSignature && head.CanWrite {
		v.CheckURL = head.URL + "/check"
	}
	end, ended := names.ends[r.Secret]
	if ended {
		v.Secret += ", which " + end.text() + " on " + ui.UTC(end.at)
		v.Fix = endedSecretFix
	}
	if rejected {
		v.Checks = requestChecks(r)
		v.Reply = replyText(r, secret, end)
	}
	if r.Lead != uuid.Nil {
		v.Lead = ui.Link{Label: id.Format(id.Lead, r.Lead)}
		if k.MayAt(web.ReadLeads, partner) {
			v.Lead.URL = "/leads/" + v.Lead.Label
		}
	}
	return k.Show(http.StatusOK, view.PartnerRequest(v))
}

// requestHead returns the header of a request's page, and the partner in its URL, or uuid.Nil if there is none.
func (h *Handlers) requestHead(k *web.Request) (head view.PartnerHead, partner uuid.UUID, err error) {
	if k.R.PathValue("id") == "" {
		return view.PartnerHead{Shell: k.Shell("Request", allPartners)}, uuid.Nil, nil
	}
	if partner, err = k.PathID("id", id.Partner); err != nil {
		return head, partner, err
	}
	found, err := h.Partners.ByIDs(k.R.Context(), k.Scope, []uuid.UUID{partner})
	if err != nil {
		return head, partner, err
	}
	p, ok := found[partner]
	switch {
	case !ok:
		return head, partner, web.ErrNotFound
	case partner == models.PlatformIDs.Partner:
		return view.PartnerHead{Shell: k.Shell(p.Name)}, partner, nil
	}
	head, err = h.head(k, p, "requests")
	return head, partner, err
}

// requestChecks returns the checks of a rejected request in the order in which they are made. It returns nil if no
// check rejected it.
func requestChecks(r reporting.Request) (rows []view.CheckRow) {
	rejection := intake.Rejection{
		Endpoint: r.Endpoint, Outcome: r.Outcome, Code: apperr.PublicCode(r.Code),
		Signed: r.Secret != uuid.Nil, Owned: r.Account != uuid.Nil,
	}
	failed := rejection.FailedCheck()
	if failed == "" {
		return nil
	}
	row := view.CheckRow{Kind: "good", State: "Passed"}
	for _, check := range rejection.Checks() {
		row.Name, row.Label = string(check), checkLabels[check]
		if check == failed {
			row.Kind, row.State = "bad", "Stopped here"
		}
		rows = append(rows, row)
		if check == failed {
			row = view.CheckRow{Kind: "idle", State: "Not reached"}
		}
	}
	return rows
}

// checkLabels contains the labels of the checks of pings and posts.
var checkLabels = map[intake.Check]string{
	intake.CheckURL:             "Base URL, path and method",
	intake.CheckBody:            "Size and completeness",
	intake.CheckRate:            "Rate limit",
	intake.CheckTimestamp:       "Timestamp",
	intake.CheckSignatureFormat: "Signature format",
	intake.CheckOwner:           "Partner and account",
	intake.CheckSignature:       "Signature",
	intake.CheckJSON:            "JSON",
	intake.CheckFields:          "Fields",
	intake.CheckTransaction:     "transactionId",
	intake.CheckExpiry:          "Quote expiry",
	intake.CheckDelivery:        "No earlier delivery",
	intake.CheckActive:          "Account status",
	intake.CheckStoring:         "Storage",
	intake.CheckPrice:           "Price",
}

// replyText returns an explanation of a rejection for the partner. It contains no personal data: no values that were
// sent, and no names of staff.
func replyText(r reporting.Request, secret models.SigningSecret, end secretEnd) string {
	request := id.Format(id.Request, r.RequestID)
	lines := []string{
		"Your " + r.Endpoint + " of " + ui.UTC(r.At) + " was rejected.",
		"",
		"Request ID: " + request,
		"Response: " + responseText(r),
	}
	add := func(label, value string) {
		if value != "" {
			lines = append(lines, label+": "+value)
		}
	}
	add("Code", r.Code)
	words := ui.Sentence(outcomes.ReasonLabel(r.Outcome)) + "."
	fix := outcomes.PartnerFix(r.Outcome, r.Code)
	if !end.at.IsZero() {
		ended := "expired"
		if end.revoked {
			ended = "was revoked"
		}
		words += " The post was signed with the secret that ends in " + secret.LastFour + ", which " + ended + " on " +
			ui.UTC(end.at) + "."
		fix = "Sign with your current secret. If you do not have it, ask us for a new one."
	}
	add("Reason", words)
	add("Invalid JSON", r.Detail)
	add("Fields", strings.Join(r.Fields, ", "))
	return strings.Join(append(lines, "", fix), "\n")
}

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}
