package leads_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// quotedBefore gives a delivery a transaction from a ping before its post.
func quotedBefore(d *leads.Delivery, age time.Duration) {
	d.Lead.QuotedAt = d.Lead.ReceivedAt.Add(-age)
	d.Lead.ID = id.New(d.Lead.QuotedAt)
}

// partitionsOf returns the partition of each of the lead's rows.
func partitionsOf(t *testing.T, p *testkit.Platform, lead uuid.UUID) []string {
	t.Helper()
	return testkit.Value[[]string](t, p.DB, `SELECT array_agg(x.partition ORDER BY x.partition) FROM (
		SELECT tableoid::regclass::text FROM leads WHERE id = $1 UNION ALL SELECT tableoid::regclass::text FROM lead_keys WHERE lead_id = $1
		UNION ALL SELECT tableoid::regclass::text FROM consents WHERE lead_id = $1
		UNION ALL SELECT tableoid::regclass::text FROM lead_events WHERE lead_id = $1) AS x (partition)`, lead)
}

// A quote from the last minute of a month can be delivered in the next month. All rows of the lead are
// in the partitions of the month of its quote, and every search by time finds it in the month of its
// delivery.
func TestQuoteFromEndOfMonthIsDeliveredInTheNext(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	midnight := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	o.Time.Set(midnight.Add(4 * time.Minute))
	var request uuid.UUID
	late := o.add(t, "a", o.Required, func(d *leads.Delivery) { // received at 00:05
		quotedBefore(d, 14*time.Minute)
		request = id.New(d.Lead.ReceivedAt)
		d.Event.Detail = `{"request_id": "` + id.Format(id.Request, request) + `"}`
		o.withContact("jo@example.com", "", "")(d)
	})
	o.add(t, "b", o.Required, o.withContact("jo@example.com", "", ""))
	o.add(t, "c", o.Required, func(d *leads.Delivery) { // received after b, but quoted before it
		quotedBefore(d, 8*time.Minute)
		o.withContact("jo@example.com", "", "")(d)
	})
	if got, want := partitionsOf(t, o.Platform, late), []string{"consents_20260101", "lead_events_20260101", "lead_keys_20260101", "leads_20260101"}; !slices.Equal(got, want) {
		t.Errorf("got partitions %v, want %v", got, want)
	}
	for _, q := range []leads.Query{
		{}, {From: midnight}, {From: midnight, To: midnight.AddDate(0, 1, 0)}, {Partner: o.Required.ID},
		{Industry: "plumber"},
		{Partner: o.Required.ID, Industry: "plumber", From: midnight},
	} {
		if _, names := o.list(t, o.Reader, scope.Everywhere, q); names != "cba" {
			t.Errorf("%+v: got %q, want cba", q, names)
		}
	}
	if _, names := o.list(t, o.Reader, scope.Everywhere, leads.Query{To: midnight}); names != "" {
		t.Errorf("the month of the quote: got %q, want none", names)
	}
	if found, err := o.FindEmail(t.Context(), scope.Everywhere, "jo@example.com"); err != nil || o.named(found) != "cba" {
		t.Errorf("by email: got %q and error %v, want cba", o.named(found), err)
	}
	if found, err := o.FindRequest(t.Context(), scope.Everywhere, request); err != nil || found != late {
		t.Errorf("by request: got %s and error %v, want %s", found, err, late)
	}
}

// The list and the searches read all partitions, in both directions, however many there are.
func TestSearchesReadAllPartitions(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	const months = 60
	start := testkit.StartTime()
	o.DB.Exec(t, `UPDATE signing_secrets SET not_before = $1`, start.AddDate(-10, 0, 0))
	for i := range months {
		o.Time.Set(start.AddDate(0, i-months, 0))
		if i%5 > 0 && i%20 != 3 {
			continue // some months without a partition, because creating them takes long
		}
		if err := o.DB.EnsurePartitions(t.Context(), o.Time.Now(), postgres.Monthly); err != nil {
			t.Fatal(err)
		}
		if i%20 == 3 {
			o.add(t, string(rune('a'+i/20)), o.Required, o.withContact("jo@example.com", "", ""))
		}
	}
	o.Time.Set(start)
	o.add(t, "d", o.Off, o.withContact("jo@example.com", "", ""))
	if found, err := o.FindEmail(t.Context(), scope.Everywhere, "jo@example.com"); err != nil || o.named(found) != "dcba" {
		t.Errorf("by email: got %q and error %v, want dcba", o.named(found), err)
	}
	for want, q := range map[string]leads.Query{
		"dcba": {}, "cba": {Partner: o.Required.ID}, "dcb": {From: start.AddDate(0, 4-months, 0)},
		"ba": {To: start.AddDate(0, -months/2, 0)},
		"":   {Industry: "zebra"},
	} {
		if _, names := o.list(t, o.Reader, scope.Everywhere, q); names != want {
			t.Errorf("%+v: got %q, want %q", q, names, want)
		}
	}
	// One lead a page, forwards and back.
	q := leads.Query{Size: 1}
	down, up := "", ""
	var page leads.Page
	for {
		var names string
		page, names = o.list(t, o.Reader, scope.Everywhere, q)
		if down += names; page.Older.IsZero() {
			break
		}
		q.After = page.Older
	}
	for q.After = (leads.Cursor{}); !page.Newer.IsZero(); {
		var names string
		q.Before = page.Newer
		page, names = o.list(t, o.Reader, scope.Everywhere, q)
		up += names
	}
	if down != "dcba" || up != "bcd" {
		t.Errorf("got %q down and %q up, want dcba and bcd", down, up)
	}
}

// Without a partition, a post fails and can be sent again. The other posts in its group are stored. A
// post never creates a partition, because the node's clock may be wrong.
func TestPostWithoutPartitionFails(t *testing.T) {
	t.Parallel()
	p := platform(t)
	year := p.Time.Now().AddDate(1, 0, 0)
	ok, ahead := delivery(p, p.Required), delivery(p, p.Required)
	ahead.Lead.ID, ahead.Lead.ReceivedAt = id.New(year), year
	results := p.Leads.DeliverTogether(t.Context(), ahead, ok)
	var missing *postgres.Err
	if err := results[0].Err; !errors.As(err, &missing) || missing.SQLState != "23514" ||
		!strings.Contains(err.Error(), "no partition") {
		t.Errorf("without a partition: got %v", err)
	}
	if results[1].Err != nil || !results[1].Stored {
		t.Errorf("the other post: got %+v", results[1])
	}
	if got := stored(t, p); got != "1/1/1/1" {
		t.Errorf("stored %s rows, want 1/1/1/1", got)
	}
	if err := p.DB.EnsurePartitions(t.Context(), year, postgres.Monthly); err != nil {
		t.Fatal(err)
	}
	if _, isNew, err := p.Leads.Deliver(t.Context(), ahead); err != nil || !isNew {
		t.Errorf("the same post with a partition: got stored %v and error %v", isNew, err)
	}
}

func TestIncompleteLeads(t *testing.T) {
	t.Parallel()
	p := platform(t)
	from := p.Time.Now().Truncate(time.Hour)
	store := func() uuid.UUID {
		d := delivery(p, p.Required)
		quotedBefore(d, 10*time.Minute)
		if _, _, err := p.Leads.Deliver(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		return d.Lead.ID
	}
	check := func() []uuid.UUID {
		t.Helper()
		found, err := p.Leads.Incomplete(t.Context(), from.Add(-time.Hour), from.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	sandbox := delivery(p, p.Required)
	sandbox.Lead.AccountID, sandbox.Lead.Sandbox = p.Required.Accounts[1].ID, true
	if _, _, err := p.Leads.Deliver(t.Context(), sandbox); err != nil {
		t.Fatal(err)
	}
	store()
	if got := check(); len(got) != 0 {
		t.Fatalf("complete leads: got %v", got)
	}
	for _, sql := range []string{
		`DELETE FROM lead_keys WHERE lead_id = $1`, `DELETE FROM consents WHERE lead_id = $1`, `DELETE FROM lead_events WHERE lead_id = $1`,
		`DELETE FROM ledger_entries WHERE lead_id = $1`, `DELETE FROM leads WHERE id = $1`,
	} {
		lead := store()
		root := testkit.Connect(t, p.DB.RootURL)
		for _, statement := range []string{`SET session_replication_role = replica`, `BEGIN`, fmt.Sprintf(strings.ReplaceAll(sql, "$1", "'%s'"), lead), `COMMIT`} {
			if _, err := root.Exec(t.Context(), statement); err != nil {
				t.Fatal(statement, err)
			}
		}
		if got := check(); !slices.Equal(got, []uuid.UUID{lead}) {
			t.Errorf("%s: got %v, want %s", sql, got, lead)
		}
		for _, table := range []string{"lead_keys", "consents", "lead_events", "ledger_entries"} {
			if _, err := root.Exec(t.Context(), `DELETE FROM `+table+` WHERE lead_id = $1`, lead); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := root.Exec(t.Context(), `DELETE FROM leads WHERE id = $1`, lead); err != nil {
			t.Fatal(err)
		}
	}
	if got := check(); len(got) != 0 {
		t.Errorf("at the end: got %v", got)
	}
}

// Each hour is checked once, after it has ended, even if several nodes check or some were stopped.
func TestCheckNext(t *testing.T) {
	t.Parallel()
	p := platform(t)
	next := func(at time.Time) string {
		t.Helper()
		found, checked, err := p.Leads.CheckNext(context.WithoutCancel(t.Context()), at)
		return fmt.Sprint(len(found), checked, err)
	}
	at := p.Time.Now()
	if got := next(at); got != "0 false <nil>" {
		t.Errorf("the first check: got %s", got)
	}
	d := delivery(p, p.Required)
	if _, _, err := p.Leads.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	p.DB.Exec(t, `DELETE FROM lead_keys`)
	for i, c := range []struct {
		later time.Duration
		want  string
	}{
		{time.Hour, "0 false <nil>"}, // the hour has ended, but quotes from it are still valid
		{20 * time.Minute, "1 true <nil>"},
		{0, "0 false <nil>"},
		{3 * time.Hour, "0 true <nil>"}, {0, "0 true <nil>"}, {0, "0 true <nil>"}, {0, "0 false <nil>"},
	} {
		at = at.Add(c.later)
		if got := next(at); got != c.want {
			t.Errorf("check %d: got %s, want %s", i, got, c.want)
		}
	}
}
