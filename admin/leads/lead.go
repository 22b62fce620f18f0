package leads

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/leads"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) leadPage(k *web.Request) error {
	lead, err := k.PathID("id", id.Lead)
	if err != nil {
		return err
	}
	l, err := h.Leads.Get(k.R.Context(), k.Scope, lead)
	if err != nil {
		return web.OrNotFound(err)
	}
	returns, err := h.Payouts.ReturnsOf(k.R.Context(), k.Scope, lead)
	if err != nil {
		return err
	}
	v := h.leadView(k, l, returns)
	if v.Quote, err = h.leadQuote(k, l, v.Price); err != nil {
		return err
	}
	if err := h.addDuration(k, l, &v); err != nil {
		return err
	}
	if err := h.addReveals(k, l, &v); err != nil {
		return err
	}
	if err := h.addExports(k, l, &v); err != nil {
		return err
	}
	if err := h.addHolds(k, l, &v); err != nil {
		return err
	}
	if err := h.addErasure(k, l, &v); err != nil {
		return err
	}
	if v.ShowPrice {
		if err := h.addPayout(k, l, returns, &v); err != nil {
			return err
		}
	}
	if k.MayAt(web.ReadPayouts, l.PartnerID) {
		if err = h.leadMoney(k, l, returns, &v); err != nil {
			return err
		}
	}
	return k.Show(http.StatusOK, view.Details(v))
}

func (h *Handlers) leadView(k *web.Request, l leads.Details, returns []models.Return) view.DetailsView {
	currency, _ := money.ParseCurrency(l.Currency) // the database contains only valid currencies
	in := func(states ...models.ReturnState) bool {
		return slices.ContainsFunc(returns, func(r models.Return) bool { return slices.Contains(states, r.State) })
	}
	erased, noKey := l.State == models.LeadErased, "missing"
	if erased {
		noKey = "erased"
	}
	v := view.DetailsView{
		Shell:         k.Shell("Lead: "+l.Industry+", "+l.Country, allLeads),
		ID:            id.Format(id.Lead, l.ID),
		TransactionID: k.Erasable(l.TransactionID),
		States:        leads.Row{State: l.State, Sandbox: l.Sandbox, Returned: in(models.ReturnAccepted)}.States(),
		ShowPrice:     mayReadPrice(k, l.PartnerID),
		Price:         money.Amount{Minor: l.PriceMinor, Currency: currency},
		Received:      l.ReceivedAt,
		Partner:       k.PartnerLink(l.PartnerID, l.PartnerName),
		Account:       l.Identifier,
		Reference:     k.Erasable(l.PartnerReference),
		SubID:         k.Erasable(l.SubID),
		Timeline:      h.leadTimeline(k, l),
		Consent:       consentView(k, l, erased),
		Contact: view.Contact{
			Erased:       erased,
			KeyMissing:   l.KeyWrapper == "" && !erased,
			ByEmail:      l.ByEmail,
			ByPhone:      l.ByPhone,
			PhoneFlagged: l.PhoneFlagged,
			Country:      l.Country,
			Postcode:     k.Erasable(l.Postcode),
		},
		Envelope: view.Envelope{
			Wrapper: cmp.Or(l.KeyWrapper, noKey), Version: cmp.Or(l.KeyVersion, noKey), Sizes: l.Envelope,
		},
	}
	inTime := !k.Now.After(l.ReceivedAt.Add(h.Payouts.Policy().ReturnWindow))
	if inTime && !l.Sandbox && !erased && !in(models.ReturnOpen, models.ReturnAccepted) &&
		k.MayAt(web.WritePayouts, l.PartnerID) {
		v.ReturnURL = "/payouts/returns/new?lead=" + v.ID
	}
	if k.MayAt(web.ExportEvidence, l.PartnerID) {
		v.EvidenceURL = "/leads/" + v.ID + "/evidence"
	}
	return v
}

func mayReadPrice(k *web.Request, partner uuid.UUID) bool {
	return k.May(web.ReadPricing) || k.MayAt(web.ReadPayouts, partner)
}

// leadTimeline returns the events in a lead's history, oldest first.
func (h *Handlers) leadTimeline(k *web.Request, l leads.Details) []view.Step {
	quoted, signed := "Through the shared base URL", "Not signed"
	if l.QuotedFor != "" {
		quoted = "By " + l.QuotedFor
	}
	if l.HMACVerified {
		signed = fmt.Sprintf("Signed with secret “%s” (%s…%s)", l.Secret.Label, l.Secret.Prefix, l.Secret.LastFour)
	}
	card := h.cardLink(k, l.CardVersion)
	card.Label = "Rate card " + strings.ToLower(card.Label)
	steps := []view.Step{
		{At: l.QuotedAt, Event: "pinged", What: "Pinged", Detail: quoted},
		{At: l.QuotedAt, Event: "priced", What: "Priced", More: card},
		{At: l.ReceivedAt, Event: "posted", What: "Posted", Detail: signed},
	}
	for _, e := range l.Events {
		step, detail := view.Step{
			At:    e.At,
			Event: string(e.Kind),
			What:  ui.Sentence(string(e.Kind)),
		}, web.Fields(&e.Detail)
		switch e.Kind {
		case models.EventDelivered:
			step.What, step.Request = "Delivered", web.FieldText(detail, "request_id")
		case models.EventReturned:
			step.Reason = web.FieldText(detail, "reason")
			step.Detail = ui.Sentence(payouts.ReturnReasonLabel(models.ReturnReason(step.Reason)))
			if k.MayAt(web.ReadPayouts, l.PartnerID) {
				step.More = returnLink(web.FieldText(detail, "return"))
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// addDuration adds how long the post took to the lead's timeline. It is known only while the post is in the request
// log.
func (h *Handlers) addDuration(k *web.Request, l leads.Details, v *view.DetailsView) error {
	delivered := slices.IndexFunc(l.Events, func(e models.LeadEvent) bool { return e.Kind == models.EventDelivered })
	if delivered < 0 {
		return nil
	}
	request, err := id.Parse(id.Request, web.FieldText(web.Fields(&l.Events[delivered].Detail), "request_id"))
	if err != nil {
		return nil //nolint:nilerr // the event contains no request
	}
	took, found, err := h.Reporting.PostDuration(k.R.Context(), request)
	if err != nil || !found {
		return err
	}
	step := slices.IndexFunc(v.Timeline, func(s view.Step) bool { return s.Event == string(models.EventDelivered) })
	v.Timeline[step].Detail = "Took " + ui.DurationText(took)
	return nil
}

// addReveals adds past reveals of the contact record to the lead's timeline. If the user may reveal
// fields of the record, addReveals also adds a link to the reveal form.
func (h *Handlers) addReveals(k *web.Request, l leads.Details, v *view.DetailsView) error {
	all, err := h.Reveals.RevealsOf(k.R.Context(), k.Scope, l.ID)
	if err != nil {
		return err
	}
	for _, r := range all {
		step := view.Step{
			At: r.At, Event: "revealed", What: "Revealed: " + reveal.Fields.Label(r.Field), Reason: string(r.Reason),
			Detail: "By " + r.Actor + ", " + reveal.Reasons.Label(r.Reason),
		}
		if r.Note != "" && (k.MayAt(web.RevealLeads, l.PartnerID) || k.MayAt(web.VerifyAudit, l.PartnerID)) {
			step.Detail += ". " + k.Erasable(r.Note)
		}
		v.Timeline = append(v.Timeline, step)
	}
	if !k.MayAt(web.RevealLeads, l.PartnerID) {
		v.Contact.RevealRoles = k.RoleNamesGranting(web.RevealLeads)
	} else if l.State != models.LeadErased && h.Reveals.CanDecrypt(l.KeyWrapper, l.KeyVersion) {
		v.Contact.RevealURL = web.LeadURL(l.ID) + "/reveal?field="
	}
	return nil
}

var exportLabels = map[reveal.ExportKind]string{
	reveal.RequestExport:   "Data exported for a privacy request",
	reveal.RequestDownload: "Exported data downloaded",
	reveal.EvidencePack:    "Evidence pack downloaded",
}

// addExports adds the exports that contained the lead to its timeline.
func (h *Handlers) addExports(k *web.Request, l leads.Details, v *view.DetailsView) error {
	all, err := h.Reveals.ExportsOf(k.R.Context(), k.Scope, l.ID)
	if err != nil {
		return err
	}
	for _, e := range all {
		step := view.Step{At: e.At, Event: string(e.Kind), What: exportLabels[e.Kind], Detail: "By " + e.Actor}
		if e.Request != "" && k.May(web.ReadRequests) {
			step.More = ui.Link{Label: e.Request, URL: "/privacy/requests/" + e.Request}
		}
		v.Timeline = append(v.Timeline, step)
	}
	slices.SortStableFunc(v.Timeline, func(a, b view.Step) int { return a.At.Compare(b.At) })
	return nil
}

func returnLink(name string) ui.Link {
	return ui.Link{Label: name, URL: "/payouts/returns/" + name}
}

func (h *Handlers) cardLink(k *web.Request, version int) ui.Link {
	link := ui.Link{Label: web.VersionName(version)}
	if k.May(web.ReadPricing) {
		link.URL = web.VersionURL(version)
	}
	return link
}

func consentView(k *web.Request, l leads.Details, erased bool) view.Consent {
	c := l.Consent
	v := view.Consent{
		Acknowledged: c.Acknowledged,
		Received:     c.ReceivedAt,
		Disclosure:   k.Erasable(sent(c.DisclosureText)),
		Recipient:    k.Erasable(sent(c.RecipientHash)),
		Certificate:  k.Erasable(sent(c.FormCertURL)),
		ThirdParty:   k.Erasable(sent(c.ThirdPartyLeadID)),
		Missing:      "not sent",

		DisclosureReplaced: web.TimeOf(l.Disclosure.ReplacedAt),
	}
	if l.Disclosure.ID != uuid.Nil && k.MayAt(web.ReadDisclosures, l.Disclosure.PartnerID) {
		v.DisclosureURL = web.DisclosureURL(l.Disclosure.ID)
	}
	if erased {
		v.Missing = "erased"
	}
	v.At, v.AtText = web.TimeOf(c.AcknowledgedAt), sent(c.AcknowledgedText)
	v.AtDoubt, _ = payload.DoubtfulConsentTime(v.AtText != "", c.AcknowledgedAt, l.QuotedAt)
	return v
}

func sent(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
