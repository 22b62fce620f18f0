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

func (h *Handlers) setSigning(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	form := k.R.PostForm
	f := signingForm{mode: form.Get("signing"), shared: form.Get("shared_base_url") == "yes"}
	return web.Submit(k, web.Form{
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
