package notes

import (
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/privacy"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/notes"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) list(k *web.Request) error {
	q := k.R.URL.Query()
	all, newer, older, err := h.Privacy.Notes(k.R.Context(), k.Scope, web.KeyPage(q))
	if err != nil {
		return err
	}
	v := view.ListView{Shell: k.Shell(allNotes.Label), Tabs: k.PrivacyTabs(), Rows: rows(k, all)}
	if n := len(all); n > 0 {
		v.Pager = web.KeyPager(allNotes.URL, q, newer, older, all[0].ID, all[n-1].ID)
	}
	return k.Show(http.StatusOK, view.List(v))
}

// mostFound is the maximum number of notes that a search lists.
const mostFound = 200

// find searches the notes. The text is in the form, because it can be a consumer's name, which must not appear in
// URLs and logs.
func (h *Handlers) find(k *web.Request) error {
	text := web.SearchText(k.R.PostForm, "text")
	if text == "" {
		return k.Redirect(allNotes.URL)
	}
	all, more, err := h.Privacy.By(k.By).FindNotes(k.R.Context(), k.Scope, text, mostFound)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.List(view.ListView{
		Shell: k.Shell(allNotes.Label), Tabs: k.PrivacyTabs(), Rows: rows(k, all), Text: web.Short(text), More: more,
	}))
}

func rows(k *web.Request, all []privacy.Note) (shown []view.Row) {
	for _, n := range all {
		row := view.Row{
			At: n.OccurredAt, Kind: string(n.Kind), Reference: n.Reference, Note: noteText(k, n), By: n.CreatedBy,
			Partner: web.PartnerLink(k, n.PartnerID, n.PartnerName), Redacted: web.TimeOf(n.RedactedAt), RedactedBy: n.RedactedBy,
		}
		if n.LeadID != nil {
			row.Lead.Label = id.Format(id.Lead, *n.LeadID)
			if k.MayAt(web.ReadLeads, n.PartnerID) {
				row.Lead.URL = web.LeadURL(*n.LeadID)
			}
		}
		if n.RedactedAt == nil && k.MayAt(web.RedactNotes, n.PartnerID) {
			row.RedactURL = redactURL(n)
		}
		shown = append(shown, row)
	}
	return shown
}

func noteText(k *web.Request, n privacy.Note) string {
	return web.EntryNote(k, payouts.Entry{LedgerEntry: models.LedgerEntry{Kind: n.Kind, Note: n.Note}})
}

func redactURL(n privacy.Note) string {
	return allNotes.URL + "/" + strconv.FormatInt(n.ID, 10) + "/redact"
}

// note returns the note of the ledger entry in the path.
func (h *Handlers) note(k *web.Request) (n privacy.Note, err error) {
	entry, err := strconv.ParseInt(k.R.PathValue("id"), 10, 64)
	if err != nil || entry < 1 {
		return n, web.ErrNotFound
	}
	n, err = h.Privacy.Note(k.R.Context(), k.Scope, entry)
	return n, web.OrNotFound(err)
}

func (h *Handlers) redactPage(k *web.Request) error {
	n, err := h.note(k)
	if err != nil {
		return err
	}
	return h.showRedact(k, http.StatusOK, n, web.Rejected{StepUp: web.StepUp(k)})
}

func (h *Handlers) redact(k *web.Request) error {
	n, err := h.note(k)
	if err != nil {
		return err
	}
	return web.Submit(k, web.Form{
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			return allNotes.URL, h.Privacy.By(k.By).RedactNote(k.R.Context(), k.Scope, n.ID)
		},
		Show: func(r web.Rejected) error { return h.showRedact(k, r.Status, n, r) },
	})
}

func (h *Handlers) showRedact(k *web.Request, status int, n privacy.Note, r web.Rejected) error {
	return k.Show(status, ui.Confirm(ui.ConfirmView{
		Shell:       k.Shell("Redact note", allNotes),
		Prefix:      "redact",
		Action:      redactURL(n),
		Consequence: "The note “" + noteText(k, n) + "” is replaced with “[redacted]” and cannot be recovered. The ledger entry and its amount do not change.",
		Warning:     "Backups and files that were downloaded earlier still contain the note.",
		StepUp:      r.StepUp,
		Submit:      "Redact note",
		Cancel:      allNotes.URL,
		Errors:      r.Errors,
	}))
}
