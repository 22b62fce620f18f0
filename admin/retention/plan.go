package retention

import (
	"net/http"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/retention"
	"github.com/pingpost/pingpost/templates/ui"
)

// countFor limits how long a page counts leads.
const countFor = 3 * time.Second

func (h *Handlers) plan(k *web.Request) error {
	p, err := h.Retention.Plan(k.R.Context(), countFor)
	if err != nil {
		return err
	}
	v := view.PlanView{
		Shell:   k.Shell("Retention"),
		Tabs:    k.PrivacyTabs(),
		Waiting: !p.Applied(),
		Contact: periods(p, models.RetainContact, false),
		Consent: periods(p, models.RetainConsent, false),
		Other: []view.OtherPeriod{
			{Data: "Sandbox leads", Days: h.Days.Sandbox, Setting: "retention.sandbox_days"},
			{Data: "Ledger exports", Days: h.Days.Exports, Setting: "retention.exports_days"},
			{Data: "Closed privacy requests", Days: h.Days.Requests, Setting: "retention.requests_days"},
		},
	}
	if v.Waiting && k.May(web.ApplyRetention) {
		v.ApplyURL = "/privacy/retention/apply"
	}
	if run := p.Last; run != nil {
		v.Last = &view.Run{
			Started: run.StartedAt, Ended: web.TimeOf(run.EndedAt), Contact: total(run, models.RetainContact),
			Consent: total(run, models.RetainConsent),
		}
	}
	return k.Show(http.StatusOK, view.Plan(v))
}

// periods returns the periods of a category. If waiting is true, it returns only those that are not in
// effect.
func periods(p retention.Plan, c models.RetentionCategory, waiting bool) (all []view.Period) {
	for _, period := range p.Periods {
		if period.Category != c || waiting && period.Days == period.Configured {
			continue
		}
		v := view.Period{
			Country: period.Country, Configured: period.Configured, Effective: period.Days,
			AcceptedBy: period.AcceptedBy, AcceptedAt: period.AcceptedAt,
			Oldest: period.Due.Oldest, NoOldest: "none", Due: dueText(period.Due),
		}
		if !period.Due.Complete {
			v.NoOldest = "not found within 3 seconds"
		}
		all = append(all, v)
	}
	return all
}

func dueText(v leads.Survey) string {
	text := ui.Plural(v.Leads, "lead", "leads")
	if !v.Complete {
		text = "more than " + text
	}
	return text
}

func total(run *models.RetentionRun, c models.RetentionCategory) (sum int64) {
	for _, n := range run.Erased[c] {
		sum += n
	}
	return sum
}
