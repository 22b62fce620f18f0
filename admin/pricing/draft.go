package pricing

import (
	"fmt"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) draft(k *web.Request) (ratecard.Draft, error) {
	d, err := h.Prices.Draft(k.R.Context(), k.R.PathValue("id"))
	return d, web.OrNotFound(err)
}

// draftTab is a tab of a draft. Its name identifies it in the URL.
type draftTab struct {
	name, label string
	show        func(*web.Request, ratecard.Draft) error
}

func (h *Handlers) draftTabs() []draftTab {
	return []draftTab{
		{"grid", "Grid", h.gridTab},
		{"rules", "Rules", h.rulesTab},
		{"preview", "Preview", h.previewTab},
		{"replay", "Replay", h.replayTab},
		{"publish", "Publish", h.publishTab},
		{"edits", "Edits", h.editsTab},
	}
}

func (h *Handlers) draftPage(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	for _, tab := range h.draftTabs() {
		if tab.name == k.R.URL.Query().Get("tab") {
			return tab.show(k, d)
		}
	}
	return h.gridTab(k, d)
}

func (h *Handlers) draftHead(k *web.Request, d ratecard.Draft, tab string) (view.DraftHead, error) {
	live, err := h.Prices.Current(k.R.Context())
	if err != nil {
		return view.DraftHead{}, err
	}
	open := d.State == models.RateCardDraft
	v := view.DraftHead{
		Shell:       k.Shell(web.DraftName(d.RateCard), allPricing),
		URL:         web.DraftURL(d.ID),
		ID:          ratecard.ID(d.ID),
		Title:       d.Title,
		State:       string(d.State),
		Author:      d.Author,
		Created:     d.CreatedAt,
		Updated:     d.UpdatedAt,
		UpdatedBy:   d.UpdatedBy,
		Edits:       int64(d.Edits),
		Version:     d.RowVersion,
		EffectiveAt: web.TimeOf(d.EffectiveAt),
		Locked:      h.lockedText(k, d),
		CanWrite:    open && k.May(web.WritePricing),
		CanPublish:  k.May(web.PublishPricing),
	}
	if d.BasedOn > 0 { // the first version is not based on another
		v.BasedOn = ui.Link{Label: web.VersionName(d.BasedOn), URL: web.VersionURL(d.BasedOn)}
	}
	if d.CopiedFrom > 0 {
		v.CopiedFrom = ui.Link{Label: web.VersionName(d.CopiedFrom), URL: web.VersionURL(d.CopiedFrom)}
	}
	if d.Version > 0 {
		v.Published = ui.Link{Label: web.VersionName(d.Version), URL: web.VersionURL(d.Version)}
	}
	if open && live.Version != d.BasedOn {
		v.Newer = ui.Link{Label: web.VersionName(live.Version), URL: compareURL(d.BasedOn, live.Version)}
	}
	for _, t := range h.draftTabs() {
		v.Tabs = append(v.Tabs, ui.Tab{Label: t.label, URL: v.URL + "?tab=" + t.name, Current: t.name == tab})
		if t.name == tab {
			v.Shell.Tab = t.label
		}
	}
	return v, nil
}

// reloadDraft returns a function that reads a draft again after a conflicting change.
func (h *Handlers) reloadDraft(k *web.Request, d *ratecard.Draft) func() (int, *ui.Conflict, error) {
	return func() (version int, conflict *ui.Conflict, err error) {
		if *d, err = h.draft(k); err != nil {
			return 0, nil, err
		}
		conflict, err = k.Conflict("rate_card", ratecard.ID(d.ID), d.UpdatedAt)
		return d.RowVersion, conflict, err
	}
}

// editable returns the draft with the ID in the URL, for a page that edits its rules. If the draft can
// no longer be changed, editable redirects to the draft's page, which gives the reason.
func (h *Handlers) editable(k *web.Request) (d ratecard.Draft, err error) {
	if d, err = h.draft(k); err != nil {
		return d, err
	}
	if d.State == models.RateCardDraft {
		return d, nil
	}
	_ = k.Redirect(web.DraftURL(d.ID))
	return d, web.ErrResponseWritten
}

func (h *Handlers) draftShell(k *web.Request, d ratecard.Draft, title, tab string) ui.Shell {
	return k.Shell(title, allPricing, ui.Link{
		Label: web.DraftName(d.RateCard),
		URL:   fmt.Sprint(web.DraftURL(d.ID), "?tab=", tab),
	})
}
