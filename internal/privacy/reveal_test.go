package privacy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/privacy"
	"github.com/pingpost/pingpost/models"
)

// perDay is how many fields a user may reveal per day in tests.
const perDay = 5

// rig is a platform with a user who reveals contact data.
type rig struct {
	*testkit.Platform
	*privacy.Service
	user    audit.Actor
	journal *brokenJournal
	folder  string // of the journal
}

func newRig(t *testing.T) rig {
	t.Helper()
	p := testkit.NewPlatform(t)
	user := testkit.Actor(t, p.DB, "fay@example.com")
	folder := t.TempDir()
	j := &brokenJournal{Store: journal.Folder(folder)}
	return rig{p, newService(p.DB, p, j).By(user), user, j, folder}
}

func newService(d *testkit.Database, p *testkit.Platform, j journal.Store) *privacy.Service {
	return privacy.NewService(d.DB, p.Wrappers, p.Keys, j, p.Time, privacy.Settings{RevealsPerDay: perDay, LookupsPerDay: 100, RequestDays: 365})
}

// withRevealsPerDay returns the rig with another daily limit of reveals.
func (r rig) withRevealsPerDay(n int) rig {
	r.Service = privacy.NewService(r.DB.DB, r.Wrappers, r.Keys, r.journal, r.Time, privacy.Settings{RevealsPerDay: n, LookupsPerDay: 100}).By(r.user)
	return r
}

// contact is the personal data of the lead that deliver delivers.
const contact = `"contact":{"email":"Ann.Example@example.com","name":"Ann Example","phone":"020 7946 0018"},"notes":"Ring the bell",
	"location":{"address":"1 High Street"},"answers":{"rooms":"3"}`

func (r rig) deliver(t *testing.T, body string) uuid.UUID {
	t.Helper()
	lead, _ := r.post(t, body)
	return lead
}

// post delivers a lead, and returns a function that sends the same post again.
func (r rig) post(t *testing.T, body string) (uuid.UUID, func() (intake.PostResult, error)) {
	t.Helper()
	send := r.newPost(t, "Ann Example agrees", body)
	lead, err := send()
	if err != nil {
		t.Fatal(err)
	}
	return lead.LeadID, send
}

// newPost returns a function that sends a post whose consumer agreed to a text.
func (r rig) newPost(t *testing.T, text, body string) func() (intake.PostResult, error) {
	t.Helper()
	r.Reload(t)
	in := r.Intake(intake.Settings{DefaultMode: models.SigningRequired})
	q, err := in.Ping(intake.PingRequest{ID: uuid.New(), Body: []byte(`{"industry":"plumber","postcode":"SW1A 1AA","country":"GB"}`)})
	if err != nil || !q.Accepted {
		t.Fatalf("ping: got %+v, %v", q, err)
	}
	post := fmt.Appendf(nil, `{"transactionId":%q,"partnerId":%q,%s,"consent":{"acknowledged":true,"acknowledgedAt":"2026-01-02T03:04","disclosureText":%q,"recipientHash":"abababababababababababababababababababababababababababababababab","thirdPartyFormCertUrl":"https://cert.example.com/canary","thirdPartyLeadId":"canary-third-party"},"reference":"canary-click","subId":"canary-sub"}`, q.TransactionID, r.Required.Accounts[0].Identifier, body, text)
	return func() (intake.PostResult, error) {
		return in.Post(t.Context(), intake.PostRequest{
			ID: uuid.New(), Address: clientaddr.Group("192.0.2.1"), Body: post, Headers: r.Required.Sign(r.Time.Now(), post),
		})
	}
}

// auditEvents counts the user's audit events with an action and an outcome.
func (r rig) auditEvents(t *testing.T, action, outcome string) int {
	t.Helper()
	return testkit.Value[int](t, r.DB, `SELECT count(*) FROM audit_events WHERE action = $1 AND outcome = $2`, action, outcome)
}

func (r rig) reveals(t *testing.T) int {
	t.Helper()
	return testkit.Value[int](t, r.DB, `SELECT count(*) FROM lead_reveals`)
}

// rejection returns the code and reason of an error.
func rejection(err error) string {
	if f := apperr.As(err); f != nil {
		return string(f.Code) + " " + f.Reason
	}
	return fmt.Sprint(err)
}

func TestReveal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.deliver(t, contact)
	for field, want := range map[models.ContactField]string{
		models.ContactEmail: "Ann.Example@example.com", models.ContactName: "Ann Example", models.ContactPhone: "020 7946 0018",
		models.ContactAddress: "1 High Street", models.ContactNotes: "Ring the bell", models.ContactAnswers: `{"rooms":"3"}`,
	} {
		r.Time.Advance(24 * time.Hour) // each on its own day, below the limit
		got, err := r.Reveal(t.Context(), scope.System, privacy.Reveal{Lead: lead, Field: field, Reason: models.RevealForReturn, Note: "rt_1 of Ann Example"})
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", field, got, err, want)
		}
	}
	all, err := r.RevealsOf(t.Context(), scope.System, lead)
	if err != nil || len(all) != 6 || *all[0].StaffID != r.user.Staff || all[0].Actor != "fay@example.com" || all[0].Note != "rt_1 of Ann Example" {
		t.Errorf("got %+v, %v", all, err)
	}
	if n := r.auditEvents(t, "lead.reveal", "done"); n != 6 {
		t.Errorf("got %d audit events, want 6", n)
	}
	events := testkit.Value[string](t, r.DB, `SELECT string_agg(e::text, ' ') FROM audit_events e`)
	// None of these can occur in an ID, a hash or a time.
	for _, personal := range []string{"Ann ", "Example@", "7946 0018", "+442079460018", "High Street", "the bell", "rooms"} {
		if strings.Contains(events, personal) {
			t.Errorf("the audit log contains %q: %s", personal, events)
		}
	}
}

func TestRevealOfFieldThatWasNotSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.deliver(t, `"email":"ann@example.com"`)
	got, err := r.Reveal(t.Context(), scope.System, privacy.Reveal{Lead: lead, Field: models.ContactPhone, Reason: models.RevealForLegal})
	if err != nil || got != "" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRevealRejects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.deliver(t, contact)
	for name, c := range map[string]struct {
		scope  scope.Scope
		reveal privacy.Reveal
		want   string
	}{
		"no field":            {scope.System, privacy.Reveal{Lead: lead, Reason: models.RevealForLegal}, "invalid field"},
		"unknown field":       {scope.System, privacy.Reveal{Lead: lead, Field: "salt", Reason: models.RevealForLegal}, "invalid field"},
		"no reason":           {scope.System, privacy.Reveal{Lead: lead, Field: models.ContactName}, "invalid reason"},
		"unknown reason":      {scope.System, privacy.Reveal{Lead: lead, Field: models.ContactName, Reason: "fun"}, "invalid reason"},
		"other, unexplained":  {scope.System, privacy.Reveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForOther, Note: " \r\n"}, "invalid note"},
		"other, invisible":    {scope.System, privacy.Reveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForOther, Note: "\u200b\u00a0\u2060"}, "invalid note"},
		"long note":           {scope.System, privacy.Reveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForLegal, Note: strings.Repeat("ä", plaintext.MaxNote+1)}, "invalid note"},
		"control character":   {scope.System, privacy.Reveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForLegal, Note: "a\x00"}, "invalid note"},
		"unknown lead":        {scope.System, privacy.Reveal{Lead: uuid.New(), Field: models.ContactName, Reason: models.RevealForLegal}, "not_found lead"},
		"another partner's":   {scope.Partners(r.Off.ID), privacy.Reveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForLegal}, "not_found lead"},
		"no partners allowed": {scope.Scope{}, privacy.Reveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForLegal}, "not_found lead"},
	} {
		if got, err := r.Reveal(t.Context(), c.scope, c.reveal); got != "" || rejection(err) != c.want {
			t.Errorf("%s: got %q, %v, want %s", name, got, err, c.want)
		}
	}
	if n := r.reveals(t); n != 0 {
		t.Errorf("got %d reveals, want 0", n)
	}
}

// silent is a key wrapper that does not respond.
type silent struct{ envelope.KeyWrapper }

func (silent) Reads(string) bool { return true }

func (silent) Unwrap(context.Context, [][]byte) ([]envelope.Unwrapped, error) {
	return nil, errors.New("no response")
}

// A reveal is committed before anything is decrypted, so it counts even if decrypting fails.
func TestRevealIsRecordedFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.deliver(t, contact)
	local, err := envelope.NewLocal(make([]byte, envelope.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	s := privacy.NewService(r.DB.DB, envelope.NewWrappers(silent{local}), r.Keys, nil, r.Time, privacy.Settings{RevealsPerDay: perDay}).By(r.user)
	got, err := s.Reveal(t.Context(), scope.System, privacy.Reveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForLegal})
	if got != "" || rejection(err) != "unavailable keys" || strings.Contains(err.Error(), "Ann") {
		t.Errorf("got %q, %v", got, err)
	}
	if n := r.auditEvents(t, "lead.reveal", "done"); n != 1 || r.reveals(t) != 1 {
		t.Errorf("got %d audit events and %d reveals, want one each", n, r.reveals(t))
	}
}

// If a node can never decrypt a lead, or the lead's key is missing, nothing is counted.
func TestRevealThatCannotSucceed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead, name := r.deliver(t, contact), models.ContactName
	s := privacy.NewService(r.DB.DB, envelope.NewWrappers(nil), r.Keys, nil, r.Time, privacy.Settings{RevealsPerDay: perDay}).By(r.user)
	if _, err := s.Reveal(t.Context(), scope.System, privacy.Reveal{Lead: lead, Field: name, Reason: models.RevealForLegal}); rejection(err) != "unavailable cannot_decrypt" {
		t.Errorf("without keys: %v", err)
	}
	r.DB.Exec(t, `DELETE FROM lead_keys WHERE lead_id = $1`, lead)
	if _, err := r.Reveal(t.Context(), scope.System, privacy.Reveal{Lead: lead, Field: name, Reason: models.RevealForLegal}); rejection(err) != "unavailable lead_key_missing" {
		t.Errorf("with a missing key: %v", err)
	}
	if n := r.auditEvents(t, "lead.reveal", "done"); n != 0 || r.reveals(t) != 0 {
		t.Errorf("got %d audit events and %d reveals, want none", n, r.reveals(t))
	}
}

// The limit holds for each user and day (UTC), even if the reveals are simultaneous.
func TestRevealsPerDay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.deliver(t, contact)
	name := privacy.Reveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForLegal}
	var all sync.WaitGroup
	results := make([]error, 2*perDay)
	for i := range results {
		all.Go(func() { _, results[i] = r.Reveal(t.Context(), scope.System, name) })
	}
	all.Wait()
	var done, rejected int
	for _, err := range results {
		switch {
		case err == nil:
			done++
		case rejection(err) == "too_many reveals_per_day":
			rejected++
		default:
			t.Error(err)
		}
	}
	if done != perDay || rejected != perDay || r.reveals(t) != perDay {
		t.Errorf("got %d reveals and %d rejections, and %d are recorded", done, rejected, r.reveals(t))
	}
	if n, w := r.auditEvents(t, "lead.reveal", "rejected"), r.auditEvents(t, "lead.reveal_warning", "done"); n != perDay || w != 1 {
		t.Errorf("the audit log has %d rejections and %d warnings, want %d and 1", n, w, perDay)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT (after->>'reveals')::int FROM audit_events WHERE action = 'lead.reveal_warning'`); n != 4 {
		t.Errorf("the warning came at %d reveals, want 4 of 5", n)
	}
	for _, other := range []audit.Actor{testkit.Actor(t, r.DB, "gus@example.com"), audit.Operator} {
		if _, err := r.By(other).Reveal(t.Context(), scope.System, name); err != nil {
			t.Errorf("%s: %v", other.Name, err)
		}
	}
	r.Time.Set(r.Time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour))
	if _, err := r.Reveal(t.Context(), scope.System, name); err != nil {
		t.Errorf("on the next day: %v", err)
	}
}

// Two users at once do not wait for each other's limits, and the audit log stays intact.
func TestRevealsKeepAuditChain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.deliver(t, contact)
	var all sync.WaitGroup
	var failed [4]error
	for i := range failed {
		user := r.By(testkit.Actor(t, r.DB, fmt.Sprintf("user%d@example.com", i)))
		all.Go(func() {
			for range perDay {
				_, err := user.Reveal(t.Context(), scope.System, privacy.Reveal{Lead: lead, Field: models.ContactEmail, Reason: models.RevealForComplaint})
				failed[i] = errors.Join(failed[i], err)
			}
		})
	}
	all.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		t.Fatal(err)
	}
	v, err := audit.New(r.DB.DB, r.Time).Verify(t.Context(), "")
	if err != nil || !v.Intact() {
		t.Errorf("verifying the audit log: %+v, %v", v, err)
	}
}
