package admin

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

const (
	versionsPerPage = 50
	versionChanges  = 50 // of a version that its page shows at once
	versionEvents   = 20
)

var allVersions = templates.Link{Label: "History", URL: "/pricing/versions"}

func (k *call) versionsPage() error {
	before, _ := strconv.ParseInt(k.r.URL.Query().Get("before"), 10, 32) // what is no number is the first page
	list, more, err := k.Prices.Versions(k.r.Context(), int(before), versionsPerPage)
	if err != nil {
		return err
	}
	v := templates.VersionsView{Shell: k.shell("History of the prices", allPricing)}
	for _, card := range list {
		row := templates.VersionRow{
			Version: k.versionLink(card), State: string(card.State), Since: timeOf(card.EffectiveAt), Author: card.Author,
			Submitter: card.Submitter, Approver: card.Approver, Note: card.Note,
		}
		if card.BasedOn > 0 {
			row.CompareURL = compareURL(card.BasedOn, card.Version)
		}
		v.Versions = append(v.Versions, row)
	}
	if len(list) > 1 {
		v.A, v.B = strconv.Itoa(list[1].Version), strconv.Itoa(list[0].Version)
	}
	if before > 0 {
		v.Pager.Newer = "/pricing/versions"
	}
	if more {
		v.Pager.Older = fmt.Sprint("/pricing/versions?before=", list[len(list)-1].Version)
	}
	return k.show(http.StatusOK, templates.Versions(v))
}

// pricedVersion is the version that the address names.
func (k *call) pricedVersion() (models.RateCard, error) {
	n, err := strconv.ParseInt(k.r.PathValue("n"), 10, 32)
	if err != nil || n < 1 {
		return models.RateCard{}, errNoPage
	}
	card, err := k.Prices.Version(k.r.Context(), int(n))
	return card, orNoPage(err)
}

func (k *call) versionPage() error {
	card, err := k.pricedVersion()
	if err != nil {
		return err
	}
	v := templates.VersionView{
		Shell: k.shell(versionName(card.Version), allPricing, allVersions), URL: versionURL(card.Version), ID: ratecard.ID(card.ID), State: string(card.State),
		Since: timeOf(card.EffectiveAt), Author: card.Author, Submitter: card.Submitter, Approver: card.Approver, Title: card.Title, Note: card.Note,
		Explain: fmt.Sprint("/pricing/explain?version=", card.Version),
	}
	if card.BasedOn > 0 {
		v.EditsURL = draftURL(card.ID) + "?tab=edits"
	}
	if k.may(writePricing) {
		v.BeginURL = fmt.Sprint("/pricing/drafts/new?from=", card.Version)
	}
	if err := k.versionChanges(card, &v); err != nil {
		return err
	}
	if err := k.versionTrail(&v); err != nil {
		return err
	}
	return k.show(http.StatusOK, templates.Version(v))
}

// versionChanges sets a version beside the one before it, where there is one.
func (k *call) versionChanges(card models.RateCard, v *templates.VersionView) error {
	earlier, _, err := k.Prices.Versions(k.r.Context(), card.Version, 1)
	if err != nil || len(earlier) == 0 {
		return err
	}
	old, err := k.Prices.Sheet(k.r.Context(), earlier[0])
	if err != nil {
		return err
	}
	now, err := k.Prices.Sheet(k.r.Context(), card)
	if err != nil {
		return err
	}
	changes := comparison(old, now)
	v.Before, v.CompareURL = k.versionLink(earlier[0]), compareURL(earlier[0].Version, card.Version)
	v.Changes = templates.CompareTable{
		Caption: "What it changed, the largest change first", OldHead: v.Before.Label, NewHead: versionName(card.Version), Percent: outlierPercent,
		Counts: compareCounts(changes), Outliers: countOutliers(changes), Rows: k.compareRows(changes[:min(len(changes), versionChanges)]),
	}
	v.More = max(0, len(changes)-versionChanges)
	return nil
}

// versionTrail is the version's part of the audit trail, for whoever may read all of that.
func (k *call) versionTrail(v *templates.VersionView) error {
	sc, ok := k.access.Scope(k.session.Staff.ID, readAudit)
	if !ok || !sc.All() {
		return nil
	}
	found, err := k.Audit.List(k.r.Context(), sc, audit.Filter{Kind: "rate_card", Object: v.ID}, audit.Page{Size: versionEvents})
	if err != nil {
		return err
	}
	v.Events, v.AuditURL = k.auditRows(found.Events), "/audit?kind=rate_card&object="+v.ID
	return nil
}
