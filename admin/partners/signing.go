package partners

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
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
	mode   string
	shared bool
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

// forecast counts the posts that were accepted in the last 24 hours and would have been rejected if signatures had been
// required.
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

// modeConfirmation returns the page that confirms a change of the effective signing mode to off or required. It returns
// nil if no confirmation is necessary. The parameter f counts the posts of the last 24 hours.
func modeConfirmation(k *web.Request, was, is models.SigningMode, f view.ForecastRow) *ui.ConfirmView {
	v := &ui.ConfirmView{
		Submit: "Change signing mode",
		Facts: []ui.Fact{
			{Name: "Signing mode", Value: plainMode(was) + " → " + plainMode(is)},
			{
				Name: "Accepted posts (24 h)",
				Value: fmt.Sprintf("%s (%s signed, %s unsigned)",
					ui.Number(f.Posts), ui.Number(f.Posts-f.Unsigned), ui.Number(f.Unsigned)),
			},
		},
		Hidden: []ui.Hidden{{Name: "confirmed", Value: string(is)}},
	}
	switch {
	case was == is:
		return nil
	case is == models.SigningOff:
		v.Consequence = "Unsigned posts will be accepted, without a check that they come from the partner. Anyone who " +
			"knows the partnerId can then send leads that you pay for. Signed posts will still be checked. " +
			"This takes effect within a second."
	case is == models.SigningRequired:
		v.Harmless = true
		v.Consequence = "Unsigned posts will be rejected. This takes effect within a second."
		if f.Unsigned > 0 {
			v.Warning = "In the last 24 hours, " + ui.Number(f.Unsigned) + " of " +
				ui.Plural(f.Posts, "accepted post", "accepted posts") + " would have been rejected."
		}
	default:
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(k.R.PostForm)) {
		if name != "confirmed" && name != "proof" {
			v.Hidden = append(v.Hidden, ui.Hidden{Name: name, Value: web.Short(k.R.PostForm.Get(name))})
		}
	}
	return v
}

// withConfirmation returns a form that shows a page before it makes its change, and again if the step-up on the page
// fails. It returns the form unchanged if there is no page.
func withConfirmation(k *web.Request, form web.Form, page *ui.ConfirmView) web.Form {
	if page == nil {
		return form
	}
	confirmed := k.R.PostForm.Get("confirmed") == page.Hidden[0].Value
	do, show := form.Do, form.Show
	form.Do = func() (string, error) {
		if confirmed {
			return do()
		}
		return "", k.Show(http.StatusOK, ui.Confirm(*page))
	}
	form.Show = func(r web.Rejected) error {
		if !confirmed || r.Err != nil {
			return show(r)
		}
		page.StepUp, page.Errors = r.StepUp, r.Errors
		return k.Show(r.Status, ui.Confirm(*page))
	}
	return form
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
	was := partners.EffectiveMode(models.SigningInherit, p.SigningMode, h.DefaultSigning)
	is := partners.EffectiveMode(models.SigningInherit, models.SigningMode(f.mode), h.DefaultSigning)
	page := modeConfirmation(k, was, is, view.ForecastRow{Posts: forecast.Posts, Unsigned: forecast.Unsigned})
	url := web.PartnerURL(p.ID)
	if page != nil {
		page.Shell = k.Shell("Change the signing mode to “"+plainMode(is)+"”", allPartners,
			ui.Link{Label: p.Name, URL: url})
		page.Action, page.Cancel = url+"/signing", url+"?tab=signing"
	}
	unchanged := p.SigningMode == models.SigningMode(f.mode) && p.SharedBaseURL == f.shared
	return web.Submit(k, withConfirmation(k, web.Form{
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			err := h.partners(k).SetSigning(k.R.Context(), k.Scope, p.ID, web.FormRowVersion(k),
				models.SigningMode(f.mode), f.shared)
			if unchanged {
				return web.Unchanged(url + "?tab=signing"), err
			}
			return url + "?tab=signing", err
		},
		Reload: h.reloadPartner(k, &p),
		Show: func(r web.Rejected) error {
			f.Rejected = r
			return h.showSigning(k, r.Status, p, f)
		},
	}, page))
}
