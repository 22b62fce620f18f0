package requests_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/models"
)

// The leads of a request are connected by shared email addresses or phone numbers.
func TestRequestRejectsLeadsOfOtherPeople(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ann := r.Deliver(t, leadkit.Contact)
	annsOffice := r.Deliver(t, `"contact":{"email":"ann.example@example.com","phone":"020 7946 0099"}`)
	colleague := r.Deliver(t, `"contact":{"email":"cleo@example.com","phone":"020 7946 0099"}`)
	stranger := r.Deliver(t, `"contact":{"email":"dan@example.com","phone":"020 7946 0077"}`)
	silent := r.Deliver(t, `"contact":{"email":"eve@example.com"}`)
	other := r.Deliver(t, `"contact":{"email":"flo@example.com"}`) // like eve's, without a phone number
	for name, c := range map[string]struct {
		person leads.Person
		ids    []uuid.UUID
		want   string
	}{
		"of one email address":      {leads.Person{}, []uuid.UUID{ann, annsOffice}, "<nil>"},
		"connected by a third lead": {leads.Person{}, []uuid.UUID{ann, colleague, annsOffice}, "<nil>"},
		"not connected without it":  {leads.Person{}, []uuid.UUID{ann, colleague}, "invalid leads"},
		"of a stranger":             {leads.Person{}, []uuid.UUID{ann, annsOffice, stranger}, "invalid leads"},
		"without phone numbers":     {leads.Person{}, []uuid.UUID{silent, other}, "invalid leads"},
		"stranger beside an address": {
			leads.Person{Email: "ann.example@example.com"}, []uuid.UUID{ann, stranger}, "invalid leads",
		},
		"beside an address":     {leads.Person{Email: "ann.example@example.com"}, []uuid.UUID{ann, colleague}, "<nil>"},
		"address without leads": {leads.Person{Email: "unknown@example.com"}, []uuid.UUID{ann}, "invalid leads"},
		"a single lead":         {leads.Person{}, []uuid.UUID{stranger}, "<nil>"},
	} {
		_, err := r.Requests.Create(t.Context(),
			requests.NewRequest{Kind: models.RequestAccess, ReceivedOn: r.Day(0), Person: c.person, Leads: c.ids})
		if leadkit.Rejection(err) != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM privacy_requests`); n != 4 {
		t.Errorf("got %d requests, want 4", n)
	}
}

// An export counts each contact record that it decrypts towards the daily reveal limit.
func TestExportCountsTowardsReveals(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	r.Deliver(t, leadkit.Contact)
	lead := r.Deliver(t, leadkit.Contact)
	erased := r.Deliver(t, leadkit.Contact)
	request := r.Request(t, models.RequestAccess)
	if _, err := r.Erase(t, erased); err != nil {
		t.Fatal(err)
	}
	for range 2 { // two contact records each
		if _, err := r.ExportRequest(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.AuditEvents(t, "lead.reveal_warning", "done"); n != 1 {
		t.Errorf("got %d warnings, want 1", n)
	}
	if _, err := r.Reveal(t, lead); err != nil { // the fifth
		t.Error(err)
	}
	if _, err := r.Reveal(t, lead); leadkit.Rejection(err) != "too_many reveals_per_day" {
		t.Errorf("got %v", err)
	}
}

// An export that exceeds the daily limit needs a second user, like all exports with privacy.require_approval.
func TestLargeExportNeedsSecondUser(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	for range leadkit.RevealsPerDay + 1 {
		r.Deliver(t, leadkit.Contact)
	}
	request := r.Request(t, models.RequestAccess)
	if _, err := r.ExportRequest(ctx, request); leadkit.Rejection(err) != "forbidden second_user" {
		t.Fatalf("the user who checked the identity: got %v", err)
	}
	if files, events := testkit.Value[int](t, r.DB, `SELECT count(*) FROM files`), r.AuditEvents(t,
		"privacy_request.export", "done"); files != 0 || events != 0 {
		t.Errorf("got %d files and %d audit events, want none", files, events)
	}
	if n := r.AuditEvents(t, "privacy_request.export", "rejected"); n != 1 {
		t.Errorf("got %d rejections, want 1", n)
	}
	ben := r.By(testkit.Actor(t, r.DB, "ben@example.com"))
	for n := range 2 {
		if _, err := ben.Requests.Export(ctx, request); err != nil {
			t.Fatalf("another user: %v", err)
		}
		if got := r.AuditEvents(t, "lead.reveal_warning", "done"); got != n+1 {
			t.Errorf("got %d warnings, want %d", got, n+1)
		}
	}
	lead := testkit.Value[uuid.UUID](t, r.DB, `SELECT lead_id FROM privacy_request_leads LIMIT 1`)
	if _, err := r.Reveal(t, lead); err != nil {
		t.Errorf("the rejected export counted towards the limit: %v", err)
	}
}

// A request is closed as exported when its file has been downloaded.
func TestExportClosesRequestAfterDownload(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	r.Deliver(t, leadkit.Contact)
	request := r.Request(t, models.RequestAccess)
	passphrase, err := r.ExportRequest(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if outcome, _ := r.State(t, request); outcome != "" {
		t.Errorf("before the download: got outcome %q", outcome)
	}
	r.Download(t, request, passphrase)
	if outcome, _ := r.State(t, request); outcome != "exported" {
		t.Errorf("after the download: got outcome %q", outcome)
	}
}

// Leads under a legal hold do not prevent the erasure of the others.
func TestHeldLeadIsLeft(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	held, free := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact)
	request := r.Request(t, models.RequestErasure)
	hold := leadkit.PlaceHold(t, r.Erasures, held, false)
	if err := r.Requests.Erase(ctx, request); err != nil {
		t.Fatal(err)
	}
	if outcome, found := r.State(t, request); outcome != "" || found.Leads != 2 || found.Erased != 1 ||
		found.ToNotify != 1 {
		t.Errorf("with a hold: got %q %+v", outcome, found)
	}
	if err := r.Requests.RecordNotice(ctx, request, requests.NewNotice{Partner: r.Required.ID}); err != nil {
		t.Fatal(err)
	}
	if _, found := r.State(t, request); found.ToNotify != 0 || !found.Open() {
		t.Errorf("after the notice: got %+v", found)
	}
	r.Expect(t, "with a hold", map[uuid.UUID]string{held: "contact consent", free: ""})
	if err := r.Requests.Erase(ctx, request); leadkit.Rejection(err) != "conflict legal_hold" {
		t.Errorf("only the held lead is left: got %v", err)
	}
	if err := r.Erasures.ReleaseHold(ctx, scope.System, hold.ID); err != nil {
		t.Fatal(err)
	}
	if err := r.Requests.Erase(ctx, request); err != nil {
		t.Fatal(err)
	}
	if outcome, found := r.State(t, request); outcome != "erased" || found.Erased != 2 || found.ToNotify != 1 {
		t.Errorf("without holds: got %q %+v", outcome, found)
	}
}

// If all leads were erased before the request was received, the request is not recorded as an erasure, and no partner
// has to be notified.
func TestRequestForErasedLeads(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	lead := r.Deliver(t, leadkit.Contact)
	if _, err := r.Erase(t, lead); err != nil {
		t.Fatal(err)
	}
	r.PassDays(t, 1)
	request := r.RequestFor(t, models.RequestErasure, lead)
	if err := r.Requests.Erase(ctx, request); leadkit.Rejection(err) != "conflict already_erased" {
		t.Errorf("got %v", err)
	}
	if err := r.Requests.Close(ctx, request, requests.Closing{Outcome: models.OutcomeNothingFound}); err != nil {
		t.Fatal(err)
	}
	if outcome, _ := r.State(t, request); outcome != "nothing_found" {
		t.Errorf("got outcome %q", outcome)
	}
	if err := r.Requests.RecordNotice(ctx, request, requests.NewNotice{Partner: r.Required.ID}); leadkit.Rejection(err) != "conflict not_erased_yet" {
		t.Errorf("a notice: got %v", err)
	}
}

// If leads are erased in another way after a request was received, their partners must still be notified, unless a
// retention period had passed or another request lists the partners.
func TestNoticesForLeadsErasedElsewhere(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	s := r.Retaining(leadkit.Periods(10, 10, nil, nil)).By(r.User)
	leadkit.RunRetention(t, s.Retention, nil) // puts the periods into effect
	expect := func(request uuid.UUID, outcome string, toNotify int) {
		t.Helper()
		got, found := r.State(t, request)
		if got != outcome || found.ToNotify != toNotify || found.Open() != (outcome == "" || toNotify > 0) {
			t.Errorf("got %q with %d partners to notify, want %q with %d", got, found.ToNotify, outcome, toNotify)
		}
	}
	closeAs := func(request uuid.UUID, c requests.Closing) {
		t.Helper()
		if err := r.Requests.Close(ctx, request, c); err != nil {
			t.Fatal(err)
		}
	}
	nothing := requests.Closing{Outcome: models.OutcomeNothingFound}

	fromPage := r.DeliverIn(t, "GB", "page@example.com")
	objection := r.RequestFor(t, models.RequestObjection, fromPage)
	withdrawn := r.RequestFor(t, models.RequestErasure, fromPage)
	if _, err := r.Erase(t, fromPage); err != nil {
		t.Fatal(err)
	}
	closeAs(withdrawn, requests.Closing{Outcome: models.OutcomeWithdrawn})
	expect(withdrawn, "withdrawn", 0)
	closeAs(objection, nothing)
	expect(objection, "nothing_found", 1)
	if err := r.Requests.RecordNotice(ctx, objection, requests.NewNotice{Partner: r.Required.ID}); err != nil {
		t.Fatal(err)
	}
	expect(objection, "nothing_found", 0)

	byRequest := r.DeliverIn(t, "GB", "request@example.com")
	first, second := r.RequestFor(t, models.RequestErasure, byRequest), r.RequestFor(t, models.RequestErasure, byRequest)
	if err := r.Requests.Erase(ctx, first); err != nil {
		t.Fatal(err)
	}
	closeAs(second, nothing)
	expect(first, "erased", 1)
	expect(second, "nothing_found", 0)

	elsewhere, held, here := r.DeliverIn(t, "GB", "a@example.com"), r.DeliverIn(t, "GB", "b@example.com"), r.DeliverIn(t,
		"GB", "c@example.com")
	mixed := r.RequestFor(t, models.RequestErasure, elsewhere, held, here)
	r.DB.Exec(t, `UPDATE privacy_request_leads SET partner_id = $1 WHERE lead_id = $2`, r.Off.ID, elsewhere)
	leadkit.PlaceHold(t, r.Erasures, held, false)
	if _, err := r.Erase(t, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := r.Requests.Erase(ctx, mixed); err != nil {
		t.Fatal(err)
	}
	expect(mixed, "", 2)

	rejected := r.RequestFor(t, models.RequestErasure, held)
	old := r.DeliverIn(t, "GB", "old@example.com")
	expired := r.RequestFor(t, models.RequestErasure, old)
	r.PassDays(t, 11)
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainContact: {"GB": 1}})
	closeAs(expired, nothing)
	expect(expired, "nothing_found", 0)
	closeAs(rejected, requests.Closing{Outcome: models.OutcomeRejected, Ground: models.GroundLegalClaims})
	expect(rejected, "rejected", 0)
}

// The platform's own partner, which has the leads of unsigned posts, is not notified and has no copies.
func TestPlatformIsNotNotified(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	unsigned, lead := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact)
	r.DB.Exec(t, `UPDATE leads SET partner_id = $1 WHERE id = $2`, models.PlatformIDs.Partner, unsigned)
	access := r.Request(t, models.RequestAccess)
	passphrase, err := r.ExportRequest(ctx, access)
	if err != nil {
		t.Fatal(err)
	}
	var data struct{ Senders []string }
	if err := json.Unmarshal(r.Download(t, access, passphrase)["data.json"], &data); err != nil ||
		!slices.Equal(data.Senders, []string{r.Required.Name}) {
		t.Errorf("got senders %v, %v", data.Senders, err)
	}
	single := r.RequestFor(t, models.RequestErasure, unsigned)
	if err := r.Requests.Erase(ctx, single); err != nil {
		t.Fatal(err)
	}
	if _, found := r.State(t, single); found.ToNotify != 0 || found.Open() {
		t.Errorf("a request for unsigned leads: got %+v", found)
	}
	if err := r.Requests.RecordNotice(ctx, single, requests.NewNotice{Partner: models.PlatformIDs.Partner}); leadkit.Rejection(err) != "not_found privacy_request" {
		t.Errorf("a notice to the platform: got %v", err)
	}
	both := r.RequestFor(t, models.RequestErasure, lead, r.Deliver(t, leadkit.Contact))
	r.DB.Exec(t, `UPDATE privacy_request_leads SET partner_id = $1 WHERE request_id = $2 AND lead_id <> $3`,
		models.PlatformIDs.Partner, both, lead)
	if err := r.Requests.Erase(ctx, both); err != nil {
		t.Fatal(err)
	}
	notices, err := r.Requests.Notices(ctx, both)
	if _, found := r.State(t, both); err != nil || len(notices) != 1 || notices[0].Partner != r.Required.ID ||
		found.ToNotify != 1 {
		t.Errorf("got notices %+v, %v, and %+v", notices, err, found)
	}
}

// A user can add leads that share nothing with the others, with a reason that is in the audit log without the note.
func TestAddLeadsWithReason(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	ann := r.Deliver(t, leadkit.Contact)
	r.Time.Advance(time.Second) // the list starts with the newest lead
	stranger := r.Deliver(t, `"contact":{"email":"dan@example.com","phone":"020 7946 0077"}`)
	request := r.RequestFor(t, models.RequestAccess, ann)
	if _, err := r.ExportRequest(ctx, request); err != nil {
		t.Fatal(err)
	}
	for want, a := range map[string]requests.Addition{
		"invalid exception": {Leads: []uuid.UUID{stranger}},
		"invalid note":      {Leads: []uuid.UUID{stranger}, Exception: models.ExceptionOther, Note: " "},
		"invalid leads":     {Exception: models.ExceptionProved},
	} {
		if err := r.Requests.AddLeads(ctx, request, a); leadkit.Rejection(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for name, lead := range map[string]uuid.UUID{"an unknown lead": uuid.New(), "a lead of the request": ann} {
		if err := r.Requests.AddLeads(ctx, request, requests.Addition{Leads: []uuid.UUID{lead}, Exception: models.ExceptionProved}); leadkit.Rejection(err) != "invalid leads" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := r.Requests.AddLeads(ctx, request, requests.Addition{Leads: []uuid.UUID{stranger}, Exception: models.ExceptionOther, Note: "canary-note"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.OpenExport(ctx, request); leadkit.Rejection(err) != "conflict no_export" {
		t.Errorf("the export without the added lead: got %v", err)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM files`); n != 0 {
		t.Errorf("got %d files, want 0", n)
	}
	event := testkit.Value[string](t, r.DB,
		`SELECT string_agg(after::text, ' ') FROM audit_events WHERE action = 'privacy_request.add_leads'`)
	if !strings.Contains(event, id.Format(id.Lead, stranger)) || !strings.Contains(event, `"exception":"other"`) ||
		strings.Contains(event, "canary") {
		t.Errorf("got audit event %s", event)
	}
	all, err := r.Requests.Leads(ctx, request, 10)
	if err != nil || len(all) != 2 || all[0].LeadID != stranger || all[0].Exception != models.ExceptionOther ||
		all[0].ExceptionNote != "canary-note" {
		t.Errorf("got %+v, %v", all, err)
	}
}

// With two users, neither can choose the leads alone by removing some.
func TestRemoveLeadsClearsIdentityCheck(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	one, two := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact)
	approval := leadkit.NewServices(r.DB.DB, r.Wrappers, r.Keys, r.Journal, r.Time,
		leadkit.Settings{RevealsPerDay: 100, RequireApproval: true})
	fay, ben := approval.By(r.User), approval.By(testkit.Actor(t, r.DB, "ben@example.com"))
	created, err := fay.Requests.Create(ctx,
		requests.NewRequest{Kind: models.RequestErasure, ReceivedOn: r.Day(0), Leads: []uuid.UUID{one, two}})
	if err == nil {
		err = fay.Requests.CheckIdentity(ctx, created.ID, requests.Identity{Check: models.IdentityReply})
	}
	if err == nil {
		err = ben.Requests.RemoveLeads(ctx, created.ID, []uuid.UUID{two})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := ben.Requests.Erase(ctx, created.ID); leadkit.Rejection(err) != "conflict identity_unchecked" {
		t.Errorf("got %v", err)
	}
}

// The second user approves the leads that the request then has. If leads are added, the identity is checked again.
func TestAddLeadsClearsIdentityCheck(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	single := r.Deliver(t, leadkit.Contact)
	var all []uuid.UUID
	for range leadkit.RevealsPerDay + 1 {
		all = append(all, r.Deliver(t, leadkit.OtherContact))
	}
	fay, ben := r.User, testkit.Actor(t, r.DB, "ben@example.com")
	approval := leadkit.NewServices(r.DB.DB, r.Wrappers, r.Keys, r.Journal, r.Time,
		leadkit.Settings{RevealsPerDay: 100, RequireApproval: true})
	for name, c := range map[string]struct {
		service privacy.Services
		kind    models.PrivacyRequestKind
		want    string
	}{
		"an export that exceeds the limit": {r.Services, models.RequestAccess, "forbidden second_user"},
		"an export":                        {approval, models.RequestAccess, "forbidden same_person"},
		"an erasure":                       {approval, models.RequestErasure, "forbidden same_person"},
	} {
		first, second := c.service.By(fay), c.service.By(ben)
		fulfil := func(s privacy.Services, request uuid.UUID) error {
			if c.kind == models.RequestErasure {
				return s.Requests.Erase(ctx, request)
			}
			_, err := s.Requests.Export(ctx, request)
			return err
		}
		created, err := first.Requests.Create(ctx,
			requests.NewRequest{Kind: c.kind, ReceivedOn: r.Day(0), Leads: []uuid.UUID{single}})
		if err == nil {
			err = second.Requests.CheckIdentity(ctx, created.ID,
				requests.Identity{Check: models.IdentityOther, Note: "passport"})
		}
		if err == nil {
			err = first.Requests.AddLeads(ctx, created.ID, requests.Addition{Leads: all, Exception: models.ExceptionProved})
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, found := r.State(t, created.ID); found.Identity != nil || found.IdentityNote != "" || found.IdentityBy != nil ||
			found.IdentityByID != nil || found.IdentityAt != nil {
			t.Errorf("%s: the identity check is left: %+v", name, found)
		}
		if err := fulfil(first, created.ID); leadkit.Rejection(err) != "conflict identity_unchecked" {
			t.Errorf("%s without a check of the added leads: got %v", name, err)
		}
		if err := first.Requests.CheckIdentity(ctx, created.ID, requests.Identity{Check: models.IdentityReply}); err != nil {
			t.Fatal(err)
		}
		if err := fulfil(first, created.ID); leadkit.Rejection(err) != c.want {
			t.Errorf("%s by the user who added the leads: got %v, want %s", name, err, c.want)
		}
		if err := r.Requests.Close(ctx, created.ID, requests.Closing{Outcome: models.OutcomeWithdrawn}); err != nil {
			t.Fatal(err)
		}
	}
}

// Each lead shows which identifier matched, and whether another one differs. Nothing is decrypted for it.
func TestRequestTellsPeopleApart(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	deliver := func(body string) uuid.UUID {
		r.Time.Advance(time.Second)
		return r.Deliver(t, body)
	}
	ann := deliver(leadkit.Contact)
	annsMobile := deliver(`"contact":{"email":"ann.example@example.com","phone":"07400 123456"}`)
	bob := deliver(leadkit.OtherContact) // has Ann's phone number
	silent := deliver(`"contact":{"email":"ann.example@example.com"}`)
	type match struct {
		by           models.LeadMatch
		email, phone int
	}
	for name, c := range map[string]struct {
		person leads.Person
		ids    []uuid.UUID
		want   map[uuid.UUID]match
		differ int
	}{
		"email and phone": {
			leads.Person{Email: "ann.example@example.com", Phone: "+442079460018"}, nil,
			map[uuid.UUID]match{ann: {"both", 1, 1}, annsMobile: {"email", 1, 2}, bob: {"phone", 2, 1}, silent: {"email", 1, 0}},
			2,
		},
		"email": {
			leads.Person{Email: "ann.example@example.com"}, nil,
			map[uuid.UUID]match{ann: {"email", 1, 2}, annsMobile: {"email", 1, 1}, silent: {"email", 1, 0}}, 1, // the newest of equally frequent ones
		},
		"phone": {
			leads.Person{Phone: "+442079460018"}, nil,
			map[uuid.UUID]match{ann: {"phone", 2, 1}, bob: {"phone", 1, 1}}, 1,
		},
		"an email address without leads": {
			leads.Person{Email: "new@example.com", Phone: "+442079460018"}, nil,
			map[uuid.UUID]match{ann: {"phone", 3, 1}, bob: {"phone", 2, 1}}, 2,
		},
		"ids": {
			leads.Person{}, []uuid.UUID{bob, ann, silent},
			map[uuid.UUID]match{bob: {"id", 2, 1}, ann: {"id", 1, 1}, silent: {"id", 1, 0}}, 1,
		},
	} {
		created, err := r.Requests.Create(t.Context(),
			requests.NewRequest{Kind: models.RequestErasure, ReceivedOn: r.Day(0), Person: c.person, Leads: c.ids})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all, err := r.Requests.Leads(t.Context(), created.ID, 10)
		if err != nil || len(all) != len(c.want) {
			t.Fatalf("%s: got %+v, %v", name, all, err)
		}
		for _, l := range all {
			if got := (match{l.Matched, l.EmailNumber, l.PhoneNumber}); got != c.want[l.LeadID] {
				t.Errorf("%s: lead %s: got %+v, want %+v", name, l.LeadID, got, c.want[l.LeadID])
			}
		}
		if _, found := r.State(t, created.ID); found.Differ != c.differ {
			t.Errorf("%s: %d leads differ, want %d", name, found.Differ, c.differ)
		}
		if differs := func(l models.PrivacyRequestLead) bool { return l.EmailNumber > 1 || l.PhoneNumber > 1 }; c.differ > 0 && !differs(all[0]) {
			t.Errorf("%s: the list does not start with the lead that differs", name)
		}
	}
	if n := testkit.Value[int](t, r.DB, `SELECT coalesce(sum(reveals), 0)::int FROM daily_access`) + r.CountReveals(t); n != 0 {
		t.Errorf("got %d reveals, want 0", n)
	}
}

// When leads are added or removed, all leads are compared again.
func TestChangedLeadsAreComparedAgain(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	deliver := func(body string) uuid.UUID {
		r.Time.Advance(time.Second)
		return r.Deliver(t, body)
	}
	ann, annAgain := deliver(leadkit.Contact), deliver(leadkit.Contact)
	bob, bobAgain := deliver(leadkit.OtherContact), deliver(leadkit.OtherContact)
	stranger := deliver(`"contact":{"email":"dan@example.com","phone":"020 7946 0077"}`)
	type numbers struct{ email, phone int }
	expect := func(name string, request uuid.UUID, want map[uuid.UUID]numbers, differ int) {
		t.Helper()
		all, err := r.Requests.Leads(ctx, request, 10)
		if err != nil || len(all) != len(want) {
			t.Fatalf("%s: got %+v, %v", name, all, err)
		}
		for _, l := range all {
			if got := (numbers{l.EmailNumber, l.PhoneNumber}); got != want[l.LeadID] {
				t.Errorf("%s: got %+v, want %+v", name, got, want[l.LeadID])
			}
		}
		if _, found := r.State(t, request); found.Differ != differ {
			t.Errorf("%s: %d leads differ, want %d", name, found.Differ, differ)
		}
	}
	create := func(p leads.Person, ids ...uuid.UUID) uuid.UUID {
		t.Helper()
		created, err := r.Requests.Create(ctx,
			requests.NewRequest{Kind: models.RequestErasure, ReceivedOn: r.Day(0), Person: p, Leads: ids})
		if err != nil {
			t.Fatal(err)
		}
		return created.ID
	}
	add := func(request uuid.UUID, ids ...uuid.UUID) {
		t.Helper()
		if err := r.Requests.AddLeads(ctx, request, requests.Addition{Leads: ids, Exception: models.ExceptionProved}); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(request uuid.UUID, ids ...uuid.UUID) {
		t.Helper()
		if err := r.Requests.RemoveLeads(ctx, request, ids); err != nil {
			t.Fatal(err)
		}
	}

	byID := create(leads.Person{}, bob, ann)
	add(byID, stranger, annAgain)
	expect("added", byID, map[uuid.UUID]numbers{ann: {1, 1}, annAgain: {1, 1}, bob: {2, 1}, stranger: {3, 2}}, 2)
	remove(byID, ann, annAgain)
	expect("removed", byID, map[uuid.UUID]numbers{bob: {1, 1}, stranger: {2, 2}}, 1)

	byEmail := create(leads.Person{Email: "ann.example@example.com"}, bob, bobAgain)
	remove(byEmail, annAgain)
	expect("by email", byEmail, map[uuid.UUID]numbers{ann: {1, 1}, bob: {2, 1}, bobAgain: {2, 1}}, 2)
	remove(byEmail, ann)
	expect("without the searched address", byEmail, map[uuid.UUID]numbers{bob: {2, 1}, bobAgain: {2, 1}}, 2)
	add(byEmail, stranger)
	expect("still without it", byEmail, map[uuid.UUID]numbers{bob: {2, 1}, bobAgain: {2, 1}, stranger: {3, 2}}, 3)

	if _, err := r.Erase(t, ann); err != nil {
		t.Fatal(err)
	}
	add(byEmail, ann)
	expect("erased", byEmail, map[uuid.UUID]numbers{bob: {2, 1}, bobAgain: {2, 1}, stranger: {3, 2}, ann: {0, 0}}, 3)
}

// A file that is no longer the export of a request is deleted together with its reference, or neither is. Deleting
// it cannot lose a new export.
func TestReplacedExportsAreDeleted(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t).WithRevealsPerDay(100)}
	ctx := t.Context()
	ann, bob := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.OtherContact)
	request := r.RequestFor(t, models.RequestAccess, ann, bob)
	first, err := r.Requests.Export(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	reveals := `SELECT reveals FROM daily_access`
	used := testkit.Value[int](t, r.DB, reveals)
	reject := `CREATE TRIGGER files_stay BEFORE DELETE ON files FOR EACH ROW WHEN (OLD.id = '` + first.File.String() +
		`') EXECUTE FUNCTION reject_change()`
	r.DB.Exec(t, reject)
	if _, err := r.Requests.Export(ctx, request); err == nil {
		t.Error("exported again although the old file cannot be deleted")
	}
	if err := r.Requests.RemoveLeads(ctx, request, []uuid.UUID{bob}); err == nil {
		t.Error("a lead was removed although the export cannot be deleted")
	}
	files := func() int { return testkit.Value[int](t, r.DB, `SELECT count(*) FROM files`) }
	if _, found := r.State(t, request); files() != 1 || found.FileID == nil || *found.FileID != first.File ||
		found.Leads != 2 {
		t.Errorf("got %d files and %+v", files(), found)
	}
	if now := testkit.Value[int](t, r.DB, reveals); now != used {
		t.Errorf("got %d reveals, want %d: nothing was decrypted", now, used)
	}
	r.DB.Exec(t, `DROP TRIGGER files_stay ON files`)
	second, err := r.Requests.Export(ctx, request)
	if err != nil || files() != 1 || second.File == first.File {
		t.Errorf("exported again: got %d files, %v", files(), err)
	}
	if err := r.Requests.RemoveLeads(ctx, request, []uuid.UUID{bob}); err != nil || files() != 0 {
		t.Errorf("removed: got %d files, %v", files(), err)
	}
}

// If the data is exported twice at the same time, only one export is kept. The other one fails with an error.
func TestExportsAtTheSameTime(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t).WithRevealsPerDay(100)}
	r.Deliver(t, leadkit.Contact)
	request := r.Request(t, models.RequestAccess)
	resume := r.PauseAfter(t, `INSERT ON file_parts`)
	type result struct {
		requests.Exported
		err error
	}
	results := make(chan result, 2)
	for range 2 {
		go func() {
			e, err := r.Requests.Export(t.Context(), request)
			results <- result{e, err}
		}()
	}
	r.AwaitWaiting(t, 2)
	resume()
	kept, other := <-results, <-results
	if kept.err != nil {
		kept, other = other, kept
	}
	if kept.err != nil || leadkit.Rejection(other.err) != "conflict exported_meanwhile" {
		t.Fatalf("got errors %v and %v", kept.err, other.err)
	}
	r.Download(t, request, kept.Passphrase)
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM files`); n != 1 {
		t.Errorf("got %d files, want 1", n)
	}
}

// Removed leads are neither exported nor erased. A prepared export that contains them is deleted.
func TestRemoveLeads(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx := t.Context()
	ann, bob := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.OtherContact)
	byPhone := func(kind models.PrivacyRequestKind) uuid.UUID {
		created, err := r.Requests.Create(ctx, requests.NewRequest{
			Kind: kind, ReceivedOn: r.Day(0), Person: leads.Person{Phone: "+442079460018"}, Identity: requests.Identity{
				Check: models.IdentityCall,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return created.ID
	}
	access, deletion := byPhone(models.RequestAccess), byPhone(models.RequestErasure)
	if _, err := r.ExportRequest(ctx, access); err != nil {
		t.Fatal(err)
	}
	old := r.ExportFile(t, access)
	for name, c := range map[string]struct {
		leads []uuid.UUID
		want  string
	}{"no lead": {nil, "invalid leads"}, "a lead of another request": {[]uuid.UUID{bob, uuid.New()}, "invalid leads"}} {
		if err := r.Requests.RemoveLeads(ctx, access, c.leads); leadkit.Rejection(err) != c.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, request := range []uuid.UUID{access, deletion} {
		if err := r.Requests.RemoveLeads(ctx, request, []uuid.UUID{bob}); err != nil {
			t.Fatal(err)
		}
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM audit_events WHERE action = 'privacy_request.remove_leads' AND (after->'leads')::jsonb ? $1`, id.Format(id.Lead, bob)); n != 2 {
		t.Errorf("got %d audit events, want 2", n)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM files`); n != 0 {
		t.Errorf("got %d files, want 0", n)
	}
	if err := r.Requests.RecordDownload(ctx, access, old); err != nil { // it was still being sent
		t.Fatal(err)
	}
	if outcome, _ := r.State(t, access); outcome != "" {
		t.Errorf("the download of a deleted file closed the request: %q", outcome)
	}
	passphrase, err := r.ExportRequest(ctx, access)
	if err != nil {
		t.Fatal(err)
	}
	if data := string(r.Download(t, access, passphrase)["data.json"]); strings.Contains(data, "bob@example.com") ||
		!strings.Contains(data, "Ann.Example") {
		t.Errorf("got %s", data)
	}
	if err := r.Requests.RemoveLeads(ctx, access, []uuid.UUID{ann}); leadkit.Rejection(err) != "conflict request_closed" {
		t.Errorf("after the export: got %v", err)
	}
	if err := r.Requests.Erase(ctx, deletion); err != nil {
		t.Fatal(err)
	}
	r.Expect(t, "afterwards", map[uuid.UUID]string{ann: "", bob: "contact consent"})
}

// A lead that is removed at the same time as the others are erased is either erased or removed.
func TestRemoveBesideErasure(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	for range 4 {
		all := []uuid.UUID{r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact)}
		request := r.RequestFor(t, models.RequestErasure, all...)
		var group sync.WaitGroup
		var removed, erased error
		group.Go(func() { removed = r.Requests.RemoveLeads(t.Context(), request, all[:1]) })
		group.Go(func() { erased = r.Requests.Erase(t.Context(), request) })
		group.Wait()
		want := map[uuid.UUID]string{all[0]: "", all[1]: ""}
		switch got := leadkit.Rejection(removed) + ", " + leadkit.Rejection(erased); got {
		case "<nil>, <nil>":
			want[all[0]] = "contact consent"
		case "<nil>, conflict leads_changed":
			want[all[0]], want[all[1]] = "contact consent", "contact consent"
		case "conflict request_closed, <nil>":
		default:
			t.Errorf("got %s", got)
		}
		r.Expect(t, "afterwards", want)
	}
}
