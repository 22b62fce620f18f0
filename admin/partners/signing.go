package partners

import (
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

// signingForm contains the values that the form shows: the saved settings, or the rejected input.
type signingForm struct {
	mode    string
	shared  bool
	confirm []ui.Option // confirms the mode, if that is necessary
	web.Rejected
}

func (h *Handlers) signingTab(k *web.Request, p models.Partner) error {
	return h.showSigning(k, http.StatusOK, p, signingForm{
		mode:     string(p.SigningMode),
		shared:   p.SharedBaseURL,
		Rejected: web.Rejected{Version: p.RowVersion},
	})
}

func (h *Handlers) showSigning(k *web.Request, status int, p models.Partner, f signingForm) error {
	head, err := h.head(k, p, "signing")
	if err != nil {
		return err
	}
	v := view.PartnerSigningView{
		Head:     head,
		Modes:    web.SelectOption(h.modes(k, models.SigningDefault), f.mode),
		Mode:     h.modeLabel(k, p.SigningMode),
		Shared:   f.shared,
		Confirm:  f.confirm,
		Version:  f.Version,
		StepUp:   web.StepUp(k),
		Conflict: f.Conflict,
		Errors:   f.Errors,
	}
	if !head.CanWrite {
		v.Locked = "You have read-only access to this partner."
	}
	used, err := h.Partners.SharedAddresses(k.R.Context())
	if err != nil {
		return err
	}
	v.SharedWords = fmt.Sprintf("At most %d partners can use this option. %s it now",
		partners.MaxSharedBaseURL, web.CountText(int64(used), false, "partner uses", "partners use"))
	if used >= partners.MaxSharedBaseURL && !p.SharedBaseURL {
		v.SharedLocked = "No more partners can use this option. Turn it off for another partner first."
	}
	if v.Accounts, err = h.accountRows(k, p, head.CanWrite); err != nil {
		return err
	}
	if v.Forecast, err = h.forecast(k, p); err != nil {
		return err
	}
	return k.Show(status, view.PartnerSigning(v))
}

// forecast counts the posts from the last 24 hours that would have been rejected if signatures had
// been required.
func (h *Handlers) forecast(k *web.Request, p models.Partner) (f view.Forecast, err error) {
	found, err := h.Reporting.Unsigned(k.R.Context(), k.Scope, p.ID, k.Now.Add(-24*time.Hour))
	if err != nil {
		return f, err
	}
	accounts, err := h.Partners.Accounts(k.R.Context(), p)
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
		f.Accounts = append(f.Accounts, view.ForecastRow{
			Identifier:   names[one.Account],
			Posts:        one.Posts,
			Unsigned:     one.Unsigned,
			LastUnsigned: one.Last,
		})
	}
	return f, nil
}

// confirmMode checks that the user has confirmed a change of the effective signing mode to off or required. It returns
// the option that confirms it, or none if no confirmation is necessary. The numbers are the posts of the last 24 hours.
func confirmMode(
	k *web.Request, was, is models.SigningMode, posts, unsigned int64,
) (confirm []ui.Option, mistakes ui.Errors) {
	var impact string
	switch {
	case was == is:
		return nil, nil
	case is == models.SigningOff:
		impact = "Unsigned posts will be accepted. Anyone who knows the partnerId can then send leads that you pay for."
	case is == models.SigningRequired:
		impact = "Unsigned posts will be rejected. In the last 24 hours, " + ui.Number(unsigned) + " of " +
			ui.Plural(posts, "post was", "posts were") + " unsigned."
	default:
		return nil, nil
	}
	confirmed := k.R.PostForm.Get("confirmed") == string(is)
	if !confirmed {
		mistakes = ui.Errors{{Field: "confirmed", Code: "confirm", Message: "Confirm the new signing mode."}}
	}
	return []ui.Option{{
		Value:    string(is),
		Label:    "Change the signing mode to “" + plainMode(is) + "”",
		Hint:     impact,
		Selected: confirmed,
	}}, mistakes
}

func (h *Handlers) setSigning(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	form := k.R.PostForm
	f := signingForm{mode: form.Get("signing"), shared: form.Get("shared_base_url") == "yes"}
	forecast, err := h.forecast(k, p)
	if err != nil {
		return err
	}
	var mistakes ui.Errors
	was := partners.EffectiveMode(models.SigningInherit, p.SigningMode, h.DefaultSigning)
	is := partners.EffectiveMode(models.SigningInherit, models.SigningMode(f.mode), h.DefaultSigning)
	f.confirm, mistakes = confirmMode(k, was, is, forecast.Posts, forecast.Unsigned)
	return web.Submit(k, web.Form{
		Errors: mistakes,
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			err := h.partners(k).SetSigning(k.R.Context(), k.Scope, p.ID, web.FormRowVersion(k),
				models.SigningMode(f.mode), f.shared)
			return web.PartnerURL(p.ID) + "?tab=signing", err
		},
		Reload: h.reloadPartner(k, &p),
		Show: func(r web.Rejected) error {
			f.Rejected = r
			return h.showSigning(k, r.Status, p, f)
		},
	})
}
