package admin

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

const leadsPage = 50

var allLeads = templates.Link{Label: "Leads", URL: "/leads"}

func leadURL(lead uuid.UUID) string { return "/leads/" + id.Format(id.Lead, lead) }

// leadRoutes are the pages about leads.
func (c *Console) leadRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/leads", needs: readLeads, handle: (*call).leadsList},
		{method: http.MethodPost, path: "/leads/find", needs: findLeads, handle: (*call).findLead},
		{method: http.MethodGet, path: "/leads/{id}", needs: readLeads, handle: (*call).leadPage},
	}
}

var leadStates = []templates.Option{
	{Value: leads.StateDelivered, Label: "Delivered"}, {Value: leads.StateReturned, Label: "Returned"}, {Value: leads.StateErased, Label: "Erased"}, {Value: leads.StateSandbox, Label: "Sandbox"},
}

func (k *call) leadsList() error {
	q := k.r.URL.Query()
	query, mistakes, err := k.leadQuery(q)
	if err != nil {
		return err
	}
	var found leads.Page
	if len(mistakes) == 0 { // of a partner that is none it would be everybody's
		if found, err = k.Leads.List(k.r.Context(), k.scope, query); err != nil {
			return err
		}
	}
	var industries []string
	for _, one := range k.Prices.Taxonomy().Industries() {
		industries = append(industries, one.Slug)
	}
	v := templates.LeadsView{
		Shell: k.shell("Leads"), Partner: short(q.Get("partner")), Account: short(q.Get("account")), Country: short(q.Get("country")), From: short(q.Get("from")), To: short(q.Get("to")),
		Industries: chosen(same(industries), q.Get("industry")), States: chosen(leadStates, q.Get("state")), Leads: k.leadRows(found.Rows),
		State:  templates.ListState{Filtered: filtered(q, "partner", "account", "industry", "country", "state", "from", "to"), ClearURL: "/leads"},
		Looked: found.Looked, Pager: pagerByCursor("/leads", q, leadCursor(found.Newer), leadCursor(found.Older)),
	}
	v.Shell.Notices = append(v.Shell.Notices, mistakes...)
	if k.may(findLeads) {
		form := k.findForm("", "", "", nil)
		v.Find = &form
	}
	return k.show(http.StatusOK, templates.Leads(v))
}

func leadCursor(at uuid.UUID) string {
	if at == uuid.Nil {
		return ""
	}
	return id.Format(id.Lead, at)
}

// leadQuery reads the filters; what names nothing is told.
func (k *call) leadQuery(q url.Values) (query leads.Query, mistakes []notice, err error) {
	query = leads.Query{Industry: typed(q, "industry"), Country: strings.ToUpper(typed(q, "country")), State: typed(q, "state"), Size: leadsPage}
	query.Before, _ = id.Parse(id.Lead, q.Get("before")) // what is no cursor is the first page
	query.After, _ = id.Parse(id.Lead, q.Get("after"))
	tell := func(text string) { mistakes = append(mistakes, notice{Kind: "warn", Text: text}) }
	query.From, query.To, mistakes = days(q)
	if ref := typed(q, "partner"); ref != "" {
		p, err := k.Partners.Find(k.r.Context(), k.scope, ref)
		switch f := apperr.As(err); {
		case f != nil && f.Code == apperr.NotFound:
			tell("There is no partner of this slug or id that you may see: write it as its page has it.")
		case err != nil:
			return query, nil, err
		}
		query.Partner = p.ID
	}
	if name := typed(q, "account"); name != "" {
		account, err := k.Leads.Account(k.r.Context(), k.scope, name)
		switch f := apperr.As(err); {
		case f != nil && f.Code == apperr.NotFound, err == nil && query.Partner != uuid.Nil && query.Partner != account.PartnerID:
			tell("There is no account of this partnerId that you may see: it is written exactly as a post has it.")
		case err != nil:
			return query, nil, err
		}
		query.Partner, query.Account = account.PartnerID, account.ID
	}
	return query, mistakes, nil
}

func (k *call) leadRows(found []leads.Row) (rows []templates.LeadRow) {
	for _, l := range found {
		rows = append(rows, templates.LeadRow{
			ID: id.Format(id.Lead, l.ID), URL: leadURL(l.ID), Received: l.ReceivedAt, Partner: k.partnerLink(l.PartnerID, l.PartnerName), Account: l.Identifier,
			Industry: l.Industry, Country: l.Country, Price: l.Price, States: stateWords(l.State == models.LeadErased, l.Sandbox, l.Returned),
		})
	}
	return rows
}

// partnerLink leads to a partner's page where this person may see it. The house has none.
func (k *call) partnerLink(partner uuid.UUID, name string) templates.Link {
	if partner == models.House.Partner || !k.mayAt(readPartners, partner) {
		return templates.Link{Label: name}
	}
	return templates.Link{Label: name, URL: partnerURL(partner)}
}

// stateWords say what became of a lead.
func stateWords(erased, sandbox, returned bool) (words []string) {
	if sandbox {
		words = append(words, leads.StateSandbox)
	}
	if returned {
		words = append(words, leads.StateReturned)
	}
	if erased {
		words = append(words, leads.StateErased)
	}
	if words == nil {
		words = append(words, leads.StateDelivered)
	}
	return words
}
