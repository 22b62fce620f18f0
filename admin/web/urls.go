package web

import (
	"fmt"
	"net/url"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
)

// privacyArea is the start of the URLs of all pages in the area Privacy.
const privacyArea = "/privacy"

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

func PartnerURL(partner uuid.UUID) string { return "/partners/" + id.Format(id.Partner, partner) }

// LoggedRequestsURL returns the address of the logged requests of all partners, with the given filters.
func LoggedRequestsURL(filters url.Values) string { return "/partners/requests?" + filters.Encode() }

func RunURL(r uuid.UUID) string { return "/payouts/runs/" + payouts.RunID(r) }

func ExportURL(e uuid.UUID) string { return "/payouts/exports/" + id.Format(id.Export, e) }

func StatementURL(run, partner uuid.UUID) string {
	return RunURL(run) + "/statements/" + id.Format(id.Partner, partner)
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

// HoldURL returns the URL of the form that releases a legal hold.
func HoldURL(h models.LegalHold) string {
	return LeadURL(h.LeadID) + "/release?hold=" + id.Format(id.Hold, h.ID)
}

func StaffURL(person uuid.UUID) string { return "/staff/" + id.Format(id.Staff, person) }
