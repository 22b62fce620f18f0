package partners

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) rejectionsTab(k *web.Request, p models.Partner) error {
	head, err := h.head(k, p, "rejections")
	if err != nil {
		return err
	}
	q := k.R.URL.Query()
	v := view.PartnerRejectionsView{
		Head:     head,
		Request:  web.Short(q.Get("request")),
		Outcomes: web.SelectOption(web.RejectionOptions(slices.Sorted(maps.Keys(web.RejectionReasons))), q.Get("outcome")),
		State:    ui.ListState{Filtered: web.IsFiltered(q, "request", "outcome"), ClearURL: head.URL + "?tab=rejections"},
		Kept:     ui.Number(int64(h.RejectionsPerPartner)),
	}
	if head.CanWrite {
		v.CheckURL = head.URL + "/check"
	}
	f := reporting.RejectionFilter{Partner: p.ID, Outcome: web.SearchText(q, "outcome")}
	if text := strings.TrimSpace(q.Get("request")); text != "" {
		if f.Request, err = id.Parse(id.Request, text); err != nil {
			f.Request = uuid.Max // matches nothing
		}
	}
	found, err := h.Reporting.Rejections(k.R.Context(), k.Scope, f, web.KeyPage(q))
	if err != nil {
		return err
	}
	for _, r := range found.Rejections {
		row := view.RejectionRow{
			At:        r.At,
			Endpoint:  ui.Sentence(r.Endpoint),
			Outcome:   web.ReasonLabel(r.Outcome),
			Fix:       web.RejectionReasons[r.Outcome].Fix,
			Fields:    r.Fields,
			RequestID: id.Format(id.Request, r.RequestID),
		}
		if r.Outcome == "signature" {
			row.CheckURL = v.CheckURL
		}
		v.Rejections = append(v.Rejections, row)
	}
	if n := len(found.Rejections); n > 0 {
		v.Pager = web.KeyPager(head.URL, q, found.Newer, found.Older, found.Rejections[0].ID, found.Rejections[n-1].ID)
	}
	return k.Show(http.StatusOK, view.PartnerRejections(v))
}
