package leads_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/models"
)

// leadReader is a platform and a reader of its leads. Each lead has a name of one letter.
type leadReader struct {
	*testkit.Platform
	*leads.Reader
	names map[uuid.UUID]string
}

func newLeadReader(t *testing.T) *leadReader {
	t.Helper()
	p := platform(t)
	return &leadReader{p, leads.NewReader(p.DB.DB, p.Keys, p.Time), map[uuid.UUID]string{}}
}

// add delivers a lead one minute after the previous one.
func (o *leadReader) add(t *testing.T, name string, partner testkit.Partner, change func(*leads.Delivery)) uuid.UUID {
	t.Helper()
	o.Time.Advance(time.Minute)
	d := delivery(o.Platform, partner)
	if change != nil {
		change(d)
	}
	if _, isNew, err := o.Leads.Deliver(t.Context(), d); err != nil || !isNew {
		t.Fatal(isNew, err)
	}
	o.names[d.Lead.ID] = name
	return d.Lead.ID
}

// returned adds a return for a lead. The return is in the given state.
func (o *leadReader) returned(t *testing.T, lead uuid.UUID, state string) {
	t.Helper()
	o.DB.Exec(t, `INSERT INTO returns (id, lead_id, partner_id, account_id, amount_minor, currency, reason, evidence, state, requested_by, requested_at, decided_at)
		SELECT $2, id, partner_id, account_id, price_minor, currency, 'fraud', 'fabricated', $3::text, 'dmitri', now(), CASE WHEN $3 <> 'open' THEN now() END FROM leads WHERE id = $1`, lead, id.New(o.Time.Now()), state)
}

func (o *leadReader) erase(t *testing.T, lead uuid.UUID) {
	t.Helper()
	o.DB.Exec(t,
		`WITH gone AS (DELETE FROM lead_keys WHERE lead_id = $1) UPDATE leads SET state = 'erased', ciphertext = NULL, iv = NULL, auth_tag = NULL, email_digest = NULL, phone_digest = NULL WHERE id = $1`,
		lead)
}

// list returns a page and the names of its leads.
func (o *leadReader) list(t *testing.T, by *leads.Reader, sc scope.Scope, q leads.Query) (page leads.Page, names string) {
	t.Helper()
	if q.Size == 0 {
		q.Size = 100
	}
	page, err := by.List(t.Context(), sc, q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	for _, r := range page.Rows {
		names += o.names[r.ID]
	}
	return page, names
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	o.add(t, "a", o.Required, func(d *leads.Delivery) { d.Lead.PartnerReference, d.Lead.SubID = "click-1", "banner" })
	o.add(t, "b", o.Off, func(d *leads.Delivery) { d.Lead.SecretID, d.Lead.HMACVerified, d.Lead.Industry = nil, false, "roofer" })
	o.add(t, "c", o.Required, func(d *leads.Delivery) { d.Lead.AccountID, d.Lead.Sandbox = o.Required.Accounts[1].ID, true })
	o.returned(t, o.add(t, "d", o.Required, func(d *leads.Delivery) { d.Lead.Country = "DE" }), "accepted")
	began := o.Time.Now()
	o.erase(t, o.add(t, "e", o.Required, nil))
	o.returned(t, o.add(t, "f", o.ReportOnly, nil), "open")
	o.returned(t, o.add(t, "g", o.ReportOnly, func(d *leads.Delivery) { d.Lead.PartnerReference, d.Lead.SubID = "click-1", "mail" }), string(models.ReturnRejected))
	all, mine := scope.Everywhere, scope.Partners(o.Required.ID)
	for name, c := range map[string]struct {
		sc   scope.Scope
		q    leads.Query
		want string
	}{
		"all leads": {all, leads.Query{}, "gfedcba"},
		"a partner": {all, leads.Query{Partner: o.Required.ID}, "edca"},
		"an account": {all, leads.Query{
			Partner: o.Required.ID,
			Account: o.Required.Accounts[1].ID,
		}, "c"},
		"an account without a partner": {all, leads.Query{Account: o.Required.Accounts[1].ID}, "c"},
		"another partner's account":    {all, leads.Query{Partner: o.Off.ID, Account: o.Required.Accounts[1].ID}, ""},
		"an industry":                  {all, leads.Query{Industry: "roofer"}, "b"},
		"a country":                    {all, leads.Query{Country: "DE"}, "d"},
		"delivered":                    {all, leads.Query{State: "delivered"}, "gfba"},
		"returned":                     {all, leads.Query{State: "returned"}, "d"},
		"erased":                       {all, leads.Query{State: "erased"}, "e"},
		"sandbox":                      {all, leads.Query{State: "sandbox"}, "c"},
		"a reference":                  {all, leads.Query{PartnerReference: "click-1"}, "ga"},
		"part of a reference":          {all, leads.Query{PartnerReference: "click"}, ""},
		"a partner's reference":        {all, leads.Query{Partner: o.Required.ID, PartnerReference: "click-1"}, "a"},
		"a reference in a scope":       {mine, leads.Query{PartnerReference: "click-1"}, "a"},
		"a reference out of scope":     {mine, leads.Query{Partner: o.ReportOnly.ID, PartnerReference: "click-1"}, ""},
		"a subId":                      {all, leads.Query{SubID: "mail"}, "g"},
		"a subId and a reference":      {all, leads.Query{SubID: "mail", PartnerReference: "click-2"}, ""},
		"a subId and a state":          {all, leads.Query{SubID: "mail", State: "delivered"}, "g"},
		"a subId in a scope":           {mine, leads.Query{SubID: "mail"}, ""},
		"an unknown state":             {all, leads.Query{State: "lost"}, ""},
		"from a time":                  {all, leads.Query{From: began.Add(time.Second)}, "gfe"},
		"until a time":                 {all, leads.Query{To: began}, "cba"},
		"one millisecond":              {all, leads.Query{From: began, To: began.Add(time.Millisecond)}, "d"},
		"an empty period":              {all, leads.Query{From: began, To: began}, ""},
		"several filters": {all, leads.Query{
			Partner:  o.Required.ID,
			State:    "delivered",
			Industry: "plumber",
			Country:  "GB",
			From:     began.Add(-time.Hour),
		}, "a"},
		"scope of one partner":               {mine, leads.Query{}, "edca"},
		"scope of one partner, delivered":    {mine, leads.Query{State: "delivered"}, "a"},
		"scope of two partners":              {scope.Partners(o.Off.ID, o.ReportOnly.ID), leads.Query{}, "gfb"},
		"scope of two partners, an industry": {scope.Partners(o.Off.ID, o.ReportOnly.ID), leads.Query{Industry: "plumber"}, "gf"},
		"a partner out of scope":             {mine, leads.Query{Partner: o.Off.ID}, ""},
		"an account out of scope":            {mine, leads.Query{Account: o.Off.Accounts[0].ID}, ""},
		"empty scope":                        {scope.Scope{}, leads.Query{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if page, got := o.list(t, o.Reader, c.sc, c.q); got != c.want || !page.Newer.IsZero() ||
				!page.Older.IsZero() || !page.ScannedTo.IsZero() {
				t.Errorf("got %q, want %q; page %+v", got, c.want, page)
			}
		})
	}
	page, _ := o.list(t, o.Reader, all, leads.Query{State: "returned"})
	r := page.Rows[0]
	if r.PartnerName != "harbour-leads" || r.Identifier != "harbour-leads-main" ||
		r.Price != (money.Amount{Minor: 4560, Currency: money.GBP}) || !r.Returned || r.Sandbox ||
		r.State != "delivered" || !r.ReceivedAt.Equal(began) {
		t.Errorf("got row %+v", r)
	}
}

func TestListPagesInBothDirections(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	want := ""
	for i := range 23 {
		name := string(rune('a' + i))
		partner := []testkit.Partner{o.Required, o.ReportOnly}[i%2]
		o.add(t, name, partner, func(d *leads.Delivery) {
			if i%3 == 0 {
				d.Lead.Industry = "roofer"
			}
		})
		want = name + want
	}
	// Whatever the scan limit, the pages together contain each lead once, in both directions.
	for name, c := range map[string]struct {
		sc scope.Scope
		q  leads.Query
		of func(i int) bool
	}{
		"all":                 {scope.Everywhere, leads.Query{}, func(int) bool { return true }},
		"an industry":         {scope.Everywhere, leads.Query{Industry: "roofer"}, func(i int) bool { return i%3 == 0 }},
		"an unknown industry": {scope.Everywhere, leads.Query{Industry: "zebra"}, func(int) bool { return false }},
		"two partners": {scope.Partners(o.Required.ID, o.ReportOnly.ID), leads.Query{Industry: "roofer"}, func(i int) bool {
			return i%3 == 0
		}},
		"one of two partners": {scope.Partners(o.Required.ID, o.Off.ID), leads.Query{Industry: "roofer"}, func(i int) bool {
			return i%6 == 0
		}},
		"within a period": {scope.Everywhere, leads.Query{
			Industry: "roofer",
			From:     testkit.StartTime().Add(5 * time.Minute),
			To:       testkit.StartTime().Add(15 * time.Minute),
		}, func(i int) bool { return i%3 == 0 && i >= 4 && i < 14 }},
	} {
		wanted := strings.Map(func(r rune) rune {
			if c.of(int(r - 'a')) {
				return r
			}
			return -1
		}, want)
		for _, limit := range []int{1, 4, 7, 1000} {
			t.Run(fmt.Sprintf("%s, scan limit %d", name, limit), func(t *testing.T) {
				by, q := o.WithScanLimits(limit, limit), c.q
				q.Size = 3
				down, pages := "", 0
				var last leads.Page
				for {
					page, names := o.list(t, by, c.sc, q)
					down, last = down+names, page
					if pages++; pages > 100 {
						t.Fatal("the pages do not end")
					}
					if !page.ScannedTo.IsZero() && len(names) >= q.Size {
						t.Errorf("a full page has ScannedTo %s, want zero", page.ScannedTo)
					}
					if page.Older.IsZero() {
						break
					}
					q.After = page.Older
				}
				up, at := []string{}, last.Newer
				for !at.IsZero() {
					q.After, q.Before = leads.Cursor{}, at
					page, names := o.list(t, by, c.sc, q)
					if up = append(up, names); len(up) > 100 {
						t.Fatal("the pages do not reach the first one")
					}
					if page.Older != at {
						t.Errorf("got Older %s on a newer page, want %s", page.Older, at)
					}
					at = page.Newer
				}
				_, bottom := o.list(t, by, c.sc, func() leads.Query { q.Before, q.After = leads.Cursor{}, last.Newer; return q }())
				slices.Reverse(up)
				if got := strings.Join(up, "") + bottom; down != wanted || got != wanted {
					t.Errorf("got %q to older pages and %q to newer pages, want %q", down, got, wanted)
				}
			})
		}
	}
}

// With a filter that matches nothing, List stops at the scan limit.
func TestListStopsAtScanLimit(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	var ids []uuid.UUID
	for range 12 {
		ids = append(ids, o.add(t, "x", o.Required, nil))
	}
	for name, sc := range map[string]scope.Scope{
		"all partners": scope.Everywhere,
		"one partner":  scope.Partners(o.Required.ID),
	} {
		page, names := o.list(t, o.WithScanLimits(5, 5), sc, leads.Query{Industry: "zebra", Size: 2})
		if names != "" || page.Older.ID != ids[len(ids)-5] || !page.ScannedTo.Equal(id.Time(ids[len(ids)-5])) {
			t.Errorf("%s: got %q and page %+v", name, names, page)
		}
	}
}
