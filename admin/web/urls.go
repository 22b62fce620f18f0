package web

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// Escape escapes a value for use in a query string.
func Escape(value string) string { return url.QueryEscape(value) }

func LeadURL(lead uuid.UUID) string { return "/leads/" + id.Format(id.Lead, lead) }

func QuoteURL(transaction string) string { return "/leads/quotes/" + transaction }

func RequestURL(request uuid.UUID) string {
	return "/privacy/requests/" + id.Format(id.PrivacyRequest, request)
}

// NewErasureURL returns the address of the form that creates a request to erase a lead.
func NewErasureURL(lead uuid.UUID) string {
	return "/privacy/requests/new?kind=erasure&leads=" + id.Format(id.Lead, lead)
}

func DisclosureURL(disclosure uuid.UUID) string {
	return privacyArea + "/disclosures/" + id.Format(id.Disclosure, disclosure)
}

// PartnerLink returns a partner's name, with a link to the partner's page if the user may see that page.
// The platform account has no page.
func (k *Request) PartnerLink(partner uuid.UUID, name string) ui.Link {
	if partner == models.PlatformIDs.Partner || !k.MayAt(ReadPartners, partner) {
		return ui.Link{Label: name}
	}
	return ui.Link{Label: name, URL: PartnerURL(partner)}
}

// Next returns the page to show after signing in.
func (k *Request) Next() string { return Local(k.R.FormValue("next")) }

// LoggedRequestsURL returns the address of the logged requests of all partners, with the given filters.
func LoggedRequestsURL(filters url.Values) string { return "/partners/requests?" + filters.Encode() }

func PartnerURL(partner uuid.UUID) string { return "/partners/" + id.Format(id.Partner, partner) }

func RunURL(r uuid.UUID) string { return "/payouts/runs/" + payouts.RunID(r) }

func ExportURL(e uuid.UUID) string { return "/payouts/exports/" + id.Format(id.Export, e) }

func StatementURL(run, partner uuid.UUID) string {
	return RunURL(run) + "/statements/" + id.Format(id.Partner, partner)
}

// RunLink returns the link from a ledger entry to its payout run. For a user who cannot see the run,
// RunLink links to the partner's statement in that run. That link has no URL while the run is being
// prepared.
func (k *Request) RunLink(e payouts.Entry) ui.Link {
	link := ui.Link{Label: payouts.RunID(e.Run)}
	switch {
	case k.MayForAllPartners(ReadPayouts):
		link.URL = RunURL(e.Run)
	case e.RunState != models.RunPreparing && k.MayAt(ReadPayouts, e.PartnerID):
		link.URL = StatementURL(e.Run, e.PartnerID)
	}
	return link
}

// EntryNote returns the note of a ledger entry. For a return, it starts with the return reason.
func (k *Request) EntryNote(e payouts.Entry) string {
	e.Note = k.Erasable(e.Note)
	if e.Kind == models.EntryReturn {
		return ui.Sentence(e.NoteText())
	}
	return e.Note
}

func DraftURL(card uuid.UUID) string { return "/pricing/drafts/" + ratecard.ID(card) }

func VersionURL(n int) string { return fmt.Sprint("/pricing/versions/", n) }

// DraftName returns the title of a draft, or "Draft of" and its creation time if it has no title.
func DraftName(card models.RateCard) string {
	if card.Title != "" {
		return card.Title
	}
	return "Draft of " + card.CreatedAt.UTC().Format("2 January 15:04")
}

func VersionName(n int) string { return fmt.Sprint("Version ", n) }

// Local returns the given path if it is a path of this console, and "/" otherwise. It prevents open
// redirects after signing in.
func Local(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}

// HoldURL returns the URL of the form that releases a legal hold.
func HoldURL(h models.LegalHold) string {
	return LeadURL(h.LeadID) + "/release?hold=" + id.Format(id.Hold, h.ID)
}

func StaffURL(person uuid.UUID) string { return "/staff/" + id.Format(id.Staff, person) }

// PathID parses the id in a path parameter. It returns ErrNotFound if the parameter is not an id of
// the given kind.
func (k *Request) PathID(name string, kind id.Kind) (uuid.UUID, error) {
	object, err := id.Parse(kind, k.R.PathValue(name))
	if err != nil {
		return object, ErrNotFound
	}
	return object, nil
}
