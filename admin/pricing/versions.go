package pricing

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

const (
	versionsPerPage = 50
	versionChanges  = 50 // maximum number on a version's page
	versionEvents   = 20 // maximum number on a version's page
)

var allVersions = ui.Link{Label: "Version history", URL: "/pricing/versions"}

// newerVersions returns the parameter before of the next newer page. It returns "" if that page contains the newest
// versions.
func (h *Handlers) newerVersions(k *web.Request, before, size int) (string, error) {
	live, err := h.Prices.Current(k.R.Context())
	if err != nil || before+size > live.Version {
		return "", web.OrNotFound(err)
	}
	return strconv.Itoa(before + size), nil
}

func (h *Handlers) versionsPage(k *web.Request) error {
	before, _ := strconv.ParseInt(k.R.URL.Query().Get("before"), 10, 32) // an invalid number selects the first page
	list, more, err := h.Prices.Versions(k.R.Context(), int(before), versionsPerPage)
	if err != nil {
		return err
	}
	v := view.VersionsView{Shell: k.Shell("Version history", allPricing)}
	for _, card := range list {
		row := view.VersionRow{
			Version:   h.versionLink(k, card),
			State:     string(card.State),
			Since:     web.TimeOf(card.EffectiveAt),
			Author:    card.Author,
			Publisher: card.Publisher(),
			Approver:  card.Approver,
			Note:      card.Note,
		}
		if card.BasedOn > 0 {
			row.CompareURL = compareURL(card.BasedOn, card.Version)
		}
		if card.State == models.RateCardSuperseded && k.May(web.PublishPricing) {
			row.RollBackURL = rollBackURL(card.Version)
		}
		v.Versions = append(v.Versions, row)
	}
	if len(list) > 1 {
		v.A, v.B = strconv.Itoa(list[1].Version), strconv.Itoa(list[0].Version)
	}
	if before > 0 {
		newer, err := h.newerVersions(k, int(before), versionsPerPage)
		if err != nil {
			return err
		}
		v.Pager.Newer = "/pricing/versions?before=" + newer
	}
	if more {
		v.Pager.Older = fmt.Sprint("/pricing/versions?before=", list[len(list)-1].Version)
	}
	return k.Show(http.StatusOK, view.Versions(v))
}
