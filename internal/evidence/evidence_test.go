package evidence_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/consents"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/evidence"
	"github.com/pingpost/pingpost/internal/evidence/pack"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// rig is a platform with a user who creates packs.
type rig struct {
	*testkit.Platform
	*evidence.Service
	services privacy.Services
	user     audit.Actor
	journal  string
}

func newRig(t *testing.T) rig {
	t.Helper()
	r := newRigWithoutKey(t)
	if err := r.Service.Deps.Keys.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func newRigWithoutKey(t *testing.T) rig {
	t.Helper()
	p := testkit.NewPlatform(t)
	r := rig{Platform: p, user: testkit.Actor(t, p.DB, "fay@example.com"), journal: t.TempDir()}
	queue := testkit.NewQueue(p.DB.DB, p.Time)
	r.services = r.servicesWith(retention.Periods{})
	r.Service = evidence.NewService(evidence.Deps{
		DB: p.DB.DB, Clock: p.Time, Keys: r.keysWith(t, 1), Audit: audit.New(p.DB.DB, p.Time), Leads: leads.NewReader(p.DB.DB,
			p.Keys, p.Time),
		Payouts: payouts.NewService(p.DB.DB, p.Time, queue, blobstore.NewStore(p.DB.DB, p.Keys, p.Time),
			payouts.Policy{ReturnWindow: time.Hour}),
		Erasures: r.services.Erasures, Reveals: r.services.Reveals,
		URL: "https://leads.example.com",
	}).By(r.user)
	return r
}

// servicesWith returns the services that read and erase personal data, with the given retention periods.
func (r rig) servicesWith(periods retention.Periods) privacy.Services {
	erasures := journal.Folder(r.journal)
	return leadkit.NewServices(r.DB.DB, r.Wrappers, r.Platform.Keys, erasures, r.Time, leadkit.Settings{
		RevealsPerDay: 50, Retention: periods,
	})
}

// keysWith returns the signing keys as seen by a node with the given platform keys.
func (r rig) keysWith(t *testing.T, fills ...byte) *evidence.Keys {
	t.Helper()
	return evidence.NewKeys(r.DB.DB, testkit.PlatformKeys(t, fills...), r.Time)
}

// post delivers a signed lead.
func (r rig) post(t *testing.T) uuid.UUID {
	t.Helper()
	r.Reload(t)
	in := r.Intake(intake.Settings{DefaultMode: models.SigningRequired})
	q, err := in.Ping(intake.PingRequest{
		ID: uuid.New(), Body: []byte(`{"industry":"plumber","postcode":"SW1A 1AA","country":"GB"}`),
	})
	if err != nil || !q.Accepted {
		t.Fatalf("ping: got %+v, %v", q, err)
	}
	r.Time.Advance(time.Minute)
	post := fmt.Appendf(nil, `{"transactionId":%q,"partnerId":%q,"email":"canary@example.com","contact":{"name":"Canary Name"},"notes":"canary notes",
		"consent":{"acknowledged":true,"acknowledgedAt":"2026-01-02T03:04","disclosureText":"I agree","recipientHash":%q,"thirdPartyFormCertUrl":"https://cert.example.com/1","thirdPartyLeadId":"third-1"},"reference":"click-1","subId":"mail"}`,
		q.TransactionID, r.Required.Accounts[0].Identifier, strings.Repeat("ab", 32))
	lead, err := in.Post(t.Context(), intake.PostRequest{
		ID: uuid.New(), Address: clientaddr.Group("192.0.2.1"), Body: post, Headers: r.Required.Sign(r.Time.Now(), post),
	})
	if err != nil {
		t.Fatal(err)
	}
	return lead.LeadID
}

// containsCanary reports whether a text contains contact data from post, or a note or reason of staff. The
// character after the word does not occur in base64, so a random text cannot match.
func containsCanary(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "canary ") || strings.Contains(text, "canary@")
}

func (r rig) create(t *testing.T, q evidence.Request) ([]byte, error) {
	t.Helper()
	if q.Events == nil {
		q.Events = audit.Everything
	}
	return r.Create(t.Context(), scope.System, q)
}

// verify verifies a pack with the published keys.
func (r rig) verify(t *testing.T, content []byte) pack.Verified {
	t.Helper()
	published, err := r.Service.Deps.Keys.LoadPublicKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := pack.ParseKeys(published.JSON)
	if err != nil {
		t.Fatal(err)
	}
	v, err := pack.Verify(content, keys)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (r rig) document(t *testing.T, q evidence.Request) pack.Document {
	t.Helper()
	content, err := r.create(t, q)
	if err != nil {
		t.Fatal(err)
	}
	return r.verify(t, content).Document
}

func (r rig) reveal(t *testing.T, by audit.Actor, lead uuid.UUID, fields ...models.ContactField) {
	t.Helper()
	for _, f := range fields {
		if _, err := r.Reveals.By(by).Reveal(t.Context(), scope.System,
			reveal.NewReveal{Lead: lead, Field: f, Reason: models.RevealForComplaint, Note: "canary note"}); err != nil {
			t.Fatal(err)
		}
	}
}

func (r rig) erase(t *testing.T, lead uuid.UUID) erasure.Receipt {
	t.Helper()
	receipt, err := r.Erasures.By(r.user).Erase(t.Context(), scope.System,
		erasure.NewErasure{Lead: lead, Reason: models.EraseForRequest, Note: "canary note"})
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

func reason(err error) string {
	if f := apperr.As(err); f != nil {
		return string(f.Code) + " " + f.Reason
	}
	return fmt.Sprint(err)
}

func contactFields(d pack.Document) (all []string) {
	for _, f := range d.Contact {
		all = append(all, f.Field+"="+f.Value)
	}
	return all
}

func TestCreate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.post(t)
	name := id.Format(id.Lead, lead)
	r.reveal(t, r.user, lead, models.ContactEmail)
	ret, err := r.Payouts.By(r.user).RequestReturn(t.Context(), scope.System, lead, models.Fraud, "canary evidence")
	if err == nil {
		err = r.Payouts.By(r.user).AcceptReturn(t.Context(), scope.System, ret.ID, "canary answer")
	}
	if err != nil {
		t.Fatal(err)
	}
	content, err := r.create(t, evidence.Request{Lead: lead, Return: ret.ID, Amounts: true})
	if err != nil {
		t.Fatal(err)
	}
	if containsCanary(string(content)) {
		t.Error("the pack contains contact data or notes")
	}
	v := r.verify(t, content)
	d := v.Document
	if d.Lead.ID != name || d.Lead.Reference != "click-1" || d.Lead.SubID != "mail" ||
		d.Lead.Account != r.Required.Accounts[0].Identifier || d.Lead.Price == nil || d.Lead.Price.Currency != "GBP" ||
		d.CreatedBy != "fay@example.com" {
		t.Errorf("got lead %+v by %s", d.Lead, d.CreatedBy)
	}
	if !d.Times.ReceivedAt.Equal(d.Times.PingedAt.Add(time.Minute)) ||
		!d.Times.QuoteExpiresAt.Equal(d.Times.PingedAt.Add(15*time.Minute)) {
		t.Errorf("got times %+v", d.Times)
	}
	if c := d.Consent; c.AcknowledgedAt != nil || *c.AcknowledgedText != "2026-01-02T03:04" ||
		c.AcknowledgedDoubt != "consent_time_without_offset" {
		t.Errorf("got time of consent %v, sent as %s, doubt %q", c.AcknowledgedAt, *c.AcknowledgedText, c.AcknowledgedDoubt)
	}
	if c := d.Consent; !c.Acknowledged || *c.DisclosureText != "I agree" ||
		*c.CertificateURL != "https://cert.example.com/1" || *c.ThirdPartyLeadID != "third-1" || len(*c.RecipientHash) != 64 {
		t.Errorf("got consent %+v", c)
	}
	if s := d.Signature; !s.Verified || s.SecretID != id.Format(id.Secret, r.Required.SecretID) ||
		strings.Contains(string(content), r.Required.Secret) {
		t.Errorf("got signature %+v", s)
	}
	if len(d.Timeline) != 2 || d.Timeline[1].Detail["reason"] != "fraud" {
		t.Errorf("got timeline %+v", d.Timeline)
	}
	if len(d.Returns) != 1 || d.Returns[0].ID != d.DisputedReturn || d.Returns[0].State != "accepted" ||
		d.Returns[0].DecidedAt == nil {
		t.Errorf("got returns %+v, disputed %s", d.Returns, d.DisputedReturn)
	}
	if e := d.Ledger.Entries; len(e) != 2 || e[0].Kind != "return" || e[0].Amount.Amount != "-"+e[1].Amount.Amount ||
		!d.Ledger.Complete {
		t.Errorf("got ledger %+v", d.Ledger)
	}
	if len(d.Reveals) != 1 || d.Reveals[0].Field != "email" || d.Erasure != nil {
		t.Errorf("got reveals %+v, erasure %+v", d.Reveals, d.Erasure)
	}
	var actions []string
	for _, e := range d.Audit.Events {
		actions = append(actions, e.Action)
	}
	if !slices.Equal(actions, []string{"lead.reveal", "return.request", "return.accept"}) || !d.Audit.Complete {
		t.Errorf("got audit events %v", actions)
	}
	if head := testkit.Value[string](t, r.DB, `SELECT encode(hash, 'hex') FROM audit_events WHERE id = $1`,
		d.Audit.HeadID); head != d.Audit.Head {
		t.Errorf("got head %s, want %s", d.Audit.Head, head)
	}
	recorded := testkit.Value[string](t, r.DB, `SELECT (after->>'manifest') || ' ' || (after->>'key') || ' ' || (after->>'return') FROM audit_events WHERE action = 'lead.evidence' AND object_id = $1`, name)
	if manifest, rest, _ := strings.Cut(recorded, " "); len(manifest) != 64 || rest != v.Key.ID+" "+d.DisputedReturn {
		t.Errorf("the audit log records %q", recorded)
	}
	// The next pack contains the record of this one.
	if again := r.document(t, evidence.Request{Lead: lead, Amounts: true}); len(again.Audit.Events) != 4 ||
		again.DisputedReturn != "" {
		t.Errorf("got %+v", again.Audit.Events)
	}
	if v, err := r.Audit.Verify(t.Context(), d.Audit.Head); err != nil || !v.Intact() {
		t.Errorf("verifying the audit log: %+v, %v", v, err)
	}
}

// Without permission to see payouts, the pack contains no amounts and no ledger entries, not even in audit events.
func TestCreateWithoutAmounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.post(t)
	if _, err := r.Payouts.By(r.user).RequestReturn(t.Context(), scope.System, lead, models.Fraud, "fake"); err != nil {
		t.Fatal(err)
	}
	content, err := r.create(t, evidence.Request{Lead: lead, Events: func(a audit.Area) scope.Scope {
		if a == "leads" {
			return scope.Everywhere
		}
		return scope.Scope{}
	}})
	if err != nil {
		t.Fatal(err)
	}
	d := r.verify(t, content).Document
	if d.Lead.Price != nil || d.Ledger != nil || len(d.Returns) != 1 || len(d.Audit.Events) != 0 || d.Audit.LeftOut != 1 ||
		d.Audit.Complete {
		t.Errorf("got %+v", d)
	}
	minor := testkit.Value[int64](t, r.DB, `SELECT price_minor FROM leads`)
	for _, amount := range []string{fmt.Sprint(minor), fmt.Sprintf("%d.%02d", minor/100, minor%100)} {
		if strings.Contains(string(content), `"amount":`+amount) || strings.Contains(string(content), `"amount":"`+amount) {
			t.Errorf("the pack contains %s", amount)
		}
	}
}

func TestCreateRejects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead, other := r.post(t), r.post(t)
	foreign, err := r.Payouts.By(r.user).RequestReturn(t.Context(), scope.System, other, models.Fraud, "fake")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		scope   scope.Scope
		request evidence.Request
		want    string
	}{
		"no such lead":         {scope.System, evidence.Request{Lead: uuid.New()}, "not_found lead"},
		"another partner's":    {scope.Partners(r.Off.ID), evidence.Request{Lead: lead}, "not_found lead"},
		"no such return":       {scope.System, evidence.Request{Lead: lead, Return: uuid.New()}, "not_found return"},
		"another lead's":       {scope.System, evidence.Request{Lead: lead, Return: foreign.ID}, "not_found return"},
		"nothing was revealed": {scope.System, evidence.Request{Lead: lead, Contact: true}, "conflict not_revealed"},
	} {
		if content, err := r.Create(t.Context(), c.scope, c.request); content != nil || reason(err) != c.want {
			t.Errorf("%s: got %d bytes, %v, want %s", name, len(content), err, c.want)
		}
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM audit_events WHERE action = 'lead.evidence'`); n != 0 {
		t.Errorf("got %d audit events, want 0", n)
	}
}

// A pack contains exactly the fields that the same user revealed in the last 24 hours.
func TestCreateWithContact(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead, gus := r.post(t), testkit.Actor(t, r.DB, "gus@example.com")
	r.reveal(t, r.user, lead, models.ContactName, models.ContactEmail, models.ContactEmail)
	r.reveal(t, gus, lead, models.ContactNotes)
	q := evidence.Request{Lead: lead, Contact: true}
	if d := r.document(t, q); !slices.Equal(contactFields(d), []string{"email=canary@example.com", "name=Canary Name"}) {
		t.Errorf("got %v", contactFields(d))
	}
	if d := r.document(t, evidence.Request{Lead: lead}); len(d.Contact) != 0 {
		t.Errorf("without contact: got %v", contactFields(d))
	}
	events := testkit.Value[string](t, r.DB, `SELECT string_agg(action || (after::text), ' ' ORDER BY id) FROM audit_events WHERE action IN ('lead.reveal_again', 'lead.evidence')`)
	if !strings.HasPrefix(events, `lead.reveal_again{"fields":["email","name"]} lead.evidence{"contact":["email","name"],`) || containsCanary(events) {
		t.Errorf("got audit events %s", events)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM lead_reveals`); n != 4 {
		t.Errorf("got %d reveals, want 4", n)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT reveals FROM daily_access WHERE staff_id = $1`, r.user.Staff); n != 4 {
		t.Errorf("%d reveals count towards the limit, want the three of the user and the pack", n)
	}
	r.Time.Advance(23 * time.Hour)
	r.reveal(t, r.user, lead, models.ContactName)
	r.Time.Advance(time.Hour)
	if d := r.document(t, q); !slices.Equal(contactFields(d), []string{"name=Canary Name"}) {
		t.Errorf("a day after the first reveals: got %v", contactFields(d))
	}
	if _, err := r.By(audit.Operator).Create(t.Context(), scope.System, q); !errors.Is(err, evidence.ErrNotRevealed) {
		t.Errorf("another user: got %v", err)
	}
	r.erase(t, lead)
	if _, err := r.create(t, q); !errors.Is(err, leads.ErrErased) {
		t.Errorf("after the erasure: got %v", err)
	}
}

func TestCreateAfterErasure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.post(t)
	receipt := r.erase(t, lead)
	d := r.document(t, evidence.Request{Lead: lead, Amounts: true})
	if d.Erasure == nil || d.Erasure.Receipt != receipt.Hash.String() || d.Lead.State != "erased" ||
		d.Consent.DisclosureText != nil || !d.Consent.Acknowledged || d.Lead.Price == nil {
		t.Errorf("got %+v", d)
	}
	if err := os.RemoveAll(r.journal); err != nil {
		t.Fatal(err)
	}
	if _, err := r.create(t, evidence.Request{Lead: lead}); reason(err) != "unavailable journal_unavailable" {
		t.Errorf("without the journal: got %v", err)
	}
}

func TestCreateWithLegalHolds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead, other := r.post(t), r.post(t)
	officer := r.Erasures.By(testkit.Actor(t, r.DB, "dan@example.com"))
	var holds []models.LegalHold
	for _, hold := range []erasure.NewHold{{Lead: lead, Reason: "canary reason"}, {Lead: other, Person: true, Reason: "canary reason"}, {Lead: other, Reason: "canary reason"}} {
		placed, err := officer.PlaceHold(t.Context(), scope.System, hold)
		if err != nil {
			t.Fatal(err)
		}
		holds = append(holds, placed)
		r.Time.Advance(time.Second) // so that their ids are in order
	}
	if err := r.Erasures.By(r.user).ReleaseHold(t.Context(), scope.System, holds[0].ID); err != nil {
		t.Fatal(err)
	}
	content, err := r.create(t, evidence.Request{Lead: lead})
	if err != nil {
		t.Fatal(err)
	}
	got := r.verify(t, content).Document.Holds
	if len(got) != 2 || got[0].ID != id.Format(id.Hold, holds[0].ID) || got[0].Person || got[0].PlacedBy != "dan@example.com" || got[0].ReleasedBy != "fay@example.com" || got[0].ReleasedAt == nil ||
		got[1].ID != id.Format(id.Hold, holds[1].ID) || !got[1].Person || got[1].PlacedAt.IsZero() || got[1].ReleasedAt != nil {
		t.Errorf("got %+v", got)
	}
	if bytes.Contains(content, []byte("canary reason")) { // the files in a pack are not compressed
		t.Error("the pack contains the reason for a hold")
	}
}

// retaining returns a service that erases contact records after 10 days and consents after 20 days. The
// database must not contain leads yet.
func (r rig) retaining(t *testing.T) *retention.Service {
	t.Helper()
	s := r.servicesWith(leadkit.Periods(10, 20, nil, nil)).Retention
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCreateAfterRetention(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.retaining(t)
	lead := r.post(t)
	for _, kept := range []bool{true, false} {
		r.Time.Advance(11 * 24 * time.Hour)
		if _, err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		d := r.document(t, evidence.Request{Lead: lead})
		if d.Erasure == nil || d.Erasure.ConsentKept != kept || d.Erasure.Reason != "retention" ||
			(d.Consent.DisclosureText != nil) != kept || d.Lead.State != "erased" {
			t.Errorf("got %+v with consent %+v, want kept %t", d.Erasure, d.Consent, kept)
		}
	}
}

// While a consent is erased, each pack contains either the consent, or the receipt for its erasure.
func TestCreateDuringErasureOfConsent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.retaining(t)
	lead := r.post(t)
	r.Time.Advance(11 * 24 * time.Hour)
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Time.Advance(11 * 24 * time.Hour)
	var all sync.WaitGroup
	created, contents := make([]error, 8), make([][]byte, 8)
	for i := range created {
		all.Go(func() {
			contents[i], created[i] = r.Create(t.Context(), scope.System, evidence.Request{Lead: lead, Events: audit.Everything})
		})
	}
	all.Go(func() {
		if _, err := s.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	for i, err := range created {
		if err != nil {
			if reason(err) != "unavailable erasing" {
				t.Error(err)
			}
			continue
		}
		if d := r.verify(t, contents[i]).Document; d.Erasure == nil ||
			d.Erasure.ConsentKept != (d.Consent.DisclosureText != nil) {
			t.Errorf("got consent %+v with erasure %+v", d.Consent, d.Erasure)
		}
	}
}

// If a lead is erased while packs are created, each pack is either recorded before the erasure, or contains
// no erased data.
func TestCreateDuringErasure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.post(t)
	r.reveal(t, r.user, lead, models.ContactEmail)
	var all sync.WaitGroup
	created, contents := make([]error, 10), make([][]byte, 10)
	for i := range created {
		all.Go(func() {
			contents[i], created[i] = r.Create(t.Context(), scope.System,
				evidence.Request{Lead: lead, Contact: i%2 == 0, Events: audit.Everything})
		})
	}
	all.Go(func() { r.erase(t, lead) })
	all.Wait()
	packs := 0
	for i, err := range created {
		switch {
		case err == nil:
			packs++
			if d := r.verify(t, contents[i]).Document; (d.Erasure != nil) != (d.Consent.DisclosureText == nil) ||
				d.Erasure != nil && len(d.Contact) > 0 {
				t.Errorf("got consent %+v with erasure %+v and contact data %v", d.Consent, d.Erasure, contactFields(d))
			}
		case !errors.Is(err, leads.ErrErased) && reason(err) != "unavailable erasing":
			t.Errorf("got %v", err)
		}
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM audit_events WHERE action = 'lead.evidence'`); n != packs {
		t.Errorf("got %d audit events for %d packs", n, packs)
	}
	late := testkit.Value[int](t, r.DB, `SELECT count(*) FROM audit_events WHERE action = 'lead.evidence' AND after->'contact' IS NOT NULL AND id > (SELECT id FROM audit_events WHERE action = 'lead.erase')`)
	if late != 0 {
		t.Errorf("%d packs with contact data were recorded after the erasure", late)
	}
	if v, err := r.Audit.Verify(t.Context(), ""); err != nil || !v.Intact() {
		t.Errorf("verifying the audit log: %+v, %v", v, err)
	}
}

// A changed audit event is not signed.
func TestCreateRejectsChangedAuditEvent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.post(t)
	r.reveal(t, r.user, lead, models.ContactEmail)
	root := testkit.Connect(t, r.DB.RootURL)
	for _, sql := range []string{`ALTER TABLE audit_events DISABLE TRIGGER USER`, `UPDATE audit_events SET actor = 'mallory@example.com' WHERE action = 'lead.reveal'`} {
		if _, err := root.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.create(t, evidence.Request{Lead: lead}); reason(err) != "internal audit_log" {
		t.Errorf("got %v", err)
	}
}

// Nodes that start at the same time create one key. A user who downloads a pack creates none.
func TestFirstKeyIsCreatedOnce(t *testing.T) {
	t.Parallel()
	r := newRigWithoutKey(t)
	lead := r.post(t)
	if _, err := r.create(t, evidence.Request{Lead: lead}); reason(err) != "unavailable no_evidence_key" {
		t.Errorf("without a key: got %v", err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := r.Service.Deps.Keys.Ensure(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	r.document(t, evidence.Request{Lead: lead})
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM evidence_keys`); n != 1 {
		t.Errorf("got %d keys, want 1", n)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM audit_events WHERE action = 'evidence.create_key'`); n != 1 {
		t.Errorf("got %d audit events, want 1", n)
	}
}

func TestRotate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.post(t)
	old, err := r.create(t, evidence.Request{Lead: lead})
	if err != nil {
		t.Fatal(err)
	}
	r.Time.Advance(24 * time.Hour)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := r.Service.Deps.Keys.By(r.user).Rotate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	current, err := r.create(t, evidence.Request{Lead: lead})
	if err != nil {
		t.Fatal(err)
	}
	before, after := r.verify(t, old), r.verify(t, current)
	if before.Key.ID == after.Key.ID || !before.Key.Until.Equal(r.Time.Now().Truncate(time.Second)) ||
		!after.Key.Until.IsZero() {
		t.Errorf("got keys %+v and %+v", before.Key, after.Key)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM evidence_keys WHERE sealed IS NULL`); n != 4 {
		t.Errorf("got %d retired keys, want 4", n)
	}
}

func TestReseal(t *testing.T) {
	t.Parallel()
	r := newRigWithoutKey(t)
	lead := r.post(t)
	if moved, err := r.keysWith(t, 2, 1).Reseal(t.Context()); moved || err != nil {
		t.Errorf("without a key: got %t, %v", moved, err)
	}
	if err := r.Service.Deps.Keys.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.document(t, evidence.Request{Lead: lead})
	both := r.keysWith(t, 2, 1)
	for _, want := range []bool{true, false} {
		if moved, err := both.Reseal(t.Context()); moved != want || err != nil {
			t.Errorf("got %t, %v, want %t", moved, err, want)
		}
	}
	if uses, err := both.SealUses(t.Context()); err != nil || len(uses) != 1 ||
		uses[testkit.PlatformKeys(t, 2).IDs()[0]] != 1 {
		t.Errorf("got %v, %v", uses, err)
	}
	if _, err := r.create(t, evidence.Request{Lead: lead}); reason(err) != "unavailable evidence_key" {
		t.Errorf("with the old platform key: got %v", err)
	}
	if _, err := r.keysWith(t, 3).Reseal(t.Context()); reason(err) != "unavailable evidence_key" {
		t.Errorf("with another platform key: got %v", err)
	}
	r.Service.Keys = both
	r.services = r.servicesWith(retention.Periods{})
	r.Service = evidence.NewService(r.Service.Deps).By(r.user)
	r.document(t, evidence.Request{Lead: lead})
}

// A pack lists every export that contained the lead: exports for privacy requests, their downloads, and earlier packs.
func TestCreateListsExports(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead, other := r.post(t), r.post(t)
	users := r.services.Requests.By(r.user)
	export := func(leadIDs ...uuid.UUID) (request, file uuid.UUID) {
		t.Helper()
		created, err := users.Create(t.Context(), requests.NewRequest{
			Kind: models.RequestAccess, ReceivedOn: r.Time.Now().UTC().
				Truncate(24 * time.Hour), Leads: leadIDs, Identity: requests.Identity{Check: models.IdentityReply},
		})
		if err != nil {
			t.Fatal(err)
		}
		exported, err := users.Export(t.Context(), created.ID)
		if err != nil {
			t.Fatal(err)
		}
		return created.ID, exported.File
	}
	export(other)
	request, file := export(lead)
	archive, err := users.OpenExport(t.Context(), request, file)
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	r.document(t, evidence.Request{Lead: lead})
	d := r.document(t, evidence.Request{Lead: lead})
	var kinds, actions []string
	for _, e := range d.Exports {
		if kinds = append(kinds, e.Kind); e.By != "fay@example.com" || e.At.IsZero() {
			t.Errorf("got %+v", e)
		}
	}
	for _, e := range d.Audit.Events {
		actions = append(actions, e.Action)
	}
	if !slices.Equal(kinds, []string{"request_export", "request_download", "evidence_pack"}) ||
		d.Exports[0].Request != requests.ID(request) {
		t.Errorf("got exports %+v", d.Exports)
	}
	if !slices.Equal(actions, []string{"lead.export", "lead.download", "lead.evidence"}) || !d.Audit.Complete ||
		d.Audit.LeftOut != 0 {
		t.Errorf("got audit events %v, complete %t", actions, d.Audit.Complete)
	}
	// Users who may not view privacy requests get no IDs of requests.
	content, err := r.create(t, evidence.Request{Lead: lead, Events: func(a audit.Area) scope.Scope {
		if a == "leads" {
			return scope.Everywhere
		}
		return scope.Scope{}
	}})
	if err != nil {
		t.Fatal(err)
	}
	d = r.verify(t, content).Document
	if len(d.Exports) != 4 || d.Audit.LeftOut != 2 || d.Audit.Complete ||
		strings.Contains(string(content), requests.ID(request)) {
		t.Errorf("without permission to view privacy requests: got %+v, %d events left out", d.Exports, d.Audit.LeftOut)
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, keys := t.Context(), r.Service.Deps.Keys
	lead := r.post(t)
	create := func() []byte {
		t.Helper()
		content, err := r.create(t, evidence.Request{Lead: lead})
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	verify := func(content []byte) error {
		t.Helper()
		published, err := keys.LoadPublicKeys(ctx)
		if err != nil {
			t.Fatal(err)
		}
		all, err := pack.ParseKeys(published.JSON)
		if err != nil {
			t.Fatal(err)
		}
		_, err = pack.Verify(content, all)
		return err
	}
	before := create()
	r.Time.Advance(time.Hour)
	stolen := r.Time.Now()
	r.Time.Advance(time.Second)
	forged := create()
	kid := r.verify(t, forged).Key.ID
	if err := keys.By(r.user).Revoke(ctx, kid, r.Time.Now().Add(time.Minute)); reason(err) != "invalid revocation_time" {
		t.Errorf("in the future: got %v", err)
	}
	if err := keys.By(r.user).Revoke(ctx, "unknown", stolen); reason(err) != "not_found evidence_key" {
		t.Errorf("unknown key: got %v", err)
	}
	if err := keys.By(r.user).Revoke(ctx, kid, stolen); err != nil {
		t.Fatal(err)
	}
	if err := verify(before); err != nil {
		t.Errorf("a pack from before the theft: %v", err)
	}
	if err := verify(forged); !errors.Is(err, pack.ErrRevoked) {
		t.Errorf("a pack from after the theft: %v", err)
	}
	if err := verify(create()); err != nil {
		t.Errorf("a pack with the new key: %v", err)
	}
	if err := keys.By(r.user).Revoke(ctx, kid, stolen.Add(time.Second)); reason(err) != "invalid revocation_time" {
		t.Errorf("later than before: got %v", err)
	}
	if err := keys.By(r.user).Revoke(ctx, kid, stolen.Add(-2*time.Hour)); err != nil {
		t.Errorf("earlier than before: %v", err)
	}
	if err := verify(before); !errors.Is(err, pack.ErrRevoked) {
		t.Errorf("a pack from after the earlier time: %v", err)
	}
	if err := keys.By(r.user).Revoke(ctx, kid, stolen.Add(-2*time.Hour)); err != nil {
		t.Errorf("the same time again: %v", err)
	}
	owner := testkit.Connect(t, r.DB.OwnerURL)
	for _, sql := range []string{
		`UPDATE evidence_keys SET revoked_at = NULL`, `UPDATE evidence_keys SET revoked_at = now() + interval '1 day' WHERE revoked_at IS NOT NULL`,
		`UPDATE evidence_keys SET retired_at = now() WHERE revoked_at IS NOT NULL`,
	} {
		if _, err := owner.Exec(ctx, sql); err == nil {
			t.Errorf("%s: succeeded", sql)
		}
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM audit_events WHERE action = 'evidence.revoke_key' AND after->>'key' = $1`, kid); n != 2 {
		t.Errorf("got %d audit events, want 2", n)
	}
}

// The signing key cannot be changed or deleted, not even by the owner of the table.
func TestKeysNeverChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if _, err := r.Service.Deps.Keys.By(r.user).Rotate(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	owner := testkit.Connect(t, r.DB.OwnerURL)
	for _, sql := range []string{
		`UPDATE evidence_keys SET public_key = sha256('x')`, `UPDATE evidence_keys SET created_at = now()`, `UPDATE evidence_keys SET sealed = NULL`,
		`UPDATE evidence_keys SET retired_at = now()`, `DELETE FROM evidence_keys`, `TRUNCATE evidence_keys`,
		`INSERT INTO evidence_keys SELECT 'second', sha256('x'), sealed, now() FROM evidence_keys`,
	} {
		if _, err := owner.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s: succeeded", sql)
		}
	}
}

// While a lead's erasure is pending, no pack with the data that is about to be erased is created.
func TestCreateWhileErasureIsPending(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.post(t)
	r.reveal(t, r.user, lead, models.ContactEmail)
	r.DB.Exec(t, `INSERT INTO erasure_entries (sequence, hash, body, key, reason, actor, requested_at) VALUES (1, sha256('x'), 'x', sha256('key'), 'request', 'gus', now())`)
	r.DB.Exec(t, `INSERT INTO erasures VALUES ($1, 1, '')`, lead)
	for _, contact := range []bool{true, false} {
		if _, err := r.create(t, evidence.Request{Lead: lead, Contact: contact}); reason(err) != "unavailable erasing" {
			t.Errorf("with contact data %t: got %v", contact, err)
		}
	}
}

func TestCreateAfterReplacement(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.post(t)
	before, err := r.create(t, evidence.Request{Lead: lead})
	if err != nil {
		t.Fatal(err)
	}
	replaced := testkit.Value[uuid.UUID](t, r.DB, `SELECT id FROM disclosures`)
	d, err := r.services.Consents.Disclosure(t.Context(), scope.System, replaced)
	if err == nil {
		err = r.services.Consents.Replace(t.Context(), scope.System,
			consents.Replacement{Disclosure: d.ID, Version: d.Version(), Text: "I, [name], agree", Note: "case 7"})
	}
	if err != nil {
		t.Fatal(err)
	}
	now := r.document(t, evidence.Request{Lead: lead}).Consent
	if *now.DisclosureText != "I, [name], agree" || now.DisclosureReplacedAt == nil ||
		!now.DisclosureReplacedAt.Equal(r.Time.Now()) {
		t.Errorf("got %+v", now)
	}
	if c := r.verify(t, before).Document.Consent; *c.DisclosureText != "I agree" || c.DisclosureReplacedAt != nil {
		t.Errorf("the pack from before: got %+v", c)
	}
}
