package pricing

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) pricedVersion(k *web.Request) (models.RateCard, error) {
	n, err := strconv.ParseInt(k.R.PathValue("n"), 10, 32)
	if err != nil || n < 1 {
		return models.RateCard{}, web.ErrNotFound
	}
	card, err := h.Prices.Version(k.R.Context(), int(n))
	return card, web.OrNotFound(err)
}

func (h *Handlers) versionPage(k *web.Request) error {
	card, err := h.pricedVersion(k)
	if err != nil {
		return err
	}
	v := view.VersionView{
		Shell:     k.Shell(web.VersionName(card.Version), allPricing, allVersions),
		URL:       web.VersionURL(card.Version),
		ID:        ratecard.ID(card.ID),
		State:     string(card.State),
		Since:     web.TimeOf(card.EffectiveAt),
		Author:    card.Author,
		Publisher: card.Publisher(),
		Approver:  card.Approver,
		Title:     card.Title,
		Note:      card.Note,
		Explain:   fmt.Sprint("/pricing/explain?version=", card.Version),
	}
	if card.BasedOn > 0 {
		v.EditsURL = web.DraftURL(card.ID) + "?tab=edits"
	}
	if card.CopiedFrom > 0 {
		v.CopiedFrom = ui.Link{Label: web.VersionName(card.CopiedFrom), URL: web.VersionURL(card.CopiedFrom)}
	}
	if k.May(web.WritePricing) {
		v.BeginURL = fmt.Sprint("/pricing/drafts/new?from=", card.Version)
	}
	if err := h.versionChanges(k, card, &v); err != nil {
		return err
	}
	if k.May(web.PublishPricing) {
		switch {
		case card.State == models.RateCardSuperseded:
			v.RollBack = ui.Link{Label: "Roll back to this version", URL: rollBackURL(card.Version)}
		case v.Before.URL != "":
			v.RollBack = rollBackLink(card.Version - 1)
		}
	}
	if err := h.versionAudit(k, &v); err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.Version(v))
}

// versionChanges adds the price changes since the previous version to the page. For the first version,
// it adds nothing.
func (h *Handlers) versionChanges(k *web.Request, card models.RateCard, v *view.VersionView) error {
	earlier, _, err := h.Prices.Versions(k.R.Context(), card.Version, 1)
	if err != nil || len(earlier) == 0 {
		return err
	}
	old, err := h.Prices.ExamineCard(k.R.Context(), earlier[0])
	if err != nil {
		return err
	}
	now, err := h.Prices.ExamineCard(k.R.Context(), card)
	if err != nil {
		return err
	}
	changes := comparison(old, now)
	v.Before, v.CompareURL = h.versionLink(k, earlier[0]), compareURL(earlier[0].Version, card.Version)
	v.Changes, v.More = h.largestChanges(k, changes)
	v.Changes.OldHead, v.Changes.NewHead = v.Before.Label, web.VersionName(card.Version)
	return nil
}

// largestChanges returns a table of the largest changes, and the number of the others.
func (h *Handlers) largestChanges(k *web.Request, changes []pricingrules.Change) (t view.CompareTable, more int) {
	return view.CompareTable{
		Caption:  "Price changes, largest first",
		Percent:  outlierPercent,
		Counts:   compareCounts(changes),
		Outliers: countOutliers(changes),
		Rows:     h.compareRows(k, changes[:min(len(changes), versionChanges)]),
	}, max(0, len(changes)-versionChanges)
}

// versionAudit adds the version's audit events to the page if the user may read the whole audit log.
func (h *Handlers) versionAudit(k *web.Request, v *view.VersionView) error {
	sc, ok := k.ScopeOf(web.ReadAudit)
	if !ok || !sc.All() {
		return nil
	}
	found, err := h.Audit.List(k.R.Context(), sc, k.EventReader(), audit.Filter{Kind: "rate_card", Object: v.ID},
		audit.Page{Size: versionEvents})
	if err != nil {
		return err
	}
	v.AuditURL = "/audit?kind=rate_card&object=" + v.ID
	v.Events, err = k.AuditRows(found.Events)
	return err
}
