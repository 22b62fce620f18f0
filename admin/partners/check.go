package partners

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/admin/web/outcomes"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/internal/protocol/signing/diagnose"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) checkPage(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	return h.showCheck(k, http.StatusOK, p, view.CheckView{})
}

func (h *Handlers) showCheck(k *web.Request, status int, p models.Partner, v view.CheckView) (err error) {
	if v.Head, err = h.head(k, p, "requests"); err != nil {
		return err
	}
	v.Head.Shell.Title = "Check a post"
	v.Head.Shell.Crumbs = append(v.Head.Shell.Crumbs, ui.Link{Label: p.Name, URL: web.PartnerURL(p.ID)})
	return k.Show(status, view.PostCheck(v))
}

// check shows which checks of the partner API a pasted post passes. It shows the pasted text again, but does not
// store it.
func (h *Handlers) check(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	v := view.CheckView{Request: k.R.PostForm.Get("request")}
	c := pastedCheck{pastedPost: readPaste(v.Request), partner: p}
	if c.slug, c.isPost = c.pastedPost.slug(p.Slug); !c.isPost {
		c.slug = p.Slug
	}
	if mistake := c.mistake(); mistake != "" {
		v.Errors = ui.Errors{{Field: "request", Message: mistake}}
		return h.showCheck(k, http.StatusUnprocessableEntity, p, v)
	}
	if err := h.checkPost(k, &c); err != nil {
		return err
	}
	v.Result = c.result(k)
	return h.showCheck(k, http.StatusOK, p, v)
}

// pastedCheck is a pasted post with the results of its checks.
type pastedCheck struct {
	pastedPost
	partner   models.Partner
	slug      string // of the base URL; "" for the shared one
	isPost    bool   // the path is that of a post
	body      string // the element of bodies that was signed, or the first one
	checked   intake.CheckedPost
	diagnosis diagnose.Diagnosis
	quotedTo  string // the partner of the quote; "" if it is not known
}

// mistake returns what is missing in the pasted text, or "".
func (c pastedCheck) mistake() string {
	switch {
	case len(c.headers) == 0:
		return "Paste the headers of the post, an empty line and its body."
	case len(c.bodies) == 0:
		return "The body is missing. Paste it after the headers and an empty line."
	}
	return ""
}

func (c pastedCheck) request(body string) intake.PostRequest {
	return intake.PostRequest{
		Slug: c.slug,
		Headers: signing.Headers{
			Timestamp: c.headers["x-timestamp"],
			Signature: c.headers["x-signature-sha256"],
			Alias:     c.headers["x-signature"],
		},
		Body:            []byte(body),
		ContentEncoding: c.first("content-encoding"),
	}
}

// checkPost checks the post. It uses the secrets of the partner to which the post belongs to look for the mistake in
// its signature.
func (h *Handlers) checkPost(k *web.Request, c *pastedCheck) (err error) {
	ctx := k.R.Context()
	c.body = c.bodies[0]
	if c.checked, err = h.Checker.Check(ctx, k.Scope, c.request(c.body)); err != nil {
		return err
	}
	owner, quoted := c.partner.ID, uuid.Nil
	if c.checked.Owner != nil {
		owner = c.checked.Owner.ID
	}
	if c.checked.Quote != nil {
		quoted = c.checked.Quote.Partner
	}
	found, err := h.Partners.ByIDs(ctx, k.Scope, []uuid.UUID{owner, quoted})
	if err != nil {
		return err
	}
	c.quotedTo = found[quoted].Name
	signature := cmp.Or(c.first("x-signature-sha256"), c.first("x-signature"))
	signer, visible := found[owner]
	if !visible { // the platform partner, which has no secrets
		signer = c.partner
	}
	c.diagnosis, c.body, err = h.partners(k).DiagnoseSignature(
		ctx, k.Scope, signer, c.first("x-timestamp"), signature, c.bodies)
	if err == nil && c.body != c.bodies[0] {
		c.checked, err = h.Checker.Check(ctx, k.Scope, c.request(c.body))
	}
	return err
}

// result returns the results of the checks as the page shows them. The results do not include rate limits and storage,
// which are not checked.
func (c pastedCheck) result(k *web.Request) *view.CheckResult {
	r := &view.CheckResult{Causes: c.diagnosis.Causes, At: k.Now}
	if c.signed() {
		r.Signed = c.diagnosis.Signed
	}
	failed, stop, response := c.checked.Failed, c.checked.Stop, c.checked.Err
	for check, err := range c.outerErrors() {
		failed[check] = err
		stop, response = check, err
	}
	for _, check := range c.checked.Order {
		if check == intake.CheckRate || check == intake.CheckStoring {
			continue
		}
		err, made := failed[check]
		if check == stop {
			err = response // it can say more, for example that the lead had been delivered before
		}
		row := view.CheckRow{Name: string(check), Label: checkLabels[check], Kind: "good", State: "Passed"}
		switch {
		case !made:
			row.Kind, row.State = "idle", "Not checked"
		case err != nil:
			row.Kind, row.State = "bad", "Failed"
			row.Fix = outcomes.Fix(err.Reason, string(err.PublicCode))
		}
		if check == stop {
			row.State = "Rejected here"
		}
		c.explain(k, check, err, made, &row)
		r.Checks = append(r.Checks, row)
	}
	switch {
	case response != nil:
		r.Verdict = "The post would be rejected: " + strconv.Itoa(response.Status()) + " " + response.Message
		r.Code, r.Stop = string(response.PublicCode), string(stop)
	case c.checked.Replayed:
		r.Accepted, r.Verdict = true, "The post would be accepted as a replay of the lead that was delivered before."
	default:
		r.Accepted, r.Verdict = true, "The post would be accepted."
	}
	return r
}

// outerErrors returns, by check, the errors with which the partner API rejects the post before it reads the post's
// headers.
func (c pastedCheck) outerErrors() map[intake.Check]*apperr.Error {
	switch {
	case !c.isPost:
		return map[intake.Check]*apperr.Error{
			intake.CheckURL: apperr.New(apperr.NotFound, "not_found", "Not Found").WithPublicCode(apperr.URLNotFound)}
	case c.method != "" && c.method != http.MethodPost:
		return map[intake.Check]*apperr.Error{
			intake.CheckURL: apperr.New(apperr.WrongMethod, "method", "Method Not Allowed").WithPublicCode(apperr.MethodNotAllowed)}
	case len(c.body) > diagnose.MaxDiagnosed:
		return map[intake.Check]*apperr.Error{
			intake.CheckBody: apperr.New(apperr.TooLarge, "too_large", "Payload Too Large").WithPublicCode(apperr.BodyTooLarge)}
	}
	return nil
}

// explain adds details to the result of a check.
func (c pastedCheck) explain(k *web.Request, check intake.Check, err *apperr.Error, made bool, row *view.CheckRow) {
	switch check { //nolint:exhaustive // the other checks need no details
	case intake.CheckBody:
		if c.length >= 0 && len(c.body) != c.length {
			row.Notes = append(row.Notes, fmt.Sprintf(
				"The pasted body has %d bytes, but Content-Length is %d. Paste the body unchanged.", len(c.body), c.length))
		}
	case intake.CheckTimestamp:
		if seconds, ok := c.timestamp(); ok && err != nil {
			row.Detail = "The timestamp is " + ui.UTC(seconds) + ". The service's clock is " + ui.UTC(k.Now) + "."
		}
	case intake.CheckOwner:
		c.explainOwner(err, row)
	case intake.CheckSignature:
		c.explainSignature(err, made, row)
	case intake.CheckJSON:
		if err != nil && err.Detail != nil {
			row.Detail = fmt.Sprintf("%s at byte %d.", ui.Sentence(strings.ReplaceAll(err.Detail.Reason, "_", " ")),
				err.Detail.Offset)
		}
	case intake.CheckFields:
		if err == nil {
			return
		}
		for _, f := range err.Fields {
			row.Notes = append(row.Notes, strings.Join(f.Path, ".")+" "+f.Message+".")
		}
		if err.Reason == string(models.OutcomeUnknownAccount) {
			c.explainOwner(err, row)
		}
	case intake.CheckTransaction, intake.CheckExpiry:
		c.explainQuote(check, err, row)
	case intake.CheckDelivery:
		c.explainDelivery(k, row)
	case intake.CheckActive:
		if err != nil && c.checked.Owner != nil && !c.checked.Owner.Active() {
			row.Detail = "The partner is " + string(c.checked.Owner.Status) + "."
		} else if err != nil {
			row.Detail = "The account is suspended."
		}
	}
}

func (c pastedCheck) explainOwner(err *apperr.Error, row *view.CheckRow) {
	account, claimed := c.checked.Account, c.checked.Claimed
	switch {
	case account != nil && account.Partner.ID != c.partner.ID:
		row.Detail = "The post belongs to account " + account.Identifier + " of the partner " + account.Partner.Slug + "."
	case account != nil:
		row.Detail = "Account " + account.Identifier + "."
	case err != nil && claimed != nil:
		row.Detail = "The partnerId belongs to the partner " + claimed.Partner.Slug + "."
	case err != nil && err.Reason == string(models.OutcomeUnknownAccount):
		row.Detail = "No account that you can see has this partnerId."
	}
}

func (c pastedCheck) explainSignature(err *apperr.Error, made bool, row *view.CheckRow) {
	switch {
	case c.signed():
		row.Detail, row.Notes = c.diagnosis.Verdict, c.diagnosis.Notes
		if err != nil || !made {
			row.Fix = c.diagnosis.Fix
		}
	case err == nil && made:
		row.Detail = "The post is not signed. The account accepts unsigned posts."
	}
}

func (c pastedCheck) explainQuote(check intake.Check, err *apperr.Error, row *view.CheckRow) {
	q := c.checked.Quote
	switch {
	case q == nil:
	case check == intake.CheckExpiry && err != nil:
		row.Detail = "The quote expired on " + ui.UTC(q.ExpiresAt()) + "."
		if at, ok := c.timestamp(); ok && at.Before(q.ExpiresAt()) {
			row.Detail += " It was still valid at the time in X-Timestamp."
		}
	case check == intake.CheckExpiry:
		row.Detail = "The quote expires on " + ui.UTC(q.ExpiresAt()) + "."
	default:
		row.Detail = "Quote of " + ui.Amount(q.Price) + " " + q.Price.Currency.String() + " from " + ui.UTC(q.IssuedAt())
		if c.quotedTo != "" {
			row.Detail += ", issued to " + c.quotedTo
		}
		row.Detail += "."
	}
}

func (c pastedCheck) explainDelivery(k *web.Request, row *view.CheckRow) {
	d := c.checked.Delivered
	switch {
	case d == nil:
	case !k.Scope.Allows(d.PartnerID):
		row.Detail = "Another partner has delivered a lead for this transaction."
	default:
		row.Detail = "The transaction has the lead " + id.Format(id.Lead, d.LeadID) + ", delivered on " +
			ui.UTC(d.ReceivedAt) + "."
	}
}

func (c pastedCheck) signed() bool {
	return len(c.headers["x-signature-sha256"])+len(c.headers["x-signature"]) > 0
}

// timestamp returns the time in the X-Timestamp header, and whether it is valid.
func (c pastedCheck) timestamp() (time.Time, bool) {
	seconds, err := strconv.ParseInt(signing.TrimBlanks(c.first("x-timestamp")), 10, 64)
	return time.Unix(seconds, 0), err == nil && seconds > 0 && seconds < 1<<33
}
