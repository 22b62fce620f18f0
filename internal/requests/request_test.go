package requests_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"html"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/models"
)

func TestRequestFindsLeads(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	first, second, bobs := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.OtherContact)
	for name, c := range map[string]struct {
		person leads.Person
		ids    []uuid.UUID
		want   []uuid.UUID
	}{
		"email":          {leads.Person{Email: "ann.example@EXAMPLE.com"}, nil, []uuid.UUID{first, second}},
		"phone":          {leads.Person{Phone: "+44 20 7946 0018"}, nil, []uuid.UUID{first, second, bobs}},
		"national phone": {leads.Person{Phone: "020 7946 0018", Country: "GB"}, nil, []uuid.UUID{first, second, bobs}},
		"email or phone": {
			leads.Person{Email: "bob@example.com", Phone: "+442079460018"}, nil, []uuid.UUID{first, second, bobs},
		},
		"ids": {leads.Person{}, []uuid.UUID{bobs}, []uuid.UUID{bobs}},
		"email and ids": {
			leads.Person{Email: "ann.example@example.com"}, []uuid.UUID{first, bobs}, []uuid.UUID{first, second, bobs},
		},
		"unknown address":    {leads.Person{Email: "no-one@example.com"}, nil, nil},
		"id mentioned twice": {leads.Person{}, []uuid.UUID{first, first}, []uuid.UUID{first}},
	} {
		created, err := r.Requests.Create(t.Context(),
			requests.NewRequest{Kind: models.RequestAccess, ReceivedOn: r.Day(-3), Person: c.person, Leads: c.ids})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found, err := r.Requests.Leads(t.Context(), created.ID, 100)
		got := map[uuid.UUID]bool{}
		for _, l := range found {
			got[l.LeadID] = l.PartnerID == r.Required.ID
		}
		if err != nil || len(found) != len(c.want) {
			t.Errorf("%s: got %d leads, %v, want %d", name, len(found), err, len(c.want))
		}
		for _, lead := range c.want {
			if !got[lead] {
				t.Errorf("%s: a lead is missing, or has another partner", name)
			}
		}
	}
	for _, term := range []string{"ann.example", "bob@example", "+442079460018", "no-one"} {
		if found := leadkit.RowsWith(t, r.DB, term); found != nil {
			t.Errorf("the database contains the search term %s: %v", term, found)
		}
	}
	if n := r.AuditEvents(t, "privacy_request.create", "done"); n != 8 {
		t.Errorf("got %d audit events, want 8", n)
	}
}

func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	valid := requests.NewRequest{
		Kind: models.RequestAccess, ReceivedOn: r.Day(0), Person: leads.Person{Email: "ann@example.com"},
	}
	for want, change := range map[string]func(*requests.NewRequest){
		"invalid kind":        func(n *requests.NewRequest) { n.Kind = "correction" },
		"invalid law":         func(n *requests.NewRequest) { n.Law = "lgpd" },
		"invalid due_on":      func(n *requests.NewRequest) { n.Kind, n.DueOn = models.RequestComplaint, r.Day(-1) },
		"invalid received_on": func(n *requests.NewRequest) { n.ReceivedOn = r.Day(2) },
		"invalid reference":   func(n *requests.NewRequest) { n.Reference = "a\x00" },
		"invalid email":       func(n *requests.NewRequest) { n.Person = leads.Person{} },
		"invalid phone":       func(n *requests.NewRequest) { n.Person = leads.Person{Phone: "+"} },
		"invalid country":     func(n *requests.NewRequest) { n.Person = leads.Person{Phone: "7946"} },
		"invalid identity":    func(n *requests.NewRequest) { n.Identity.Check = "telepathy" },
		"invalid leads":       func(n *requests.NewRequest) { n.Leads = []uuid.UUID{uuid.New()} },
	} {
		n := valid
		change(&n)
		if _, err := r.Requests.Create(t.Context(), n); leadkit.Rejection(err) != want {
			t.Errorf("got %s, want %s", leadkit.Rejection(err), want)
		}
	}
	old := valid
	old.ReceivedOn = r.Day(-400)
	if _, err := r.Requests.Create(t.Context(), old); leadkit.Rejection(err) != "invalid received_on" {
		t.Errorf("a request of last year: got %v", err)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM privacy_requests`); n != 0 {
		t.Errorf("got %d requests, want 0", n)
	}
	if _, err := r.Requests.Request(t.Context(), uuid.New()); leadkit.Rejection(err) != "not_found privacy_request" {
		t.Errorf("an unknown request: got %v", err)
	}
}

func TestErasureRequest(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	first, second, bobs := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.OtherContact)
	if _, err := r.Erase(t, second); err != nil { // while the request is open
		t.Fatal(err)
	}
	created, err := r.Requests.Create(ctx, requests.NewRequest{
		Kind: models.RequestErasure, Reference: "case 7", ReceivedOn: r.Day(0), Leads: []uuid.UUID{first},
	})
	if err == nil {
		err = r.Requests.AddLeads(ctx, created.ID,
			requests.Addition{Leads: []uuid.UUID{second}, Exception: models.ExceptionErased})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Requests.Erase(ctx, created.ID); leadkit.Rejection(err) != "conflict identity_unchecked" {
		t.Errorf("before the identity was checked: got %v", err)
	}
	for want, c := range map[string]struct {
		check models.IdentityCheck
		note  string
	}{"invalid identity": {"telepathy", ""}, "invalid note": {models.IdentityOther, " "}, "<nil>": {models.IdentityCall, ""}} {
		if err := r.Requests.CheckIdentity(ctx, created.ID,
			requests.Identity{Check: c.check, Note: c.note}); leadkit.Rejection(err) != want {
			t.Errorf("identity %s: got %s, want %s", c.check, leadkit.Rejection(err), want)
		}
	}
	if _, err := r.ExportRequest(ctx, created.ID); leadkit.Rejection(err) != "conflict request_kind" {
		t.Errorf("export: got %v", err)
	}
	if err := r.Requests.RecordNotice(ctx, created.ID, requests.NewNotice{Partner: r.Required.ID}); leadkit.Rejection(err) != "conflict not_erased_yet" {
		t.Errorf("a notice before the erasure: got %v", err)
	}
	if err := r.Requests.Erase(ctx, created.ID); err != nil {
		t.Fatal(err)
	}
	if outcome, found := r.State(t, created.ID); outcome != "erased" || found.Leads != 2 || found.Erased != 2 ||
		found.Partners != 1 {
		t.Errorf("got %s %+v", outcome, found)
	}
	receipt, erased, err := r.Erasures.ReceiptOf(ctx, first)
	if err != nil || !erased || receipt.Note != "Request "+requests.ID(created.ID) || receipt.Sequence != 2 {
		t.Errorf("got receipt %+v, %v", receipt, err)
	}
	if _, err := r.Reveal(t, bobs); err != nil {
		t.Errorf("another consumer's lead: %v", err)
	}
	if err := r.Requests.Erase(ctx, created.ID); leadkit.Rejection(err) != "conflict request_closed" {
		t.Errorf("erased again: got %v", err)
	}
	if err := r.Requests.RecordNotice(ctx, created.ID, requests.NewNotice{Partner: uuid.New()}); leadkit.Rejection(err) != "not_found privacy_request" {
		t.Errorf("a notice to another partner: got %v", err)
	}
	for range 2 {
		if err := r.Requests.RecordNotice(ctx, created.ID, requests.NewNotice{Partner: r.Required.ID}); err != nil {
			t.Fatal(err)
		}
	}
	notices, err := r.Requests.Notices(ctx, created.ID)
	if err != nil || len(notices) != 1 || notices[0].Leads != 2 || notices[0].NotifiedBy != "fay@example.com" ||
		!notices[0].NotifiedAt.Equal(r.Time.Now()) {
		t.Errorf("got notices %+v, %v", notices, err)
	}
	if n := r.AuditEvents(t, "privacy_request.notify", "done"); n != 1 {
		t.Errorf("got %d audit events about notices, want 1", n)
	}
	if _, err := r.Erasures.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// If the journal cannot be written, nothing is erased at first, and the erasure is carried out later.
func TestErasureRequestWithoutJournal(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	r.Deliver(t, leadkit.Contact)
	request := r.Request(t, models.RequestErasure)
	r.Journal.Full.Store(true)
	if err := r.Requests.Erase(t.Context(), request); leadkit.Rejection(err) != "unavailable erasure_pending" {
		t.Errorf("got %v", err)
	}
	if outcome, found := r.State(t, request); outcome != "erased" || found.Erased != 0 {
		t.Errorf("got %s %+v", outcome, found)
	}
	r.Journal.Full.Store(false)
	if err := r.Erasures.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, found := r.State(t, request); found.Erased != 1 {
		t.Errorf("got %+v", found)
	}
}

// While the database is older than the journal, consumers cannot be searched for, and nothing is exported.
func TestJournalAheadClosesRequests(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	r.Deliver(t, leadkit.Contact)
	request := r.Request(t, models.RequestAccess)
	if _, err := r.ExportRequest(ctx, request); err != nil {
		t.Fatal(err)
	}
	events := func() int { return testkit.Value[int](t, r.DB, `SELECT count(*) FROM audit_events`) }
	before := events()
	r.WriteEntry(t, r.Platform.Keys.JournalKeys()[0], journal.Entry{Sequence: 1, Leads: []string{}})
	ann := leads.Person{Email: "ann.example@example.com"}
	for name, call := range map[string]func() error{
		"create": func() error {
			_, err := r.Requests.Create(ctx, requests.NewRequest{Kind: models.RequestAccess, ReceivedOn: r.Day(0), Person: ann})
			return err
		},
		"find":   func() error { _, err := r.Reveals.FindPerson(ctx, ann); return err },
		"export": func() error { _, err := r.ExportRequest(ctx, request); return err },
		"open":   func() error { _, err := r.OpenExport(ctx, request); return err },
		"erase":  func() error { return r.Requests.Erase(ctx, request) },
	} {
		if err := call(); leadkit.Rejection(err) != "unavailable journal_ahead" {
			t.Errorf("%s: got %s", name, leadkit.Rejection(err))
		}
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM privacy_requests`); n != 1 {
		t.Errorf("got %d requests, want 1", n)
	}
	if after := events(); after != before {
		t.Errorf("got %d new audit events, want 0", after-before)
	}
}

// If requests for overlapping leads are carried out and closed, and single leads are erased, all at the same time, each
// lead is erased once, and each request has one outcome.
func TestRequestsAtTheSameTime(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	var all []uuid.UUID
	for range 6 {
		all = append(all, r.Deliver(t, leadkit.Contact))
	}
	first, second := r.Request(t, models.RequestErasure), r.Request(t, models.RequestErasure)
	var erased, withdrawn atomic.Int32
	var group sync.WaitGroup
	count := func(of *atomic.Int32, err error) {
		if err == nil {
			of.Add(1)
		} else if got := leadkit.Rejection(err); got != "conflict request_closed" && got != "conflict erased" && got != "conflict already_erased" {
			t.Errorf("got %s", got)
		}
	}
	for range 2 {
		group.Go(func() { count(&erased, r.Requests.Erase(ctx, first)) })
		group.Go(func() { count(&erased, r.Requests.Erase(ctx, second)) })
		group.Go(func() {
			count(&withdrawn, r.Requests.Close(ctx, first, requests.Closing{Outcome: models.OutcomeWithdrawn}))
		})
		for _, lead := range all {
			group.Go(func() { _, err := r.Erase(t, lead); count(new(atomic.Int32), err) })
		}
	}
	group.Wait()
	if erased.Load()+withdrawn.Load() > 2 || withdrawn.Load() > 1 {
		t.Errorf("%d requests were erased and %d withdrawn, want at most 2 in total", erased.Load(), withdrawn.Load())
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM leads WHERE state = 'erased'`); n != len(all) {
		t.Errorf("got %d erased leads, want %d", n, len(all))
	}
	if _, err := r.Erasures.Verify(ctx); err != nil {
		t.Error(err)
	}
}

type leadInExport struct {
	LeadID, Source, Postcode string
	Reference, SubID         string
	ErasedAt                 *time.Time
	Contact                  *leads.Contact
	Consent                  struct {
		Acknowledged                                                     bool
		AcknowledgedAtText, DisclosureText, CertificateURL, SourceLeadID string
	}
	Returns []struct{ Reason, Evidence string }
	Reveals []struct{ Field, Reason, Note string }
}

func TestAccessRequest(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	lead := r.Deliver(t, leadkit.Contact)
	r.AddNotes(t, lead)
	erased := r.Deliver(t, leadkit.Contact)
	request := r.Request(t, models.RequestAccess)
	if _, err := r.Erase(t, erased); err != nil {
		t.Fatal(err)
	}
	passphrase, err := r.ExportRequest(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	files := r.Download(t, request, passphrase)
	var data struct {
		Request, Purposes, Recipients, AutomatedDecisions, Retention string
		Rights                                                       []struct{ Kind, Text string }
		Senders                                                      []string
		Leads                                                        []leadInExport
	}
	if err := json.Unmarshal(files["data.json"], &data); err != nil {
		t.Fatal(err)
	}
	if data.Request != requests.ID(request) || len(data.Leads) != 2 || data.AutomatedDecisions == "" ||
		!strings.HasPrefix(data.Retention, "Contact data is stored until it is erased") {
		t.Fatalf("got %+v", data)
	}
	var rights, want []string // all kinds of requests that staff can answer, other than for this export
	for _, right := range data.Rights {
		if rights = append(rights, right.Kind); right.Text == "" ||
			!strings.Contains(string(files["data.html"]), `data-right="`+right.Kind+`">`) {
			t.Errorf("the right to %s has no text, or is missing on the page", right.Kind)
		}
	}
	for _, kind := range requests.Kinds {
		if kind.Code != models.RequestAccess {
			want = append(want, string(kind.Code))
		}
	}
	slices.Sort(rights)
	slices.Sort(want)
	if !slices.Equal(rights, want) {
		t.Errorf("got rights %v, want %v", rights, want)
	}
	slices.SortFunc(data.Leads, func(a, b leadInExport) int { return cmp.Compare(len(a.Postcode), len(b.Postcode)) })
	if gone := data.Leads[0]; gone.ErasedAt == nil || gone.Contact != nil || gone.Postcode != "" || gone.Reference != "" ||
		gone.SubID != "" {
		t.Errorf("the erased lead: got %+v", gone)
	}
	got := data.Leads[1]
	if got.Contact == nil || got.Contact.Email != "Ann.Example@example.com" || got.Contact.Address != "1 High Street" || got.Postcode != "SW1A 1AA" ||
		got.Reference != "canary-click" || got.SubID != "canary-sub" || got.Consent.AcknowledgedAtText != "2026-01-02T03:04" ||
		got.Consent.DisclosureText != "Ann Example agrees" || got.Consent.SourceLeadID != "canary-third-party" ||
		len(got.Returns) != 1 || got.Returns[0].Evidence != "canary-evidence" || len(got.Reveals) != 1 || got.Reveals[0].Field != "email" {
		t.Errorf("got %+v", got)
	}
	for _, text := range []string{"Ann.Example@example.com", "Ring the bell", "2026-01-02T03:04", "Ann Example agrees", "canary-evidence", "canary-click", "canary-sub"} {
		if !strings.Contains(string(files["data.html"]), text) {
			t.Errorf("the page does not contain %q", text)
		}
	}
	if len(got.Reveals) != 1 || got.Reveals[0].Note != "canary-reveal" {
		t.Errorf("the note about the reveal is missing: %+v", got.Reveals)
	}
	if !got.Consent.Acknowledged || !slices.Equal(data.Senders, []string{r.Required.Name}) {
		t.Errorf("got consent %+v and senders %v", got.Consent, data.Senders)
	}
	if outcome, _ := r.State(t, request); outcome != "exported" {
		t.Errorf("got outcome %q", outcome)
	}
	if found := leadkit.RowsWith(t, r.DB, passphrase); found != nil {
		t.Errorf("the passphrase is in %v", found)
	}

	again, err := r.ExportRequest(ctx, request) // for example because the passphrase was lost
	if err != nil || again == passphrase {
		t.Fatalf("exported again: %v", err)
	}
	r.Download(t, request, again)
	if _, err := r.Requests.OpenExport(ctx, request, uuid.New()); leadkit.Rejection(err) != "conflict export_replaced" {
		t.Errorf("the file of an earlier export: got %v", err)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM files`); n != 1 {
		t.Errorf("got %d files, want 1", n)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM audit_events WHERE action = 'lead.export' AND object_id = $1`, id.Format(id.Lead, lead)); n != 2 {
		t.Errorf("got %d audit events with the lead, want 2", n)
	}
	r.Time.Advance(requests.ExportRetention)
	if _, err := r.OpenExport(ctx, request); leadkit.Rejection(err) != "not_found file_gone" {
		t.Errorf("an expired file: got %v", err)
	}
	if err := r.Requests.Erase(ctx, request); leadkit.Rejection(err) != "conflict request_closed" {
		t.Errorf("erased: got %v", err)
	}
}

// If a lead cannot be decrypted, nothing is exported, and the request stays open.
// An export states the retention periods in effect for the countries of its leads. Configured periods that were
// not accepted are not in effect.
func TestExportStatesRetention(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t).WithRevealsPerDay(100)}
	british, german := r.DeliverIn(t, "GB", "a@example.com"), r.DeliverIn(t, "DE", "b@example.com")
	expect := func(want string, ids ...uuid.UUID) {
		t.Helper()
		request := r.RequestFor(t, models.RequestAccess, ids...)
		passphrase, err := r.ExportRequest(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		files := r.Download(t, request, passphrase)
		var data struct{ Retention string }
		if err := json.Unmarshal(files["data.json"], &data); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(data.Retention, want+" Data that is needed") {
			t.Errorf("got %q, want %q", data.Retention, want)
		}
		if !strings.Contains(html.UnescapeString(string(files["data.html"])), data.Retention) {
			t.Errorf("the page does not contain %q", data.Retention)
		}
	}
	apply := func(periods retention.Periods) {
		t.Helper()
		s := r.Retaining(periods).By(r.User)
		plan, err := s.Retention.Plan(t.Context(), 0)
		if err == nil {
			err = s.Retention.Apply(t.Context(), plan.Version)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const untilErased = "Contact data is stored until it is erased, for example at your request. The details of your consent are stored until they are erased, for example at your request."
	expect(untilErased, british, german)
	periods := leadkit.Periods(730, 1095, leadkit.ByCountry{"DE": 1, "FR": 20}, nil)
	leadkit.RunRetention(t, r.Retaining(periods).Retention, nil)
	expect(untilErased, british, german)
	apply(periods)
	const consent = " The details of your consent are erased 1095 days after the lead was received."
	expect("Contact data is erased 730 days after the lead was received."+consent, british)
	expect("Contact data is erased 1 day after the lead was received."+consent, german)
	expect("Contact data is erased 1 day after the lead was received (Germany). Contact data is erased 730 days after the lead was received (United Kingdom)."+consent, british, german)
	apply(leadkit.Periods(730, 0, leadkit.ByCountry{"DE": 730}, nil))
	expect("Contact data is erased 730 days after the lead was received. The details of your consent are stored until they are erased, for example at your request.", british, german)
}

func TestExportNeedsKeys(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead := r.Deliver(t, leadkit.Contact)
	request := r.Request(t, models.RequestAccess)
	without := leadkit.NewServices(r.DB.DB, envelope.NewWrappers(nil), r.Keys, r.Journal, r.Time, leadkit.Settings{}).
		By(r.User)
	if _, err := without.Requests.Export(t.Context(), request); leadkit.Rejection(err) != "unavailable cannot_decrypt" {
		t.Errorf("without the wrapping key: got %v", err)
	}
	r.DB.Exec(t, `DELETE FROM lead_keys WHERE lead_id = $1`, lead)
	if _, err := r.ExportRequest(t.Context(), request); leadkit.Rejection(err) != "unavailable lead_key_missing" {
		t.Errorf("without the lead's key: got %v", err)
	}
	if outcome, _ := r.State(t, request); outcome != "" || r.AuditEvents(t, "privacy_request.export", "done") != 0 {
		t.Errorf("got outcome %q", outcome)
	}
}

// A file with the data of leads that are erased afterwards is deleted with them.
func TestErasureDeletesExports(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead := r.Deliver(t, leadkit.Contact)
	request := r.Request(t, models.RequestAccess)
	if _, err := r.ExportRequest(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Erase(t, lead); err != nil {
		t.Fatal(err)
	}
	if _, err := r.OpenExport(t.Context(), request); leadkit.Rejection(err) != "conflict no_export" {
		t.Errorf("got %v", err)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM file_parts`); n != 0 {
		t.Errorf("got %d parts of files, want 0", n)
	}
}

// An export either contains no data of a lead that is erased at the same time, or is deleted with it.
func TestExportBesideErasure(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t).WithRevealsPerDay(100)}
	for range 5 {
		lead := r.Deliver(t, leadkit.Contact)
		created, err := r.Requests.Create(t.Context(),
			requests.NewRequest{Kind: models.RequestAccess, ReceivedOn: r.Day(0), Leads: []uuid.UUID{lead}})
		if err == nil {
			err = r.Requests.CheckIdentity(t.Context(), created.ID, requests.Identity{Check: models.IdentityReply})
		}
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		var passphrases [2]string
		for i := range passphrases {
			group.Go(func() {
				var err error
				if passphrases[i], err = r.ExportRequest(t.Context(), created.ID); err != nil && !leadkit.IsConflict(err) {
					t.Error(err)
				}
			})
		}
		group.Go(func() {
			if _, err := r.Erase(t, lead); err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		archive, err := r.OpenExport(t.Context(), created.ID)
		if leadkit.Rejection(err) == "conflict no_export" {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		for _, passphrase := range passphrases {
			if files, err := leadkit.Extract(t, text, passphrase); err == nil &&
				strings.Contains(string(files["data.json"]), "1 High Street") {
				t.Errorf("the export contains erased data: %s", files["data.json"])
			}
		}
	}
}

func TestSecondUser(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	r.Deliver(t, leadkit.Contact)
	strict := leadkit.NewServices(r.DB.DB, r.Wrappers, r.Keys, r.Journal, r.Time,
		leadkit.Settings{RevealsPerDay: leadkit.RevealsPerDay, LookupsPerDay: 100, RequireApproval: true})
	fay, ben := strict.By(r.User), strict.By(testkit.Actor(t, r.DB, "ben@example.com"))
	operator := strict.By(audit.Operator)
	access, deletion, theirs := r.Request(t, models.RequestAccess), r.Request(t, models.RequestErasure), r.Request(t,
		models.RequestAccess)
	if err := operator.Requests.CheckIdentity(ctx, theirs, requests.Identity{Check: models.IdentityCall}); err != nil {
		t.Fatal(err)
	}
	if _, err := fay.Requests.Export(ctx, access); leadkit.Rejection(err) != "forbidden same_person" {
		t.Errorf("exported by the same user: got %v", err)
	}
	if err := fay.Requests.Erase(ctx, deletion); leadkit.Rejection(err) != "forbidden same_person" {
		t.Errorf("erased by the same user: got %v", err)
	}
	// The person who runs the command could also be any user.
	for name, s := range map[string]privacy.Services{"the command line": operator, "a user": ben} {
		if _, err := s.Requests.Export(ctx, theirs); leadkit.Rejection(err) != "forbidden identity_by_command" {
			t.Errorf("%s exports after an identity check by a command: got %v", name, err)
		}
	}
	if err := fay.Requests.CheckIdentity(ctx, theirs, requests.Identity{Check: models.IdentityCall}); err != nil {
		t.Fatal(err)
	}
	lead := r.Deliver(t, leadkit.Contact)
	for name, s := range map[string]privacy.Services{"a user": ben, "the command line": operator} {
		if _, err := s.Erasures.Erase(ctx, scope.System, erasure.NewErasure{Lead: lead, Reason: models.EraseForRequest}); leadkit.Rejection(err) != "forbidden needs_request" {
			t.Errorf("%s erases a lead without a request: got %v", name, err)
		}
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM erasures`); n != 0 {
		t.Errorf("got %d erasures, want 0", n)
	}
	for _, request := range []uuid.UUID{access, theirs} {
		if _, err := ben.Requests.Export(ctx, request); err != nil {
			t.Errorf("exported by another user: %v", err)
		}
	}
	if err := ben.Requests.Erase(ctx, deletion); err != nil {
		t.Errorf("erased by another user: %v", err)
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	r.Deliver(t, leadkit.Contact)
	r.Time.Set(time.Date(2026, 2, 3, 23, 59, 0, 0, time.UTC))
	for received, want := range map[string][2]string{
		"2026-01-31": {"2026-02-28", "2026-04-30"}, "2026-01-15": {"2026-02-15", "2026-04-15"},
		"2025-11-30": {"2025-12-30", ""},
		"2026-02-03": {"2026-03-03", "2026-05-03"},
	} {
		on, err := time.Parse(time.DateOnly, received)
		if err != nil {
			t.Fatal(err)
		}
		created, err := r.Requests.Create(ctx,
			requests.NewRequest{Kind: models.RequestErasure, ReceivedOn: on, Person: leads.Person{Email: "x@example.com"}})
		if err != nil || created.DueOn.Format(time.DateOnly) != want[0] {
			t.Errorf("received on %s: due on %s, %v, want %s", received, created.DueOn, err, want[0])
		}
		if err := r.Requests.Extend(ctx, created.ID, requests.Extension{Reason: " "}); leadkit.Rejection(err) != "invalid reason" {
			t.Errorf("extended without a reason: got %v", err)
		}
		err = r.Requests.Extend(ctx, created.ID, requests.Extension{Reason: "many leads"})
		_, found := r.State(t, created.ID)
		if want[1] == "" {
			if leadkit.Rejection(err) != "conflict overdue" || !found.Overdue(r.Time.Now()) {
				t.Errorf("received on %s: got %v, overdue %v", received, err, found.Overdue(r.Time.Now()))
			}
			continue
		}
		if err != nil || found.DueOn.Format(time.DateOnly) != want[1] || found.Overdue(r.Time.Now()) {
			t.Errorf("received on %s, extended: due on %s, %v, want %s", received, found.DueOn, err, want[1])
		}
		if err := r.Requests.Extend(ctx, created.ID, requests.Extension{Reason: "again"}); leadkit.Rejection(err) != "conflict extended" {
			t.Errorf("extended twice: got %v", err)
		}
	}
}

func TestCloseRequest(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	r.Deliver(t, leadkit.Contact)
	for name, c := range map[string]struct {
		kind    models.PrivacyRequestKind
		closing requests.Closing
		want    string
	}{
		"rejected": {
			models.RequestErasure,
			requests.Closing{Outcome: models.OutcomeRejected, Ground: models.GroundLegalClaims, Note: "claim 12"}, "<nil>",
		},
		"wrong ground": {
			models.RequestAccess, requests.Closing{Outcome: models.OutcomeRejected, Ground: models.GroundLegalClaims},
			"invalid ground",
		},
		"no ground": {models.RequestAccess, requests.Closing{Outcome: models.OutcomeRejected}, "invalid ground"},
		"withdrawn": {models.RequestAccess, requests.Closing{Outcome: models.OutcomeWithdrawn}, "<nil>"},
		"nothing found": {
			models.RequestAccess, requests.Closing{Outcome: models.OutcomeNothingFound}, "conflict leads_found",
		},
		"erased": {models.RequestErasure, requests.Closing{Outcome: models.OutcomeErased}, "invalid outcome"},
		"control character": {
			models.RequestErasure, requests.Closing{Outcome: models.OutcomeWithdrawn, Note: "\a"}, "invalid note",
		},
	} {
		request := r.Request(t, c.kind)
		if err := r.Requests.Close(ctx, request, c.closing); leadkit.Rejection(err) != c.want {
			t.Errorf("%s: got %s, want %s", name, leadkit.Rejection(err), c.want)
		}
		if outcome, _ := r.State(t, request); (outcome == string(c.closing.Outcome)) != (c.want == "<nil>") {
			t.Errorf("%s: got outcome %q", name, outcome)
		}
	}
	empty, err := r.Requests.Create(ctx,
		requests.NewRequest{Kind: models.RequestErasure, ReceivedOn: r.Day(0), Person: leads.Person{Email: "x@example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Requests.CheckIdentity(ctx, empty.ID, requests.Identity{Check: models.IdentityCall}); err != nil {
		t.Fatal(err)
	}
	if err := r.Requests.Erase(ctx, empty.ID); leadkit.Rejection(err) != "conflict nothing_found" {
		t.Errorf("erased without leads: got %v", err)
	}
	if err := r.Requests.Close(ctx, empty.ID, requests.Closing{Outcome: models.OutcomeNothingFound}); err != nil {
		t.Error(err)
	}
	if err := r.Requests.CheckIdentity(ctx, empty.ID, requests.Identity{Check: models.IdentityCall}); leadkit.Rejection(err) != "conflict request_closed" {
		t.Errorf("changed after closing: got %v", err)
	}
}

func TestRequestLists(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	var all []uuid.UUID
	for day := range 7 {
		created, err := r.Requests.Create(ctx, requests.NewRequest{
			Kind: models.RequestAccess, ReceivedOn: r.Day(-(day % 3)), Person: leads.Person{Email: "x@example.com"},
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, created.ID)
	}
	read := func(list func(after uuid.UUID) ([]requests.Request, error)) (pages []requests.Request) {
		t.Helper()
		for after := uuid.Nil; ; after = pages[len(pages)-1].ID {
			page, err := list(after)
			if err != nil {
				t.Fatal(err)
			}
			if pages = append(pages, page...); len(page) < 3 {
				return pages
			}
		}
	}
	open := read(func(after uuid.UUID) ([]requests.Request, error) { return r.Requests.Open(ctx, after, 3) })
	for i, listed := range open {
		if i > 0 && listed.DueOn.Before(open[i-1].DueOn) {
			t.Errorf("request %d is due before the one above it", i)
		}
	}
	for _, request := range all[:5] {
		r.Time.Advance(time.Hour)
		if err := r.Requests.Close(ctx, request, requests.Closing{Outcome: models.OutcomeWithdrawn}); err != nil {
			t.Fatal(err)
		}
	}
	closed := read(func(after uuid.UUID) ([]requests.Request, error) { return r.Requests.Closed(ctx, after, 3) })
	if len(open) != 7 || len(closed) != 5 || closed[0].ID != all[4] || closed[4].ID != all[0] {
		t.Errorf("got %d open and %d closed requests, want 7 and 5, the latest first", len(open), len(closed))
	}
	r.Time.Advance(365*24*time.Hour - 2*time.Hour)
	if n, err := r.Requests.DeleteOld(ctx); err != nil || n != 2 {
		t.Errorf("deleted %d requests, %v, want 2", n, err)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM privacy_requests`); n != 5 {
		t.Errorf("%d requests remain, want 5", n)
	}
}

// A request is not deleted while partners still have to be notified. After that, it is stored for as long as other
// closed requests.
func TestRequestsWithPartnersToNotifyAreNotDeleted(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	r.Deliver(t, leadkit.Contact)
	request := r.Request(t, models.RequestErasure)
	if err := r.Requests.Erase(ctx, request); err != nil {
		t.Fatal(err)
	}
	r.DB.Exec(t, `INSERT INTO privacy_request_leads (request_id, lead_id, partner_id, erased) VALUES ($1, gen_random_uuid(), $2, true)`, request, r.Off.ID)
	notify := func(n requests.NewNotice, want int) {
		t.Helper()
		if err := r.Requests.RecordNotice(ctx, request, n); err != nil {
			t.Fatal(err)
		}
		due, err := r.Requests.CountDue(ctx)
		if _, found := r.State(t, request); err != nil || due.ToNotify != want || found.ToNotify != want ||
			found.Open() != (want > 0) {
			t.Errorf("got %+v and %+v, %v, want %d partners to notify", due, found, err, want)
		}
	}
	deleted := func(want int64) {
		t.Helper()
		if n, err := r.Requests.DeleteOld(ctx); err != nil || n != want {
			t.Errorf("deleted %d requests, %v, want %d", n, err, want)
		}
	}
	notify(requests.NewNotice{Partner: r.Required.ID}, 1)
	lists := func(open, closed int) {
		t.Helper()
		first, err := r.Requests.Open(ctx, uuid.Nil, 3)
		second, err2 := r.Requests.ToNotify(ctx, uuid.Nil, 3)
		third, err3 := r.Requests.Closed(ctx, uuid.Nil, 3)
		if err := errors.Join(err, err2, err3); err != nil || len(first) != open || len(second) != open ||
			len(third) != closed {
			t.Errorf("got %d, %d and %d requests, %v, want %d, %d and %d", len(first), len(second), len(third), err, open, open,
				closed)
		}
	}
	lists(1, 0)
	r.Time.Advance(366 * 24 * time.Hour)
	deleted(0)
	notify(requests.NewNotice{Partner: r.Off.ID, Reason: models.NoNoticeOther, Note: "dissolved"}, 0)
	deleted(0)
	notify(requests.NewNotice{Partner: r.Off.ID}, 0) // the first notice counts
	lists(0, 1)
	r.DB.Exec(t, `UPDATE privacy_requests SET notices_due = true`) // as if an older program had recorded the last notice
	lists(0, 1)
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM audit_events WHERE audit_events::text LIKE '%dissolved%'`); n != 0 {
		t.Errorf("%d audit events contain the note", n)
	}
	notices, err := r.Requests.Notices(ctx, request)
	if err != nil || len(notices) != 2 || !slices.ContainsFunc(notices, func(n requests.PartnerNotice) bool {
		return n.Partner == r.Off.ID && n.Reason == models.NoNoticeOther && n.Note == "dissolved"
	}) {
		t.Errorf("got %+v, %v", notices, err)
	}
	r.Time.Advance(366 * 24 * time.Hour)
	deleted(1)
}

// The leads of a request can be months apart. Erasing them does not read all pings in between.
func TestErasureReadsFewPings(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	r.Deliver(t, leadkit.Contact)
	const days, perDay = 20, 5000
	if err := r.DB.EnsurePingPartitions(t.Context(), r.Time.Now(), days+1); err != nil {
		t.Fatal(err)
	}
	r.DB.Exec(t, `INSERT INTO pings SELECT gen_random_uuid(), $1::timestamptz + make_interval(secs => n * 86400.0 / $3), p.id, false, 1, 'GB', 'SW1A 1AA', 'standard', '', '', 'priced', 100, 'GBP', 1, 100
		FROM generate_series(1, $2::int * $3::int) n, (SELECT id FROM partners LIMIT 1) p`, r.Time.Now(), days, leadkit.RevealsPerDay)
	r.Time.Advance(days * 24 * time.Hour)
	r.Deliver(t, leadkit.Contact)
	r.DB.Exec(t, `INSERT INTO pings SELECT id, quoted_at, partner_id, sandbox, term_id, country, 'SW1A 1AA', urgency, '', '', 'priced', price_minor, currency, card_version, 100 FROM leads`)
	request := r.Request(t, models.RequestErasure)
	own := testkit.Open(t, r.DB.AppURL)
	s := leadkit.NewServices(own, r.Wrappers, r.Keys, r.Journal, r.Time, leadkit.Settings{}).By(r.User)
	if err := s.Requests.Erase(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	own.Close() // closing a connection flushes its statistics
	count := func(what string) int {
		return testkit.Value[int](t, r.DB,
			`SELECT coalesce(sum(`+what+`), 0)::int FROM pg_stat_user_tables WHERE relname ~ '^pings_2'`)
	}
	testkit.Eventually(t, time.Minute, "the statistics include the erasure",
		func() bool { return count("n_tup_del") == 2 })
	if n := count("seq_tup_read + idx_tup_fetch"); n > 4*leadkit.RevealsPerDay {
		t.Errorf("read %d pings, want at most %d", n, 4*leadkit.RevealsPerDay)
	}
	if _, found := r.State(t, request); found.Erased != 2 {
		t.Errorf("got %+v", found)
	}
}

// An export that reaches the daily limit also writes a warning about the user, and an event for each lead. The form
// belongs to the request.
func TestExportClaimsFormForRequest(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t).WithRevealsPerDay(2)}
	r.Deliver(t, leadkit.Contact)
	r.Deliver(t, leadkit.Contact)
	request := r.Request(t, models.RequestAccess)
	by := r.User
	by.Form = audit.Submission{Path: "/privacy/requests/" + requests.ID(request) + "/export", Key: uuid.New()}
	if _, err := r.By(by).Requests.Export(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if n := r.AuditEvents(t, "lead.reveal_warning", "done"); n != 1 {
		t.Errorf("got %d warnings, want 1", n)
	}
	object, found, err := audit.New(r.DB.DB, r.Time).Submitted(t.Context(), r.User.Staff, by.Form)
	if object != requests.ID(request) || !found || err != nil {
		t.Errorf("the form created %q, %t, %v", object, found, err)
	}
}
