package partners

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

// overlaps are the expiry times that users can choose when they rotate a secret or set its expiry.
var overlaps = []struct {
	name, label string
	length      time.Duration
}{
	{"now", "Now", 0},
	{"1h", "In 1 hour", time.Hour},
	{"24h", "In 24 hours", 24 * time.Hour},
	{"3d", "In 3 days", 72 * time.Hour},
	{"7d", "In 7 days", 168 * time.Hour},
}

func (h *Handlers) overlapOptions(k *web.Request, value string) (all []ui.Option) {
	for _, o := range overlaps {
		hint := "At " + ui.Minute(k.Now.Add(o.length)) + "."
		if o.length == 0 {
			hint = "Takes effect within a second."
		}
		all = append(all, ui.Option{Value: o.name, Label: o.label, Hint: hint, Selected: o.name == value})
	}
	return all
}

func overlapOf(name string) (time.Duration, bool) {
	for _, o := range overlaps {
		if o.name == name {
			return o.length, true
		}
	}
	return 0, false
}

var errOverlapChoice = ui.FieldError{Field: "overlap", Message: "Choose one of the listed times."}

func (h *Handlers) secretsTab(k *web.Request, p models.Partner) error {
	head, err := h.head(k, p, "secrets")
	if err != nil {
		return err
	}
	v := view.PartnerSecretsView{Head: head}
	if head.CanWrite {
		v.CheckURL = head.URL + "/check"
	}
	secrets, err := h.Partners.Secrets(k.R.Context(), k.Scope, p)
	if err != nil {
		return err
	}
	revokers, err := h.Partners.Revokers(k.R.Context(), k.Scope, p.ID)
	if err != nil {
		return err
	}
	used, err := h.Reporting.LastUsed(k.R.Context(), k.Scope, p.ID)
	if err != nil {
		return err
	}
	day := reporting.LastSteps(k.Now, time.Hour, 24)
	traffic, err := h.Reporting.Secrets(k.R.Context(), k.Scope, p.ID, day)
	if err != nil {
		return err
	}
	posts := map[uuid.UUID]int64{}
	for _, use := range traffic {
		posts[use.Secret] += use.Posts
	}
	may := k.MayAt(web.WriteSecrets, p.ID)
	active := 0
	for _, s := range secrets {
		row := h.secretRow(k, head.URL, s, may)
		row.LastUsed, row.Posts, row.RevokedBy = used[s.ID], posts[s.ID], revokers[row.ID]
		v.Expiring = v.Expiring || row.State == partners.StateExpiring
		if partners.Valid(s, k.Now) {
			active++
		}
		v.Secrets = append(v.Secrets, row)
	}
	// If the partner needs a secret, the list of open tasks above reports that it has none.
	v.NoneValid = len(secrets) > 0 && active == 0 && !needsSecret(p)
	if may {
		v.NewURL = head.URL + "/secrets/new"
		if active > 0 {
			v.RotateURL = head.URL + "/secrets/rotate"
		}
	}
	if v.Expiring {
		v.Overlap = overlapView(secrets, traffic, day)
	}
	return k.Show(http.StatusOK, view.PartnerSecrets(v))
}

func (h *Handlers) secretRow(k *web.Request, partner string, s models.SigningSecret, may bool) view.SecretRow {
	row := view.SecretRow{
		Label:     s.Label,
		ID:        id.Format(id.Secret, s.ID),
		Shown:     shownSecret(s),
		State:     partners.StateOf(s, k.Now),
		CreatedBy: s.CreatedBy,
		Created:   s.CreatedAt,
	}
	row.Ends = web.TimeOf(s.ExpiresAt)
	switch row.State {
	case partners.StateRevoked:
		row.StateWords, row.Ends = row.State, web.TimeOf(s.RevokedAt)
	case partners.StateExpiring:
		row.StateWords = "expires " + ui.Ago(row.Ends, k.Now)
	case partners.StateExpired:
		row.StateWords = "expired"
	default:
		row.StateWords = row.State
	}
	if may && partners.Valid(s, k.Now) {
		row.ExpireURL, row.RevokeURL = partner+"/secrets/"+row.ID+"/expire", partner+"/secrets/"+row.ID+"/revoke"
	}
	return row
}

// shownSecret returns the part of a secret that can be shown, such as "pp_…MVne".
func shownSecret(s models.SigningSecret) string { return s.Prefix + "…" + s.LastFour }

// overlapView returns a chart of posts, with one line for the older secrets and one for the newest.
func overlapView(
	secrets []models.SigningSecret, traffic []reporting.SecretTraffic, day reporting.Range,
) *view.OverlapView {
	v := &view.OverlapView{Chart: ui.Chart{
		ID:      "overlap",
		Title:   "Posts by secret",
		Summary: "Accepted signed posts per hour in the last 24 hours.",
		Steps:   "Hour (UTC)",
	}}
	for at := day.From; at.Before(day.Until); at = at.Add(day.Step) {
		v.Chart.Labels = append(v.Chart.Labels, at.Format("15:04"))
	}
	steps := len(v.Chart.Labels)
	newest := ui.Series{Name: secrets[0].Label + " (…" + secrets[0].LastFour + ")", Values: make([]int64, steps)}
	older := ui.Series{Name: "Older secrets", Values: make([]int64, steps)}
	for _, use := range traffic {
		if use.Step >= steps {
			continue
		}
		if use.Secret == secrets[0].ID {
			newest.Values[use.Step] += use.Posts
		} else {
			older.Values[use.Step] += use.Posts
		}
	}
	v.Chart.Series = []ui.Series{newest, older}
	recent := func(s ui.Series) (n int64) {
		for _, value := range s.Values[max(0, steps-2):] {
			n += value
		}
		return n
	}
	switch old, all := recent(older), recent(older)+recent(newest); {
	case all == 0:
		v.Words = "No signed posts were accepted in the current or previous hour."
	case old == 0:
		v.Words = "All signed posts that were accepted in the current or previous hour were signed with the newest secret. " +
			"The older secrets are no longer used."
	default:
		v.Words = ui.Number(old) + " of " + ui.Plural(all, "accepted signed post", "accepted signed posts") +
			" in the current and previous hour were signed with an older secret."
	}
	return v
}

func (h *Handlers) secretOf(k *web.Request, p models.Partner) (models.SigningSecret, error) {
	s, err := h.Partners.FindSecret(k.R.Context(), k.Scope, p, k.R.PathValue("secret"))
	return s, web.OrNotFound(err)
}

func (h *Handlers) partnerAndSecret(k *web.Request) (p models.Partner, s models.SigningSecret, err error) {
	if p, err = h.partner(k); err == nil {
		s, err = h.secretOf(k, p)
	}
	return p, s, err
}
