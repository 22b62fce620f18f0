package reveal_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

func TestReveal(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead := r.Deliver(t, leadkit.Contact)
	for field, want := range map[models.ContactField]string{
		models.ContactEmail: "Ann.Example@example.com", models.ContactName: "Ann Example", models.ContactPhone: "020 7946 0018",
		models.ContactAddress: "1 High Street", models.ContactNotes: "Ring the bell", models.ContactAnswers: `{"rooms":"3"}`,
	} {
		r.Time.Advance(24 * time.Hour) // each on its own day, below the limit
		got, err := r.Reveals.Reveal(t.Context(), scope.System,
			reveal.NewReveal{Lead: lead, Field: field, Reason: models.RevealForReturn, Note: "rt_1 of Ann Example"})
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", field, got, err, want)
		}
	}
	all, err := r.Reveals.RevealsOf(t.Context(), scope.System, lead)
	if err != nil || len(all) != 6 || *all[0].StaffID != r.User.Staff || all[0].Actor != "fay@example.com" ||
		all[0].Note != "rt_1 of Ann Example" {
		t.Errorf("got %+v, %v", all, err)
	}
	if n := r.AuditEvents(t, "lead.reveal", "done"); n != 6 {
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
	r := rig{leadkit.New(t)}
	lead := r.Deliver(t, `"email":"ann@example.com"`)
	got, err := r.Reveals.Reveal(t.Context(), scope.System,
		reveal.NewReveal{Lead: lead, Field: models.ContactPhone, Reason: models.RevealForLegal})
	if err != nil || got != "" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRevealRejects(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead := r.Deliver(t, leadkit.Contact)
	for name, c := range map[string]struct {
		scope  scope.Scope
		reveal reveal.NewReveal
		want   string
	}{
		"no field": {scope.System, reveal.NewReveal{Lead: lead, Reason: models.RevealForLegal}, "invalid field"},
		"unknown field": {
			scope.System, reveal.NewReveal{Lead: lead, Field: "salt", Reason: models.RevealForLegal}, "invalid field",
		},
		"no reason": {scope.System, reveal.NewReveal{Lead: lead, Field: models.ContactName}, "invalid reason"},
		"unknown reason": {
			scope.System, reveal.NewReveal{Lead: lead, Field: models.ContactName, Reason: "fun"}, "invalid reason",
		},
		"other, unexplained": {
			scope.System, reveal.NewReveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForOther, Note: " \r\n"},
			"invalid note",
		},
		"other, invisible": {
			scope.System,
			reveal.NewReveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForOther, Note: "\u200b\u00a0\u2060"},
			"invalid note",
		},
		"long note": {scope.System, reveal.NewReveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForLegal, Note: strings.Repeat("ä", plaintext.MaxNote+1)}, "invalid note"},
		"control character": {
			scope.System, reveal.NewReveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForLegal, Note: "a\x00"},
			"invalid note",
		},
		"unknown lead": {
			scope.System, reveal.NewReveal{Lead: uuid.New(), Field: models.ContactName, Reason: models.RevealForLegal},
			"not_found lead",
		},
		"another partner's": {
			scope.Partners(r.Off.ID), reveal.NewReveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForLegal},
			"not_found lead",
		},
		"no partners allowed": {
			scope.Scope{}, reveal.NewReveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForLegal},
			"not_found lead",
		},
	} {
		if got, err := r.Reveals.Reveal(t.Context(), c.scope, c.reveal); got != "" || leadkit.Rejection(err) != c.want {
			t.Errorf("%s: got %q, %v, want %s", name, got, err, c.want)
		}
	}
	if n := r.CountReveals(t); n != 0 {
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
	r := rig{leadkit.New(t)}
	lead := r.Deliver(t, leadkit.Contact)
	local, err := envelope.NewLocal(make([]byte, envelope.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	s := leadkit.NewServices(r.DB.DB, envelope.NewWrappers(silent{local}), r.Keys, nil, r.Time, leadkit.Settings{RevealsPerDay: leadkit.RevealsPerDay}).By(r.User)
	got, err := s.Reveals.Reveal(t.Context(), scope.System,
		reveal.NewReveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForLegal})
	if got != "" || leadkit.Rejection(err) != "unavailable keys" || strings.Contains(err.Error(), "Ann") {
		t.Errorf("got %q, %v", got, err)
	}
	if n := r.AuditEvents(t, "lead.reveal", "done"); n != 1 || r.CountReveals(t) != 1 {
		t.Errorf("got %d audit events and %d reveals, want one each", n, r.CountReveals(t))
	}
}

// If a node can never decrypt a lead, or the lead's key is missing, nothing is counted.
func TestRevealThatCannotSucceed(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead, name := r.Deliver(t, leadkit.Contact), models.ContactName
	s := leadkit.NewServices(r.DB.DB, envelope.NewWrappers(nil), r.Keys, nil, r.Time, leadkit.Settings{RevealsPerDay: leadkit.RevealsPerDay}).By(r.User)
	if _, err := s.Reveals.Reveal(t.Context(), scope.System, reveal.NewReveal{Lead: lead, Field: name, Reason: models.RevealForLegal}); leadkit.Rejection(err) != "unavailable cannot_decrypt" {
		t.Errorf("without keys: %v", err)
	}
	r.DB.Exec(t, `DELETE FROM lead_keys WHERE lead_id = $1`, lead)
	if _, err := r.Reveals.Reveal(t.Context(), scope.System, reveal.NewReveal{Lead: lead, Field: name, Reason: models.RevealForLegal}); leadkit.Rejection(err) != "unavailable lead_key_missing" {
		t.Errorf("with a missing key: %v", err)
	}
	if n := r.AuditEvents(t, "lead.reveal", "done"); n != 0 || r.CountReveals(t) != 0 {
		t.Errorf("got %d audit events and %d reveals, want none", n, r.CountReveals(t))
	}
}

// The limit applies per user and day (UTC), even to simultaneous reveals.
func TestRevealsPerDay(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead := r.Deliver(t, leadkit.Contact)
	name := reveal.NewReveal{Lead: lead, Field: models.ContactName, Reason: models.RevealForLegal}
	var all sync.WaitGroup
	results := make([]error, 2*leadkit.RevealsPerDay)
	for i := range results {
		all.Go(func() { _, results[i] = r.Reveals.Reveal(t.Context(), scope.System, name) })
	}
	all.Wait()
	var done, rejected int
	for _, err := range results {
		switch {
		case err == nil:
			done++
		case leadkit.Rejection(err) == "too_many reveals_per_day":
			rejected++
		default:
			t.Error(err)
		}
	}
	if done != leadkit.RevealsPerDay || rejected != leadkit.RevealsPerDay || r.CountReveals(t) != leadkit.RevealsPerDay {
		t.Errorf("got %d reveals and %d rejections, and %d are recorded", done, rejected, r.CountReveals(t))
	}
	if n, w := r.AuditEvents(t, "lead.reveal", "rejected"), r.AuditEvents(t, "lead.reveal_warning",
		"done"); n != leadkit.RevealsPerDay || w != 1 {
		t.Errorf("the audit log has %d rejections and %d warnings, want %d and 1", n, w, leadkit.RevealsPerDay)
	}
	if n := testkit.Value[int](t, r.DB, `SELECT (after->>'reveals')::int FROM audit_events WHERE action = 'lead.reveal_warning'`); n != 4 {
		t.Errorf("the warning was recorded at %d reveals, want 4 of 5", n)
	}
	for _, other := range []audit.Actor{testkit.Actor(t, r.DB, "gus@example.com"), audit.Operator} {
		if _, err := r.By(other).Reveals.Reveal(t.Context(), scope.System, name); err != nil {
			t.Errorf("%s: %v", other.Name, err)
		}
	}
	r.Time.Set(r.Time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour))
	if _, err := r.Reveals.Reveal(t.Context(), scope.System, name); err != nil {
		t.Errorf("on the next day: %v", err)
	}
}

// If two users reveal fields at the same time, they do not wait for each other's limits, and the audit log stays
// intact.
func TestRevealsKeepAuditChain(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead := r.Deliver(t, leadkit.Contact)
	var all sync.WaitGroup
	var failed [4]error
	for i := range failed {
		user := r.By(testkit.Actor(t, r.DB, fmt.Sprintf("user%d@example.com", i)))
		all.Go(func() {
			for range leadkit.RevealsPerDay {
				_, err := user.Reveals.Reveal(t.Context(), scope.System,
					reveal.NewReveal{Lead: lead, Field: models.ContactEmail, Reason: models.RevealForComplaint})
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
