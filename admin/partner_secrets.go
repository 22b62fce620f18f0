package admin

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// overlaps are how long older secrets may stay valid after a rotation, and how far
// off a secret's end may be put.
var overlaps = []struct {
	name, label string
	length      time.Duration
}{
	{"now", "Now", 0}, {"1h", "1 hour", time.Hour}, {"24h", "24 hours", 24 * time.Hour}, {"3d", "3 days", 72 * time.Hour}, {"7d", "7 days", 168 * time.Hour},
}

// overlapOptions name the exact end of each.
func (k *call) overlapOptions(value string) (all []templates.Option) {
	for _, o := range overlaps {
		hint := "Until " + minute(k.now.Add(o.length)) + "."
		if o.length == 0 {
			hint = "At once: posts signed with it are refused from now on."
		}
		all = append(all, templates.Option{Value: o.name, Label: o.label, Hint: hint, Chosen: o.name == value})
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

var errOverlapChoice = templates.FieldError{Field: "overlap", Message: "Choose one of the times that are listed."}

func minute(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") }

func (k *call) secretsTab(p models.Partner) error {
	head, err := k.head(p, "secrets")
	if err != nil {
		return err
	}
	v := templates.PartnerSecretsView{Head: head}
	if head.CanWrite {
		v.CheckURL = head.URL + "/check"
	}
	secrets, err := k.Partners.Secrets(k.r.Context(), p)
	if err != nil {
		return err
	}
	used, err := k.Reporting.LastUsed(k.r.Context(), k.scope, p.ID)
	if err != nil {
		return err
	}
	day := reporting.Last(k.now, time.Hour, 24)
	traffic, err := k.Reporting.Secrets(k.r.Context(), k.scope, p.ID, day)
	if err != nil {
		return err
	}
	posts := map[uuid.UUID]int64{}
	for _, one := range traffic {
		posts[one.Secret] += one.Posts
	}
	may := k.mayAt(writeSecrets, p.ID)
	active := 0
	for _, s := range secrets {
		row := k.secretRow(head.URL, s, may)
		row.LastUsed, row.Posts = used[s.ID], posts[s.ID]
		v.Retiring = v.Retiring || row.State == partners.StateRetiring
		if partners.Valid(s, k.now) {
			active++
		}
		v.Secrets = append(v.Secrets, row)
	}
	if may {
		v.NewURL = head.URL + "/secrets/new"
		if active > 0 {
			v.RotateURL = head.URL + "/secrets/rotate"
		}
	}
	if v.Retiring {
		v.Overlap = overlapView(secrets, traffic, day)
	}
	return k.show(http.StatusOK, templates.PartnerSecrets(v))
}

func (k *call) secretRow(partner string, s models.SigningSecret, may bool) templates.SecretRow {
	row := templates.SecretRow{
		Label: s.Label, ID: id.Format(id.Secret, s.ID), Shown: s.Prefix + "…" + s.LastFour, State: partners.StateOf(s, k.now), MadeBy: s.CreatedBy, Made: s.CreatedAt,
	}
	if s.RetiresAt != nil {
		row.Ends = *s.RetiresAt
	}
	row.StateWords = row.State
	if row.State == partners.StateRetiring {
		row.StateWords += " " + templates.Ago(row.Ends, k.now)
	}
	if may && partners.Valid(s, k.now) {
		row.RetireURL, row.RevokeURL = partner+"/secrets/"+row.ID+"/retire", partner+"/secrets/"+row.ID+"/revoke"
	}
	return row
}

// overlapView shows how the posts move from the older secrets to the newest.
func overlapView(secrets []models.SigningSecret, traffic []reporting.SecretTraffic, day reporting.Range) *templates.OverlapView {
	v := &templates.OverlapView{Chart: templates.Chart{ID: "overlap", Title: "Posts by secret", Summary: "The signed posts of the last 24 hours, hour by hour.", Steps: "Hour (UTC)"}}
	for at := day.From; at.Before(day.Until); at = at.Add(day.Step) {
		v.Chart.Labels = append(v.Chart.Labels, at.Format("15:04"))
	}
	steps := len(v.Chart.Labels)
	newest := templates.Series{Name: secrets[0].Label + " (…" + secrets[0].LastFour + ")", Values: make([]int64, steps)}
	older := templates.Series{Name: "Older secrets", Values: make([]int64, steps)}
	for _, one := range traffic {
		if one.Step >= steps {
			continue
		}
		if one.Secret == secrets[0].ID {
			newest.Values[one.Step] += one.Posts
		} else {
			older.Values[one.Step] += one.Posts
		}
	}
	v.Chart.Series = []templates.Series{newest, older}
	recent := func(s templates.Series) (n int64) {
		for _, value := range s.Values[max(0, steps-2):] {
			n += value
		}
		return n
	}
	switch old, all := recent(older), recent(older)+recent(newest); {
	case all == 0:
		v.Words = "No signed post in this hour or the last."
	case old == 0:
		v.Words = "All posts of this hour and the last were signed with the newest secret: the older ones can end."
	default:
		v.Words = templates.Number(old) + " of " + templates.Number(all) + " posts of this hour and the last were still signed with an older secret."
	}
	return v
}
