package admin

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

var allPricing = templates.Link{Label: "Pricing", URL: "/pricing"}

// pricingRoutes are the pages and forms about the rate card.
func (c *Console) pricingRoutes() []route {
	const get, post, one = http.MethodGet, http.MethodPost, "/pricing/drafts/{id}"
	read := func(method, path string, handle func(*call) error) route {
		return route{method: method, path: path, needs: readPricing, handle: handle}
	}
	write := func(method, path string, handle func(*call) error) route {
		return route{method: method, path: path, needs: writePricing, handle: handle}
	}
	publish := func(method, path string, handle func(*call) error) route {
		return route{method: method, path: path, needs: publishPricing, handle: handle}
	}
	return []route{
		read(get, "/pricing", (*call).pricingPage),
		read(get, "/pricing/explain", (*call).explainPage),
		read(get, "/pricing/versions", (*call).versionsPage),
		read(get, "/pricing/versions/{n}", (*call).versionPage),
		read(get, "/pricing/versions/{n}/export", (*call).versionExport),
		read(get, "/pricing/compare", (*call).comparePage),

		write(get, "/pricing/drafts/new", (*call).draftNewPage),
		{method: post, path: "/pricing/drafts/new", needs: writePricing, creates: "/pricing/drafts/{object}", form: "/pricing/drafts/new?from={from}", handle: (*call).draftNew},
		read(get, one, (*call).draftPage),
		read(get, one+"/export", (*call).draftExport),
		write(get, one+"/title", (*call).draftTitlePage),
		{method: post, path: one + "/title", needs: writePricing, form: one + "/title", handle: (*call).draftTitle},
		write(get, one+"/discard", (*call).discardPage),
		write(post, one+"/discard", (*call).discard),
		write(post, one+"/cell", (*call).draftCell),
		write(post, one+"/cells", (*call).draftCells),
		write(post, one+"/undo", (*call).draftUndo),
		write(get, one+"/rules/new", (*call).ruleNewPage),
		{method: post, path: one + "/rules/new", needs: writePricing, creates: one + "?tab=rules", form: one + "/rules/new", handle: (*call).ruleNew},
		write(get, one+"/rules/{position}", (*call).rulePage),
		{method: post, path: one + "/rules/{position}", needs: writePricing, form: one + "/rules/{position}", handle: (*call).changeRule},
		write(post, one+"/rules/{position}/remove", (*call).removeRule),
		write(get, one+"/import", (*call).importPage),
		{method: post, path: one + "/import", needs: writePricing, limit: maxUpload, handle: (*call).importFile},
		write(post, one+"/update", (*call).updateDraft),
		write(post, one+"/replay", (*call).startReplay),
		read(get, one+"/replay/live", (*call).replayLive),
		{method: post, path: one + "/publish", needs: publishPricing, form: one + "?tab=publish", handle: (*call).publishDraft},
		publish(post, one+"/approve", (*call).approveDraft),
		publish(post, one+"/take-back", (*call).takeBack),
	}
}

// prices is the service on behalf of the person who asks.
func (k *call) prices() *ratecard.Service { return k.Prices.By(k.by) }

func draftURL(card uuid.UUID) string { return "/pricing/drafts/" + ratecard.ID(card) }

func versionURL(n int) string { return fmt.Sprint("/pricing/versions/", n) }

// draft is the one that the address names.
func (k *call) draft() (ratecard.Draft, error) {
	d, err := k.Prices.Draft(k.r.Context(), k.r.PathValue("id"))
	return d, orNoPage(err)
}

// draftForm reads a form about the draft that the address names.
func (k *call) draftForm() (ratecard.Draft, error) {
	if err := k.form(); err != nil {
		return ratecard.Draft{}, err
	}
	return k.draft()
}

// orNoPage makes a page that is not there of a thing that is not.
func orNoPage(err error) error {
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		return errNoPage
	}
	return err
}

// draftTab is one of the pages of a draft, by its name in the address.
type draftTab struct {
	name, label string
	show        func(*call, ratecard.Draft) error
}

func (c *Console) draftTabs() []draftTab {
	return []draftTab{
		{"grid", "Grid", (*call).gridTab},
		{"rules", "Rules", (*call).rulesTab},
		{"preview", "Preview", (*call).previewTab},
		{"replay", "Replay", (*call).replayTab},
		{"publish", "Publish", (*call).publishTab},
		{"edits", "Edits", (*call).editsTab},
	}
}

func (k *call) draftPage() error {
	d, err := k.draft()
	if err != nil {
		return err
	}
	for _, tab := range k.draftTabs() {
		if tab.name == k.r.URL.Query().Get("tab") {
			return tab.show(k, d)
		}
	}
	return k.gridTab(d)
}

// draftHead is what stands over each page of a draft.
func (k *call) draftHead(d ratecard.Draft, tab string) (templates.DraftHead, error) {
	live, err := k.Prices.InForce(k.r.Context())
	if err != nil {
		return templates.DraftHead{}, err
	}
	open := d.State == models.RateCardDraft
	v := templates.DraftHead{
		Shell: k.shell(draftName(d.RateCard), allPricing), URL: draftURL(d.ID), ID: ratecard.ID(d.ID), Title: d.Title, State: string(d.State),
		Author: d.Author, Created: d.CreatedAt, Updated: d.UpdatedAt, UpdatedBy: d.UpdatedBy, Edits: int64(d.Edits), Version: int64(d.RowVersion),
		EffectiveAt: timeOf(d.EffectiveAt),
		Locked:      k.lockedWords(d), CanWrite: open && k.may(writePricing), CanPublish: k.may(publishPricing),
	}
	if d.BasedOn > 0 { // the first version is based on none
		v.BasedOn = templates.Link{Label: versionName(d.BasedOn), URL: versionURL(d.BasedOn)}
	}
	if d.Version > 0 {
		v.Published = templates.Link{Label: versionName(d.Version), URL: versionURL(d.Version)}
	}
	if open && live.Version != d.BasedOn {
		v.Newer = templates.Link{Label: versionName(live.Version), URL: compareURL(d.BasedOn, live.Version)}
	}
	for _, t := range k.draftTabs() {
		v.Tabs = append(v.Tabs, templates.Tab{Label: t.label, URL: v.URL + "?tab=" + t.name, Current: t.name == tab})
	}
	return v, nil
}

// draftName is what a page calls a draft.
func draftName(card models.RateCard) string {
	if card.Title != "" {
		return card.Title
	}
	return "Draft of " + card.CreatedAt.UTC().Format("2 January 15:04")
}

func versionName(n int) string { return fmt.Sprint("Version ", n) }

// sheets are the rules of a draft and of the version in force.
func (k *call) sheets(d ratecard.Draft) (draft, live *ratecard.Sheet, err error) {
	card, err := k.Prices.InForce(k.r.Context())
	if err != nil {
		return nil, nil, err
	}
	if live, err = k.Prices.Sheet(k.r.Context(), card); err != nil {
		return nil, nil, err
	}
	draft, err = k.Prices.Sheet(k.r.Context(), d.RateCard)
	return draft, live, err
}

func (k *call) marketOptions() (all []templates.Option) {
	for i := range k.Prices.Markets().Len() {
		m := k.Prices.Markets().At(i)
		all = append(all, templates.Option{Value: m.Code, Label: fmt.Sprintf("%s, %s (%s)", m.Name, m.Code, m.Currency)})
	}
	return all
}

func (k *call) categoryOptions() (all []templates.Option) {
	for _, c := range k.Prices.Taxonomy().Categories() {
		all = append(all, templates.Option{Value: c.Slug, Label: c.Name})
	}
	return all
}

func urgencyOptions() (all []templates.Option) {
	for class := range ratecard.Classes() {
		all = append(all, templates.Option{Value: class, Label: strings.ToUpper(class[:1]) + class[1:]})
	}
	return all
}

// timeOf is a moment that may not be.
func timeOf(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}
