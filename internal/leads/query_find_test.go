package leads_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

// withContact returns a function that sets the digests of a delivery.
func (o *leadReader) withContact(email, phone, e164 string) func(*leads.Delivery) {
	return func(d *leads.Delivery) {
		d.Lead.EmailDigest, d.Lead.PhoneDigest = leads.Contact{Email: email, Phone: phone, E164: e164}.Digests(o.Keys)
	}
}

func (o *leadReader) named(f leads.SearchResult) (names string) {
	for _, r := range f.Rows {
		names += o.names[r.ID]
	}
	return names
}

func notFound(err error) bool {
	f := apperr.As(err)
	return f != nil && f.Code == apperr.NotFound
}

func TestFindTransaction(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	token, q, err := o.Quotes.Seal(nil, quote.Quote{
		Price:   money.Amount{Minor: 4560, Currency: money.GBP},
		Country: [2]byte{'G', 'B'},
	}, o.Time.Now(), [quote.RandomSize]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	lead := o.add(t, "a", o.Required, func(d *leads.Delivery) { d.Lead.ID, d.Lead.TransactionID = q.ID, string(token) })
	if got, err := o.FindTransaction(t.Context(), scope.Partners(o.Required.ID), string(token)); err != nil || got != lead {
		t.Errorf("got %s and error %v, want %s", got, err, lead)
	}
	last := len(token) - 1
	forged := string(token[:last]) + map[bool]string{true: "Q", false: "A"}[token[last] == 'A'] // only the tag differs
	for name, text := range map[string]string{
		"another tag":    forged,
		"truncated":      string(token[:40]),
		"empty":          "",
		"invalid token":  "tx_test",
		"another prefix": "ld_" + string(token[3:]),
	} {
		if got, err := o.FindTransaction(t.Context(), scope.Everywhere, text); !notFound(err) {
			t.Errorf("%s: got %s and error %v, want not found", name, got, err)
		}
	}
	if got, err := o.FindTransaction(t.Context(), scope.Partners(o.Off.ID), string(token)); !notFound(err) || got != uuid.Nil {
		t.Errorf("another partner's lead: got %s and error %v, want not found", got, err)
	}
}

func TestFindRequest(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	requests := map[string]uuid.UUID{}
	deliver := func(name string, partner testkit.Partner) uuid.UUID {
		return o.add(t, name, partner, func(d *leads.Delivery) {
			requests[name] = id.New(d.Lead.ReceivedAt.Add(-5 * time.Second)) // its body arrived slowly
			d.Event.Detail = `{"request_id": "` + id.Format(id.Request, requests[name]) + `"}`
		})
	}
	lead, other := deliver("a", o.Required), deliver("b", o.Off)
	o.erase(t, other)
	mine := scope.Partners(o.Required.ID)
	if got, err := o.FindRequest(t.Context(), mine, requests["a"]); err != nil || got != lead {
		t.Errorf("got %s and error %v, want %s", got, err, lead)
	}
	if got, err := o.FindRequest(t.Context(), scope.Everywhere, requests["b"]); err != nil || got != other {
		t.Errorf("erased lead: got %s and error %v, want %s", got, err, other)
	}
	for name, request := range map[string]uuid.UUID{
		"another partner's request": requests["b"],
		"request of a replay":       id.New(id.Time(requests["a"])),
		"lowest id":                 uuid.Nil,
		"highest id":                uuid.Max,
	} {
		if got, err := o.FindRequest(t.Context(), mine, request); !notFound(err) || got != uuid.Nil {
			t.Errorf("%s: got %s and error %v, want not found", name, got, err)
		}
	}
}

func TestFindEmailAndPhone(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	o.add(t, "a", o.Required, o.withContact("Jo.Bloggs@Example.com", "020 7946 0018", "+442079460018"))
	o.Time.Advance(30 * 24 * time.Hour)
	// The platform key changes. Older leads keep the digests of the previous key.
	o.Keys = testkit.PlatformKeys(t, 9, 1)
	o.Reader = leads.NewReader(o.DB.DB, o.Keys, o.Time).By(audit.Actor{Name: "eve@example.com", Role: "auditor"})
	o.add(t, "b", o.ReportOnly, o.withContact("jo.bloggs@example.com", "", ""))
	o.add(t, "c", o.Required, o.withContact("sam@example.com", "12", ""))
	o.erase(t, o.add(t, "d", o.Required, o.withContact("jo.bloggs@example.com", "", "+442079460018")))
	all, mine := scope.Everywhere, scope.Partners(o.Required.ID)
	email := func(text string) func(scope.Scope) (leads.SearchResult, error) {
		return func(sc scope.Scope) (leads.SearchResult, error) { return o.FindEmail(t.Context(), sc, text) }
	}
	phone := func(text, country string) func(scope.Scope) (leads.SearchResult, error) {
		return func(sc scope.Scope) (leads.SearchResult, error) { return o.FindPhone(t.Context(), sc, text, country) }
	}
	for name, c := range map[string]struct {
		sc   scope.Scope
		find func(scope.Scope) (leads.SearchResult, error)
		want string
	}{
		"email with both keys":         {all, email("jo.bloggs@example.com"), "ba"},
		"email in another letter case": {all, email(" JO.Bloggs@EXAMPLE.com "), "ba"},
		"email, one partner":           {mine, email("jo.bloggs@example.com"), "a"},
		"email, empty scope":           {scope.Scope{}, email("jo.bloggs@example.com"), ""},
		"unknown email":                {all, email("jo@example.com"), ""},
		"phone in E.164":               {all, phone("+442079460018", ""), "a"},
		"phone with spaces":            {all, phone(" +44 20 7946 0018 ", ""), "a"},
		"phone in national form":       {all, phone("(020) 7946-0018", "GB"), "a"},
		"phone in national form, UK":   {all, phone("(020) 7946-0018", "UK"), "a"},
		"phone with another country":   {all, phone("020 7946 0018", "DE"), ""},
		"phone that is not valid":      {all, phone("12", "GB"), "c"},
	} {
		const countSearches = `SELECT count(*) FROM audit_events WHERE action = 'lead.find' AND actor = 'eve@example.com' AND role = 'auditor'`
		before := testkit.Value[int](t, o.DB, countSearches)
		found, err := c.find(c.sc)
		if err != nil || o.named(found) != c.want || found.More {
			t.Errorf("%s: got %q and error %v, want %q", name, o.named(found), err, c.want)
		}
		if n := testkit.Value[int](t, o.DB, countSearches); n != before+1 {
			t.Errorf("%s: got %d audit events, want %d", name, n, before+1)
		}
	}
	log := strings.ToLower(testkit.Value[string](t, o.DB, `SELECT string_agg(e::text, ' ') FROM audit_events e`))
	// None of these can occur in an ID, a hash or a time.
	for _, personal := range []string{"bloggs", "7946 0018", "7946-0018", "+442079460018", "sam@"} {
		if strings.Contains(log, personal) {
			t.Errorf("the audit log contains %q", personal)
		}
	}
	if n := testkit.Value[string](t, o.DB, `SELECT after::text FROM audit_events WHERE after::jsonb ->> 'found' = '2' LIMIT 1`); !strings.Contains(n, "email") {
		t.Error(n)
	}
}

// A national number without a country is an error for the country field, not an empty result, and
// the search is not recorded.
func TestFindPhoneRequiresCountryForNationalNumber(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	o.add(t, "a", o.Required, o.withContact("jo@example.com", "020 7946 0018", "+442079460018"))
	for _, number := range []string{"020 7946 0018", "00442079460018", "442079460018", "12"} {
		_, err := o.FindPhone(t.Context(), scope.Everywhere, number, "")
		f := apperr.As(err)
		if f == nil || f.Code != apperr.Invalid || len(f.Fields) != 1 || !slices.Equal(f.Fields[0].Path, []string{"country"}) {
			t.Errorf("%s: got %v, want an error for the country", number, err)
		}
	}
	if n := testkit.Value[int](t, o.DB, `SELECT count(*) FROM audit_events WHERE action = 'lead.find'`); n != 0 {
		t.Errorf("got %d audit events, want 0", n)
	}
}

// A number that is not valid is found by its digits.
func TestFindPhoneThatIsNotValid(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	o.add(t, "c", o.Required, o.withContact("jo@example.com", "(212) 555-0123", ""))
	o.add(t, "d", o.Required, o.withContact("jo@example.com", "2125550123", ""))
	o.add(t, "e", o.Required, o.withContact("jo@example.com", "(212) 555-0123", "+12125550123"))
	o.add(t, "f", o.Required, o.withContact("jo@example.com", "ask 212", ""))
	for _, c := range []struct{ number, country, want string }{
		{"(212) 555-0123", "GB", "dc"},
		{"\u202a(212) 555-0123\u202c", "GB", "dc"},
		{"(212) 555-0123", "US", "edc"},
		{"+12125550123", "", "e"},
		{"+442125550123", "", ""},
		{"212-555-0123", "FR", "dc"},
	} {
		found, err := o.FindPhone(t.Context(), scope.Everywhere, c.number, c.country)
		if err != nil || o.named(found) != c.want {
			t.Errorf("%q in %s: got %q and error %v, want %q", c.number, c.country, o.named(found), err, c.want)
		}
		all, err := o.FindPerson(t.Context(), leads.Person{Phone: c.number, Country: c.country})
		if err != nil || len(all) != len(c.want) {
			t.Errorf("%q in %s: got %d leads of the person and error %v, want %d", c.number, c.country, len(all), err, len(c.want))
		}
	}
	if _, err := o.FindPhone(t.Context(), scope.Everywhere, "ask Jo", "GB"); apperr.As(err) == nil {
		t.Errorf("a number without digits: got error %v", err)
	}
}

// A consumer's leads are found with every form of the email domain (decision 30).
func TestFindEmailNormalisesDomain(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	const composed, decomposed, ascii = "Jo@B\u00fccher.example", "jo@bu\u0308cher.example", "jo@XN--bcher-kva.example"
	o.add(t, "a", o.Required, o.withContact(composed, "", ""))
	o.add(t, "b", o.Required, o.withContact(decomposed, "", ""))
	o.add(t, "c", o.Required, o.withContact(ascii, "", ""))
	o.add(t, "d", o.Required, o.withContact("jo@bucher.example", "", ""))
	for _, typed := range []string{composed, decomposed, ascii, " JO@B\u00dcCHER.EXAMPLE "} {
		if found, err := o.FindEmail(t.Context(), scope.Everywhere, typed); err != nil || o.named(found) != "cba" {
			t.Errorf("%q: got %q and error %v, want cba", typed, o.named(found), err)
		}
	}
}

// A search for a consumer must use the index on digests. Otherwise it would read all leads of the
// period.
func TestFindUsesIndex(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	o.DB.Exec(t, `INSERT INTO leads (id, attempt_id, transaction_id, partner_id, account_id, hmac_verified, sandbox, price_minor, currency, industry, term_id,
			urgency, card_version, quoted_country, quoted_postcode, quoted_at, received_at, country, postcode, phone_flagged, email_digest, phone_digest, ciphertext)
		SELECT overlay(gen_random_uuid()::text PLACING left(first_id($1::timestamptz + n * interval '20 minutes')::text, 13) FROM 1)::uuid, gen_random_uuid(), '',
			gen_random_uuid(), gen_random_uuid(), false, false, 1, 'GBP', '', 1, '', 1, 'GB', '', now(), $1::timestamptz + n * interval '20 minutes', 'GB', '', false,
			sha256(n::text::bytea), sha256(n::text::bytea), '\x00' FROM generate_series(-1000, 1000) AS n`, testkit.StartTime())
	o.DB.Exec(t, `ANALYZE leads`)
	conn := testkit.Connect(t, o.DB.AppURL)
	from, until := testkit.StartTime().AddDate(0, 0, -14), testkit.StartTime().AddDate(0, 0, 14)
	first, end := quote.IDRange(from, until)
	for _, by := range []string{"email", "phone"} {
		var plan string
		if err := conn.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) "+leads.PersonSQL(by), first, end, [][]byte{{1}}, from, until,
			true, []uuid.UUID{}, leads.MaxFound).Scan(&plan); err != nil {
			t.Fatal(err)
		}
		if strings.Count(plan, by+`_digest_idx"`) != 2 || strings.Count(plan, `"Relation Name"`) != 2 {
			t.Errorf("the search by %s does not use only the index on digests, in both partitions:\n%s", by, plan)
		}
	}
}

func TestFindRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	for text, find := range map[string]func(string) error{
		"jo": func(s string) error { _, err := o.FindEmail(t.Context(), scope.Everywhere, s); return err },
		"":   func(s string) error { _, err := o.FindEmail(t.Context(), scope.Everywhere, s); return err },
		"x":  func(s string) error { _, err := o.FindPhone(t.Context(), scope.Everywhere, s, "GB"); return err },
	} {
		var f *apperr.Error
		if err := find(text); !errors.As(err, &f) || f.Code != apperr.Invalid || len(f.Fields) != 1 {
			t.Errorf("%q: got %v, want a field error", text, err)
		}
	}
	if n := testkit.Value[int](t, o.DB, `SELECT count(*) FROM audit_events WHERE action = 'lead.find'`); n != 0 {
		t.Errorf("got %d audit events, want 0", n)
	}
}

func TestFindReturnsNewestLeads(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	for range leads.MaxFound + 3 {
		o.add(t, "x", o.Required, o.withContact("jo@example.com", "", ""))
	}
	last := o.add(t, "y", o.Required, o.withContact("jo@example.com", "", ""))
	found, err := o.FindEmail(t.Context(), scope.Everywhere, "jo@example.com")
	if err != nil || len(found.Rows) != leads.MaxFound || !found.More || found.Rows[0].ID != last {
		t.Errorf("got %d leads, more %t and error %v, want the %d newest and more", len(found.Rows), found.More, err, leads.MaxFound)
	}
}
