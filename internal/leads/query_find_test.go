package leads_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
)

// of gives a delivery the digests of a person.
func (o *leadReader) of(email, phone, e164 string) func(*leads.Delivery) {
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
	token, q, err := o.Quotes.Append(nil, quote.Quote{
		Price:   money.Amount{Minor: 4560, Currency: money.GBP},
		Country: [2]byte{'G', 'B'},
	}, o.Time.Now(), [quote.RandomSize]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	lead := o.add(t, "a", o.Required, func(d *leads.Delivery) { d.Lead.Transaction, d.Lead.TransactionID = q.ID, string(token) })
	if got, err := o.FindTransaction(t.Context(), scope.Partners(o.Required.ID), string(token)); err != nil || got != lead {
		t.Errorf("%s, %v", got, err)
	}
	last := len(token) - 1
	forged := string(token[:last]) + map[bool]string{true: "Q", false: "A"}[token[last] == 'A'] // the tag's end: the identity is the same
	for name, text := range map[string]string{
		"another tag":  forged,
		"cut":          string(token[:40]),
		"none":         "",
		"no token":     "tx_test",
		"another kind": "ld_" + string(token[3:]),
	} {
		if got, err := o.FindTransaction(t.Context(), scope.Everywhere, text); !notFound(err) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if got, err := o.FindTransaction(t.Context(), scope.Partners(o.Off.ID), string(token)); !notFound(err) || got != uuid.Nil {
		t.Errorf("another partner's: %s, %v", got, err)
	}
}

func TestFindRequest(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	requests := map[string]uuid.UUID{}
	deliver := func(name string, partner testkit.Partner) uuid.UUID {
		return o.add(t, name, partner, func(d *leads.Delivery) {
			requests[name] = id.New(d.Lead.ReceivedAt.Add(-5 * time.Second)) // its body came slowly
			d.Event.Detail = `{"request_id": "` + id.Format(id.Request, requests[name]) + `"}`
		})
	}
	lead, other := deliver("a", o.Required), deliver("b", o.Off)
	o.erase(t, other)
	mine := scope.Partners(o.Required.ID)
	if got, err := o.FindRequest(t.Context(), mine, requests["a"]); err != nil || got != lead {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := o.FindRequest(t.Context(), scope.Everywhere, requests["b"]); err != nil || got != other {
		t.Errorf("of an erased lead: %s, %v", got, err)
	}
	for name, request := range map[string]uuid.UUID{
		"another partner's": requests["b"],
		"a retry's":         id.New(id.Time(requests["a"])),
		"the first":         uuid.Nil,
		"the last":          uuid.Max,
	} {
		if got, err := o.FindRequest(t.Context(), mine, request); !notFound(err) || got != uuid.Nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestFindAPerson(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	o.add(t, "a", o.Required, o.of("Jo.Bloggs@Example.com", "020 7946 0018", "+442079460018"))
	o.Time.Advance(30 * 24 * time.Hour)
	// The platform's key changes: older leads keep the digest of the one before.
	o.Keys = testkit.PlatformKeys(t, 9, 1)
	o.Reader = leads.NewReader(o.DB.DB, o.Keys, o.Time).By(audit.Actor{Name: "eve@example.com", Role: "auditor"})
	o.add(t, "b", o.ReportOnly, o.of("jo.bloggs@example.com", "", ""))
	o.add(t, "c", o.Required, o.of("sam@example.com", "12", ""))
	o.erase(t, o.add(t, "d", o.Required, o.of("jo.bloggs@example.com", "", "+442079460018")))
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
		"an address under both keys":     {all, email("jo.bloggs@example.com"), "ba"},
		"typed otherwise":                {all, email(" JO.Bloggs@EXAMPLE.com "), "ba"},
		"of one partner":                 {mine, email("jo.bloggs@example.com"), "a"},
		"of nobody":                      {scope.Scope{}, email("jo.bloggs@example.com"), ""},
		"nobody's":                       {all, email("jo@example.com"), ""},
		"a number":                       {all, phone("+442079460018", ""), "a"},
		"as it is written":               {all, phone(" +44 20 7946 0018 ", ""), "a"},
		"as it is dialled":               {all, phone("(020) 7946-0018", "GB"), "a"},
		"as another country dials it":    {all, phone("020 7946 0018", "DE"), ""},
		"a number that no country dials": {all, phone("12", "GB"), "c"},
	} {
		const looks = `SELECT count(*) FROM audit_events WHERE action = 'lead.find' AND actor = 'eve@example.com' AND role = 'auditor'`
		before := testkit.Value[int](t, o.DB, looks)
		found, err := c.find(c.sc)
		if err != nil || o.named(found) != c.want || found.More {
			t.Errorf("%s: %q, want %q, %v", name, o.named(found), c.want, err)
		}
		if n := testkit.Value[int](t, o.DB, looks); n != before+1 {
			t.Errorf("%s: %d events, want %d", name, n, before+1)
		}
	}
	trail := strings.ToLower(testkit.Value[string](t, o.DB, `SELECT string_agg(e::text, ' ') FROM audit_events e`))
	// Parts long enough not to occur in a random id or a time.
	for _, personal := range []string{"bloggs", "7946 0018", "7946-0018", "79460018", "sam@"} {
		if strings.Contains(trail, personal) {
			t.Errorf("the audit trail has %q", personal)
		}
	}
	if n := testkit.Value[string](t, o.DB, `SELECT after::text FROM audit_events WHERE after::jsonb ->> 'found' = '2' LIMIT 1`); !strings.Contains(n, "email") {
		t.Error(n)
	}
}

// A number in national form means nothing without its country: that is an error of the
// country's field, not "no lead found", and no lookup is recorded.
func TestFindPhoneNeedsACountryForANationalNumber(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	o.add(t, "a", o.Required, o.of("jo@example.com", "020 7946 0018", "+442079460018"))
	for _, number := range []string{"020 7946 0018", "00442079460018", "442079460018", "12"} {
		_, err := o.FindPhone(t.Context(), scope.Everywhere, number, "")
		f := apperr.As(err)
		if f == nil || f.Code != apperr.Invalid || len(f.Fields) != 1 || !slices.Equal(f.Fields[0].Path, []string{"country"}) {
			t.Errorf("%s: %v", number, err)
		}
	}
	if n := testkit.Value[int](t, o.DB, `SELECT count(*) FROM audit_events WHERE action = 'lead.find'`); n != 0 {
		t.Errorf("%d lookups are recorded", n)
	}
}

// One person's leads are found however their domain was written, also those whose
// digest is from before domains were normalised (decision 30).
func TestFindEmailNormalisesTheDomain(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	const composed, decomposed, ascii = "Jo@B\u00fccher.example", "jo@bu\u0308cher.example", "jo@XN--bcher-kva.example"
	before := func(stored string) func(*leads.Delivery) {
		return func(d *leads.Delivery) {
			d.Lead.EmailDigest = o.Keys.Digest(keyring.LookUp, []byte(strings.ToLower(stored)))
		}
	}
	o.add(t, "a", o.Required, before(composed))
	o.add(t, "b", o.Required, before(decomposed))
	o.add(t, "c", o.Required, before(ascii))
	o.add(t, "d", o.Required, o.of(composed, "", ""))
	o.add(t, "e", o.Required, o.of(decomposed, "", ""))
	o.add(t, "f", o.Required, o.of(ascii, "", ""))
	o.add(t, "g", o.Required, o.of("jo@bucher.example", "", ""))
	for _, typed := range []string{composed, decomposed, ascii, " JO@B\u00dcCHER.EXAMPLE "} {
		if found, err := o.FindEmail(t.Context(), scope.Everywhere, typed); err != nil || o.named(found) != "fedcba" {
			t.Errorf("%q finds %q, %v", typed, o.named(found), err)
		}
	}
}

// A person is looked for among all leads: by the index, else each of them would be read.
func TestAPersonIsLookedUp(t *testing.T) {
	t.Parallel()
	conn := testkit.Connect(t, testkit.NewDatabaseURLs(t).AppURL)
	if _, err := conn.Exec(t.Context(), `SET enable_seqscan = off`); err != nil {
		t.Fatal(err)
	}
	for by, index := range map[string]string{"email": "leads_by_span_email", "phone": "leads_by_span_phone"} {
		var plan string
		one := [][]byte{{1}}
		if err := conn.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) "+leads.PersonSQL(by), one, one, false, []uuid.UUID{}).Scan(&plan); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan, `"Index Name": "`+index+`"`) ||
			!strings.Contains(plan, `"Index Cond": "((substr(uuid_send(id)`) {
			t.Errorf("by %s it does not use %s:\n%s", by, index, plan)
		}
	}
}

func TestFindRejects(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	for text, find := range map[string]func(string) error{
		"jo": func(s string) error { _, err := o.FindEmail(t.Context(), scope.Everywhere, s); return err },
		"":   func(s string) error { _, err := o.FindEmail(t.Context(), scope.Everywhere, s); return err },
		"x":  func(s string) error { _, err := o.FindPhone(t.Context(), scope.Everywhere, s, "GB"); return err },
	} {
		var f *apperr.Error
		if err := find(text); !errors.As(err, &f) || f.Code != apperr.Invalid || len(f.Fields) != 1 {
			t.Errorf("%q: %v", text, err)
		}
	}
	if n := testkit.Value[int](t, o.DB, `SELECT count(*) FROM audit_events WHERE action = 'lead.find'`); n != 0 {
		t.Errorf("%d events of look-ups that were none", n)
	}
}

func TestFindTheNewestOfVeryMany(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	for range leads.MaxFound + 3 {
		o.add(t, "x", o.Required, o.of("jo@example.com", "", ""))
	}
	last := o.add(t, "y", o.Required, o.of("jo@example.com", "", ""))
	found, err := o.FindEmail(t.Context(), scope.Everywhere, "jo@example.com")
	if err != nil || len(found.Rows) != leads.MaxFound || !found.More || found.Rows[0].ID != last {
		t.Errorf("%d, more %t, %v", len(found.Rows), found.More, err)
	}
}
