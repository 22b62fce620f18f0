package partners

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
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
		StepUp:   k.StepUp(),
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
		partners.MaxSharedBaseURL, ui.Plural(used, "partner uses", "partners use"))
	if used >= partners.MaxSharedBaseURL && !p.SharedBaseURL {
		v.SharedLocked = "No more partners can use this option. Turn it off for another partner first."
	}
	if v.Accounts, err = h.accountRows(k, p, head.CanWrite); err != nil {
		return err
	}
	if v.Forecast, err = h.forecast(k, p); err != nil {
		return err
	}
	accounts, err := h.Partners.Accounts(k.R.Context(), p)
	if err != nil {
		return err
	}
	v.Required = progress{accounts: accounts}.requiresSigning(p, h.DefaultSigning)
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
	for _, account := range found {
		f.Posts += account.Posts
		f.Unsigned += account.Unsigned
		f.Accounts = append(f.Accounts, view.ForecastRow{
			Identifier:   names[account.Account],
			Posts:        account.Posts,
			Unsigned:     account.Unsigned,
			LastUnsigned: account.Last,
		})
	}
	return f, nil
}

// modeChange is a change to the effective signing mode of an account, or of all accounts that inherit their partner's
// mode.
type modeChange struct {
	was, is  models.SigningMode
	recent   view.ForecastRow // posts of these accounts that were accepted in the last 24 hours
	inactive string           // why all leads are rejected, such as "the partner is pending"; "" if they are not
	sandbox  bool             // the account's leads earn nothing
	ownModes bool             // all accounts have their own mode
	facts    []ui.Fact        // all values that change, and what else the user has to know
}

// consequence returns what happens to unsigned posts. It returns "" if no confirmation is necessary.
func (c modeChange) consequence() string {
	unchecked := " Nothing checks that they come from the partner: anyone who knows the partnerId can send leads"
	if !c.sandbox {
		unchecked += " that you pay for"
	}
	unchecked += ". Signed posts will still be checked."
	switch {
	case c.was == c.is:
		return ""
	case c.is == models.SigningRequired:
		return "Unsigned posts will be rejected."
	case c.was == models.SigningRequired && c.is == models.SigningReportOnly:
		return "Unsigned posts will be accepted, and marked as posts that would be rejected if signatures were required." +
			unchecked
	case c.was == models.SigningRequired && c.is == models.SigningOff:
		return "Unsigned posts will be accepted." + unchecked
	case c.is == models.SigningOff:
		return "Unsigned posts are accepted already. They will no longer be marked as posts that would be rejected if " +
			"signatures were required."
	}
	return ""
}

// page returns the page that confirms the change.
func (c modeChange) page() ui.ConfirmView {
	v := ui.ConfirmView{
		Submit:      "Save changes",
		Consequence: c.consequence() + " This takes effect within a second.",
		Harmless:    c.is == models.SigningRequired,
	}
	switch {
	case c.inactive != "":
		v.Warning = "While " + c.inactive + ", its leads are rejected."
	case c.ownModes:
		v.Warning = "All accounts have their own mode, so this applies only to accounts that are created later."
	case v.Harmless && c.recent.Unsigned > 0:
		v.Warning = "In the last 24 hours, " + ui.Number(c.recent.Unsigned) + " of " +
			ui.Plural(c.recent.Posts, "accepted post", "accepted posts") + " would have been rejected."
	}
	v.Facts = append(c.facts, ui.Fact{
		Name: "Accepted posts (24 h)",
		Value: fmt.Sprintf("%s (%s signed, %s unsigned)", ui.Number(c.recent.Posts),
			ui.Number(c.recent.Posts-c.recent.Unsigned), ui.Number(c.recent.Unsigned)),
	})
	return v
}

// inactive returns why all leads of a partner are rejected, or "".
func inactive(p models.Partner) string {
	if p.Status == models.PartnerApproved {
		return ""
	}
	return "the partner is " + string(p.Status)
}

// confirmMode returns a form that shows a confirmation page before it makes its change, and shows the page again if the
// step-up on it fails. If no confirmation is necessary, confirmMode returns the form unchanged. The parameter crumbs
// contains the links to the parent pages.
func confirmMode(k *web.Request, form web.Form, c modeChange, action, cancel string, crumbs ...ui.Link) web.Form {
	if c.consequence() == "" {
		return form
	}
	page := c.page()
	page.Shell = k.Shell("Change the signing mode to “"+plainMode(c.is)+"”", slices.Insert(crumbs, 0, allPartners)...)
	page.Action, page.Cancel = action, cancel
	page.Hidden = []ui.Hidden{{Name: "confirmed", Value: string(c.is)}}
	for _, name := range slices.Sorted(maps.Keys(k.R.PostForm)) {
		if name != "confirmed" && name != "proof" {
			page.Hidden = append(page.Hidden, ui.Hidden{Name: name, Value: web.Short(k.R.PostForm.Get(name))})
		}
	}
	confirmed := k.R.PostForm.Get("confirmed") == string(c.is)
	do, show := form.Do, form.Show
	form.Do = func() (string, error) {
		if confirmed {
			return do()
		}
		return "", k.Show(http.StatusOK, ui.Confirm(page))
	}
	form.Show = func(r web.Rejected) error {
		if !confirmed || r.Err != nil {
			return show(r)
		}
		page.StepUp, page.Errors = r.StepUp, r.Errors
		return k.Show(r.Status, ui.Confirm(page))
	}
	return form
}

// changed returns a fact with the old and the new value, or nothing if they are equal.
func changed(name, old, is string) []ui.Fact {
	if old == is {
		return nil
	}
	return []ui.Fact{{Name: name, Value: old + " → " + is}}
}

// partnerModeChange describes a change to a partner's signing mode. Accounts with a mode of their own keep it.
func (h *Handlers) partnerModeChange(k *web.Request, p models.Partner, mode models.SigningMode) (modeChange, error) {
	c := modeChange{
		was: partners.EffectiveMode(models.SigningInherit, p.SigningMode, h.DefaultSigning),
		is:  partners.EffectiveMode(models.SigningInherit, mode, h.DefaultSigning),

		facts:    changed("Signing mode", h.modeLabel(k, p.SigningMode), h.modeLabel(k, mode)),
		inactive: inactive(p),
	}
	forecast, err := h.forecast(k, p)
	if err != nil {
		return c, err
	}
	accounts, err := h.Partners.Accounts(k.R.Context(), p)
	if err != nil {
		return c, err
	}
	var unchanged []string
	for _, a := range accounts {
		if a.SigningMode != models.SigningInherit {
			unchanged = append(unchanged, a.Identifier+" ("+plainMode(a.SigningMode)+")")
			continue
		}
		recent := forecast.Of(a.Identifier)
		c.recent.Posts, c.recent.Unsigned = c.recent.Posts+recent.Posts, c.recent.Unsigned+recent.Unsigned
	}
	c.ownModes = len(unchanged) > 0 && len(unchanged) == len(accounts)
	if len(unchanged) > 0 {
		c.facts = append(c.facts,
			ui.Fact{Name: "Accounts that keep their own mode", Value: strings.Join(unchanged, ", ")})
	}
	return c, nil
}

func (h *Handlers) setSigning(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	form := k.R.PostForm
	f := signingForm{mode: form.Get("signing"), shared: form.Get("shared_base_url") == "yes"}
	change, err := h.partnerModeChange(k, p, models.SigningMode(f.mode))
	if err != nil {
		return err
	}
	change.facts = append(change.facts, changed("Shared base URL", onOff(p.SharedBaseURL), onOff(f.shared))...)
	url := web.PartnerURL(p.ID)
	return k.Submit(confirmMode(k, web.Form{
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			// Nothing changes, for example because the form was submitted twice.
			if p.SigningMode == models.SigningMode(f.mode) && p.SharedBaseURL == f.shared {
				return web.Unchanged(url + "?tab=signing"), nil
			}
			return url + "?tab=signing", h.partners(k).SetSigning(k.R.Context(), k.Scope, p.ID, k.FormRowVersion(),
				models.SigningMode(f.mode), f.shared)
		},
		Reload: h.reloadPartner(k, &p),
		Show: func(r web.Rejected) error {
			f.Rejected = r
			return h.showSigning(k, r.Status, p, f)
		},
	}, change, url+"/signing", url+"?tab=signing", ui.Link{Label: p.Name, URL: url}))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// acceptsUnsigned reports whether a signing mode accepts unsigned posts. It returns false for modes
// that inherit another mode.
func acceptsUnsigned(m models.SigningMode) bool {
	return m == models.SigningOff || m == models.SigningReportOnly
}
