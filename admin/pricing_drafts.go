package admin

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

func (k *call) draftNewPage() error {
	return k.showDraftNew(http.StatusOK, k.r.URL.Query().Get("from"), templates.DraftFormView{})
}

// showDraftNew is the form that begins a draft from a version, "" for the one in force.
func (k *call) showDraftNew(status int, from string, v templates.DraftFormView) error {
	version, err := k.source(from)
	if err != nil {
		return err
	}
	v.Shell, v.Action, v.Cancel, v.Submit = k.shell("New draft", allPricing), "/pricing/drafts/new", "/pricing", "Begin the draft"
	v.From, v.FromName = from, versionName(version.Version)
	if from == "" {
		v.FromName += ", the one in force"
	}
	return k.show(status, templates.DraftForm(v))
}

// source is the version that a draft begins from.
func (k *call) source(from string) (models.RateCard, error) {
	if from == "" {
		card, err := k.Prices.InForce(k.r.Context())
		return card, orNoPage(err)
	}
	n, err := strconv.Atoi(from)
	if err != nil || n < 1 {
		return models.RateCard{}, errNoPage
	}
	card, err := k.Prices.Version(k.r.Context(), n)
	return card, orNoPage(err)
}

func (k *call) draftNew() error {
	if err := k.form(); err != nil {
		return err
	}
	f := k.r.PostForm
	from := 0
	if f.Get("from") != "" {
		source, err := k.source(f.Get("from"))
		if err != nil {
			return err
		}
		from = source.Version
	}
	made, err := k.prices().Begin(k.r.Context(), f.Get("title"), from)
	if err == nil {
		return k.to(draftURL(made.ID))
	}
	status, mistakes, err := k.mistakes(err)
	if err != nil {
		return err
	}
	return k.showDraftNew(status, f.Get("from"), templates.DraftFormView{Title: short(f.Get("title")), Errors: mistakes})
}

func (k *call) draftTitlePage() error {
	d, err := k.draft()
	if err != nil {
		return err
	}
	return k.showDraftTitle(http.StatusOK, d, templates.DraftFormView{Title: d.Title})
}

func (k *call) showDraftTitle(status int, d ratecard.Draft, v templates.DraftFormView) error {
	address := draftURL(d.ID)
	v.Shell, v.Action, v.Cancel, v.Submit = k.shell("Rename the draft", allPricing, templates.Link{Label: draftName(d.RateCard), URL: address}), address+"/title", address, "Rename"
	v.Version = int64(d.RowVersion)
	return k.show(status, templates.DraftForm(v))
}

func (k *call) draftTitle() error {
	d, err := k.draftForm()
	if err != nil {
		return err
	}
	title := k.r.PostForm.Get("title")
	err = k.prices().Rename(k.r.Context(), d.ID, k.version(), title)
	if err == nil {
		return k.to(draftURL(d.ID))
	}
	status, mistakes, other := k.mistakes(err)
	if other != nil {
		return other
	}
	v := templates.DraftFormView{Title: short(title), Errors: mistakes}
	if d, v.Conflict, err = k.metConflict(d, err); err != nil {
		return err
	}
	if v.Conflict != nil {
		v.Errors = nil
	}
	return k.showDraftTitle(status, d, v)
}

// metConflict is the draft as it is now, and where err says that a form was stale, what
// somebody else did to it meanwhile.
func (k *call) metConflict(d ratecard.Draft, err error) (ratecard.Draft, *templates.Conflict, error) {
	if !isStale(err) {
		return d, nil, nil
	}
	d, err = k.draft()
	if err != nil {
		return d, nil, err
	}
	theirs, err := k.conflict("rate_card", ratecard.ID(d.ID), d.UpdatedAt)
	return d, theirs, err
}

func (k *call) discardView(d ratecard.Draft, mistakes templates.Errors) templates.ConfirmView {
	address, lost := draftURL(d.ID), "Its "+countWords(int64(d.Edits), false, "edit", "edits")+" will not be published."
	if d.Edits == 0 {
		lost = "Nothing was changed in it."
	}
	if d.State != models.RateCardDraft {
		lost = "It is on its way to being published, and will not be. " + lost
	}
	return templates.ConfirmView{
		Shell:  k.shell("Discard "+draftName(d.RateCard), allPricing, templates.Link{Label: draftName(d.RateCard), URL: address}),
		Action: address + "/discard", Consequence: lost + " It cannot be taken up again; live prices stay as they are.",
		TypeName: "discard", Submit: "Discard", Cancel: address, Hidden: []templates.Hidden{{Name: "version", Value: strconv.Itoa(d.RowVersion)}},
		Name: short(k.r.PostForm.Get("name")), Errors: mistakes,
	}
}

func (k *call) discardPage() error {
	d, err := k.draft()
	if err != nil {
		return err
	}
	return k.show(http.StatusOK, templates.Confirm(k.discardView(d, nil)))
}

func (k *call) discard() error {
	d, err := k.draftForm()
	if err != nil {
		return err
	}
	if mistake := k.nameTyped("discard"); len(mistake) > 0 {
		return k.show(http.StatusUnprocessableEntity, templates.Confirm(k.discardView(d, mistake)))
	}
	if err = k.prices().Discard(k.r.Context(), d.ID, k.version()); err == nil {
		return k.to("/pricing")
	}
	status, mistakes, other := k.mistakes(err)
	if other != nil {
		return other
	}
	if isStale(err) {
		mistakes[0].Message += " " + lastTouch(d)
	}
	return k.show(status, templates.Confirm(k.discardView(d, mistakes)))
}

func (k *call) editsTab(d ratecard.Draft) error {
	head, err := k.draftHead(d, "edits")
	if err != nil {
		return err
	}
	q := k.r.URL.Query()
	found, newer, older, err := k.Prices.Edits(k.r.Context(), d.ID, postgres.Page(pageByKey(q)))
	if err != nil {
		return err
	}
	v := templates.DraftEditsView{Head: head}
	if n := len(found); n > 0 {
		v.Pager = pagerByKey(head.URL, q, newer, older, found[0].ID, found[n-1].ID)
	}
	for _, e := range found {
		v.Edits = append(v.Edits, templates.EditRow{At: e.At, Who: e.Editor, What: e.What, Rules: e.Rules, Undone: timeOf(e.UndoneAt), UndoneBy: e.UndoneBy})
	}
	return k.show(http.StatusOK, templates.DraftEdits(v))
}

// editable is the draft that the address names, for a page with a form about its rules.
// One that does not change any more has a page that says why.
func (k *call) editable() (d ratecard.Draft, err error) {
	if d, err = k.draft(); err != nil {
		return d, err
	}
	if d.State == models.RateCardDraft {
		return d, nil
	}
	_ = k.to(draftURL(d.ID))
	return d, errHandled
}

// under is what stands around a form's page of a draft.
func (k *call) under(d ratecard.Draft, title, tab string) templates.Shell {
	return k.shell(title, allPricing, templates.Link{Label: draftName(d.RateCard), URL: fmt.Sprint(draftURL(d.ID), "?tab=", tab)})
}
