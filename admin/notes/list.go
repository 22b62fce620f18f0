package notes

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/notes"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/notes"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) list(k *web.Request) error {
	q := k.R.URL.Query()
	all, newer, older, err := h.Notes.Notes(k.R.Context(), k.Scope, web.TextPage(q))
	if err != nil {
		return err
	}
	pager := web.Pager(allNotes.URL, q, all, newer, older, func(n notes.Note) string { return n.ID })
	return k.Show(http.StatusOK, view.List(view.ListView{
		Shell: k.Shell(allNotes.Label), Tabs: k.PrivacyTabs(), Rows: rows(k, all), Pager: pager,
	}))
}

// mostFound is the maximum number of notes that a search lists.
const mostFound = 200

// find searches the notes. The text is submitted in the form, because it can be a consumer's name, which must not
// appear in URLs or logs.
func (h *Handlers) find(k *web.Request) error {
	text := web.SearchText(k.R.PostForm, "text")
	if text == "" {
		return k.Redirect(allNotes.URL)
	}
	all, more, err := h.Notes.By(k.By).Find(k.R.Context(), k.Scope, text, mostFound)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.List(view.ListView{
		Shell: k.Shell(allNotes.Label), Tabs: k.PrivacyTabs(), Rows: rows(k, all), Text: web.Short(text), More: more,
	}))
}

func rows(k *web.Request, all []notes.Note) (shown []view.Row) {
	for _, n := range all {
		row := view.Row{
			At: n.At, Kind: kindLabels[n.Kind], Reference: reference(n), Note: noteText(k, n), By: n.CreatedBy,
			Partner: k.PartnerLink(n.PartnerID, n.PartnerName), Redacted: web.TimeOf(n.RedactedAt), RedactedBy: n.RedactedBy,
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

var kindLabels = map[notes.Kind]string{
	notes.ReturnNote:            "return",
	notes.AdjustmentNote:        "adjustment",
	notes.EvidenceNote:          "return request",
	notes.AdjustmentRequestNote: "adjustment request",
	notes.FindingNote:           "finding",
}

// reference returns the ID of the object that the note is about.
func reference(n notes.Note) string {
	switch n.Kind {
	case notes.EvidenceNote:
		return id.Format(id.Return, n.Object)
	case notes.AdjustmentRequestNote:
		return payouts.AdjustmentID(n.Object)
	case notes.FindingNote:
		return reconcile.ID(n.Object)
	case notes.ReturnNote, notes.AdjustmentNote:
	}
	return n.Reference
}

func noteText(k *web.Request, n notes.Note) string {
	if n.Kind == notes.ReturnNote { // it starts with the code of the reason
		return k.EntryNote(payouts.Entry{LedgerEntry: models.LedgerEntry{Kind: models.EntryReturn, Note: n.Note}})
	}
	return k.Erasable(n.Note)
}

func redactURL(n notes.Note) string { return allNotes.URL + "/" + n.ID + "/redact" }

// note returns the note with the ID in the path.
func (h *Handlers) note(k *web.Request) (notes.Note, error) {
	n, err := h.Notes.Note(k.R.Context(), k.Scope, k.R.PathValue("id"))
	return n, web.OrNotFound(err)
}

func (h *Handlers) redactPage(k *web.Request) error {
	n, err := h.note(k)
	if err != nil {
		return err
	}
	return h.showRedact(k, http.StatusOK, n, web.Rejected{StepUp: k.StepUp()})
}

func (h *Handlers) redact(k *web.Request) error {
	n, err := h.note(k)
	if err != nil {
		return err
	}
	return k.Submit(web.Form{
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			return allNotes.URL, h.Notes.By(k.By).Redact(k.R.Context(), k.Scope, n.ID)
		},
		Show: func(r web.Rejected) error { return h.showRedact(k, r.Status, n, r) },
	})
}

func (h *Handlers) showRedact(k *web.Request, status int, n notes.Note, r web.Rejected) error {
	return k.Show(status, ui.Confirm(ui.ConfirmView{
		Shell:       k.Shell("Redact note", allNotes),
		Prefix:      "redact",
		Action:      redactURL(n),
		Consequence: "The note “" + noteText(k, n) + "” is replaced with “[redacted]” and cannot be recovered. Nothing else about the " + kindLabels[n.Kind] + " changes.",
		Warning:     "Backups and files that were downloaded earlier still contain the note.",
		StepUp:      r.StepUp,
		Submit:      "Redact note",
		Cancel:      allNotes.URL,
		Errors:      r.Errors,
	}))
}
