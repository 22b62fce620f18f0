package admin

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// signingForm is what the form shows besides the partner as it is.
type signingForm struct {
	mode     string
	shared   bool
	version  int64
	conflict *templates.Conflict
	errors   templates.Errors
}

func (k *call) signingTab(p models.Partner) error {
	return k.showSigning(http.StatusOK, p, signingForm{mode: string(p.SigningMode), shared: p.SharedAddress, version: int64(p.RowVersion)})
}

func (k *call) showSigning(status int, p models.Partner, f signingForm) error {
	head, err := k.head(p, "signing")
	if err != nil {
		return err
	}
	v := templates.PartnerSigningView{
		Head: head, Modes: chosen(k.modes(models.SigningDefault), f.mode), Mode: k.modeWords(p.SigningMode), Shared: f.shared,
		Version: f.version, StepUp: k.stepUp(), Conflict: f.conflict, Errors: f.errors,
	}
	if !head.CanWrite {
		v.Locked = "Your roles let you look at this partner, not change it."
	}
	used, err := k.Partners.SharedAddresses(k.r.Context())
	if err != nil {
		return err
	}
	v.SharedWords = fmt.Sprintf("%d of at most %d partners use it", used, partners.MaxSharedAddress)
	if used >= partners.MaxSharedAddress && !p.SharedAddress {
		v.SharedLocked = "All places are taken: the partner names itself by its own base URL or its partnerId."
	}
	if v.Accounts, err = k.accountRows(p, head.CanWrite); err != nil {
		return err
	}
	if v.Forecast, err = k.forecast(p); err != nil {
		return err
	}
	return k.show(status, templates.PartnerSigning(v))
}

// forecast is what requiring signatures would have refused of the last 24 hours.
func (k *call) forecast(p models.Partner) (f templates.Forecast, err error) {
	found, err := k.Reporting.Unsigned(k.r.Context(), k.scope, p.ID, k.now.Add(-24*time.Hour))
	if err != nil {
		return f, err
	}
	accounts, err := k.Partners.Accounts(k.r.Context(), p)
	if err != nil {
		return f, err
	}
	names := map[uuid.UUID]string{}
	for _, a := range accounts {
		names[a.ID] = a.Identifier
	}
	for _, one := range found {
		f.Posts += one.Posts
		f.Unsigned += one.Unsigned
		f.Accounts = append(f.Accounts, templates.ForecastRow{Identifier: names[one.Account], Posts: one.Posts, Unsigned: one.Unsigned, LastUnsigned: one.Last})
	}
	return f, nil
}

func (k *call) setSigning() error {
	p, err := k.formOf()
	if err != nil {
		return err
	}
	form := k.r.PostForm
	f := signingForm{mode: form.Get("signing"), shared: form.Get("shared_address") == "yes", version: int64(k.version())}
	proof, err := k.proven()
	if err != nil {
		return err
	}
	if len(proof) > 0 {
		f.errors = proof
		return k.showSigning(http.StatusUnprocessableEntity, p, f)
	}
	err = k.partners().SetSigning(k.r.Context(), k.scope, p.ID, k.version(), models.SigningMode(f.mode), f.shared)
	if err == nil {
		return k.to(partnerURL(p.ID) + "?tab=signing")
	}
	status, mistakes, other := k.mistakes(err)
	if other != nil {
		return other
	}
	f.errors = mistakes
	if isStale(err) {
		if p, err = k.partner(); err != nil {
			return err
		}
		f.errors, f.version = nil, int64(p.RowVersion)
		if f.conflict, err = k.conflict("partner", id.Format(id.Partner, p.ID), p.UpdatedAt); err != nil {
			return err
		}
	}
	return k.showSigning(status, p, f)
}

func (k *call) checkPage() error {
	p, err := k.partner()
	if err != nil {
		return err
	}
	return k.showCheck(http.StatusOK, p, templates.CheckView{})
}

func (k *call) showCheck(status int, p models.Partner, v templates.CheckView) (err error) {
	if v.Head, err = k.head(p, "secrets"); err != nil {
		return err
	}
	v.Head.Shell.Title = "Check a signature"
	v.Head.Shell.Crumbs = append(v.Head.Shell.Crumbs, templates.Link{Label: p.Name, URL: partnerURL(p.ID)})
	return k.show(status, templates.SignatureCheck(v))
}

// check finds out why a signature is refused. What was pasted is shown again to
// whoever pasted it, and kept nowhere.
func (k *call) check() error {
	p, err := k.formOf()
	if err != nil {
		return err
	}
	f := k.r.PostForm
	v := templates.CheckView{Timestamp: f.Get("timestamp"), Body: f.Get("body"), Signature: f.Get("signature")}
	for _, one := range []struct{ field, value, message string }{
		{"timestamp", v.Timestamp, "Paste the X-Timestamp header as it was sent."},
		{"body", v.Body, "Paste the body as it was sent, byte by byte."},
		{"signature", v.Signature, "Paste the X-Signature-SHA256 header as it was sent."},
	} {
		switch {
		case one.value == "":
			v.Errors = append(v.Errors, templates.FieldError{Field: one.field, Message: one.message})
		case len(one.value) > 64<<10:
			v.Errors = append(v.Errors, templates.FieldError{Field: one.field, Message: "That is more than 64 KiB, which no post may have."})
		}
	}
	if len(v.Errors) > 0 {
		return k.showCheck(http.StatusUnprocessableEntity, p, v)
	}
	found, err := k.partners().CheckSignature(k.r.Context(), k.scope, p, v.Timestamp, v.Body, v.Signature)
	if err != nil {
		return err
	}
	v.Result = &templates.CheckResult{Matches: found.Matches, Verdict: found.Verdict, Mend: found.Mend, Notes: found.Notes, Signed: visible(found.Signed), Length: len(found.Signed)}
	return k.showCheck(http.StatusOK, p, v)
}

// maxVisible bounds how much of the signed string is shown.
const maxVisible = 8 << 10

// visible is a text in which one sees the blanks that a page would hide.
func visible(signed []byte) string {
	cut := ""
	if len(signed) > maxVisible {
		signed, cut = signed[:maxVisible], "…"
	}
	shown := strings.NewReplacer("\r", "␍", "\n", "␊\n", "\t", "⇥", "\u00a0", "⍽", "\ufeff", "[BOM]").Replace(strings.ToValidUTF8(string(signed), "\ufffd"))
	trimmed := strings.TrimRight(shown, " ")
	return trimmed + strings.Repeat("·", len(shown)-len(trimmed)) + cut
}
