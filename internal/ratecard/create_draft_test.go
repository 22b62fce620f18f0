package ratecard_test

import (
	"slices"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// newShipped publishes the shipped card. It returns the service, the database, and a function that
// counts rows in the tables that a draft uses.
func newShipped(t *testing.T) (*ratecard.Service, *testkit.Database, func() [4]int) {
	t.Helper()
	d := testkit.NewDatabase(t)
	s := service(t, d).By(audit.Operator)
	if _, err := s.PublishShipped(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, d, func() (n [4]int) {
		for i, table := range []string{"rate_cards", "pricing_rules", "rate_card_edits", "audit_events"} {
			n[i] = testkit.Value[int](t, d, "SELECT count(*) FROM "+table)
		}
		return n
	}
}

func base(industry, country string, minor int64) []ratecard.BaseChange {
	return []ratecard.BaseChange{{Target: pricingrules.Target{Industry: industry, Country: country}, Minor: minor}}
}

// CreateDraftWithBases saves a draft with its first edit, or saves nothing.
func TestCreateDraftWithBases(t *testing.T) {
	t.Parallel()
	s, d, rows := newShipped(t)
	before := rows()
	draft, err := s.CreateDraftWithBases(t.Context(), " Spring ", "a base", base("plumber", "GB", 5000))
	if err != nil || draft.State != models.RateCardDraft || draft.Title != "Spring" || draft.BasedOn != 1 ||
		draft.RowVersion != 2 {
		t.Fatalf("got draft %+v (%v)", draft, err)
	}
	rules := len(shippedCard(t).Rules)
	if got, want := rows(), [4]int{before[0] + 1, before[1] + rules + 1, before[2] + 1, before[3] + 2}; got != want {
		t.Errorf("got %v rows, want %v", got, want)
	}
	var actions []string
	if err := d.Gorm.Model(&models.AuditEvent{}).Where("id > ?", before[3]).Order("id").Pluck("action", &actions).Error; err != nil || !slices.Equal(actions, []string{"pricing.create", "pricing.edit"}) {
		t.Errorf("got audit events %q (%v)", actions, err)
	}
	found, err := s.Draft(t.Context(), ratecard.ID(draft.ID))
	if err != nil || found.Edits != 1 || found.RowVersion != draft.RowVersion {
		t.Errorf("got draft %+v (%v)", found, err)
	}
	edits, _, _, err := s.Edits(t.Context(), draft.ID, audit.Page{Size: 9})
	if err != nil || len(edits) != 1 || edits[0].Summary != "a base" || s.Undo(t.Context(), draft.ID, edits[0].ID) != nil {
		t.Fatalf("got edits %+v (%v)", edits, err)
	}
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM pricing_rules WHERE rate_card_id = $1`, draft.ID); n != rules {
		t.Errorf("got %d rules after undo, want %d", n, rules)
	}

	if other, err := s.CreateDraftWithCard(t.Context(), "", "another card", everywhere(100)); err != nil ||
		testkit.Value[int](t, d, `SELECT count(*) FROM pricing_rules WHERE rate_card_id = $1`, other.ID) != 1 {
		t.Errorf("got draft %+v (%v)", other, err)
	}
	before = rows()
	for name, begin := range map[string]func() (models.RateCard, error){
		"same card": func() (models.RateCard, error) {
			return s.CreateDraftWithCard(t.Context(), "", "the same", shippedCard(t))
		},
		"unknown industry": func() (models.RateCard, error) {
			return s.CreateDraftWithBases(t.Context(), "", "x", base("plumbr", "GB", 100))
		},
		"amount too large": func() (models.RateCard, error) {
			return s.CreateDraftWithBases(t.Context(), "", "x", base("plumber", "GB", pricingrules.MaxAmount+1))
		},
		"conflicting rules": func() (models.RateCard, error) {
			card := everywhere(100)
			return s.CreateDraftWithCard(t.Context(), "", "x", pricingrules.Card{Rules: append(card.Rules, card.Rules...)})
		},
		"title with two lines": func() (models.RateCard, error) {
			return s.CreateDraftWithBases(t.Context(), "a\nb", "x", base("plumber", "GB", 100))
		},
	} {
		_, err := begin()
		if f := apperr.As(err); f == nil || f.Code != apperr.Invalid || ratecard.IsNoChange(err) != (name == "same card") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	if got := rows(); got != before {
		t.Errorf("got %v rows, want %v", got, before)
	}
}

// PublishBases publishes its changes as one version, or saves nothing. Concurrent calls lose no
// changes.
func TestPublishBases(t *testing.T) {
	t.Parallel()
	s, d, rows := newShipped(t)
	if now, err := s.PublishBases(t.Context(), "a base", "Storm", base("plumber", "GB", 5000)); err != nil ||
		now.Version != 2 || now.State != models.RateCardPublished || now.Note != "Storm" || now.BasedOn != 1 {
		t.Fatalf("got version %+v (%v)", now, err)
	}
	errs := make(chan error, 6)
	for i := range cap(errs) {
		go func() {
			_, err := s.PublishBases(t.Context(), "a base", "at once", base("roofer", "GB", int64(7000+i)))
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := testkit.Value[int](t, d, `SELECT count(*) FROM rate_cards WHERE state = 'superseded' AND based_on IS NOT DISTINCT FROM nullif(version - 1, 0)`); n != 7 {
		t.Errorf("got %d versions based on the previous one, want 7", n)
	}
	before := rows()
	for name, publish := range map[string]func() (models.RateCard, error){
		"no note": func() (models.RateCard, error) {
			return s.PublishBases(t.Context(), "x", " ", base("plumber", "GB", 1))
		},
		"no change": func() (models.RateCard, error) {
			return s.PublishBases(t.Context(), "x", "x", base("plumber", "GB", 5000))
		},
		"unknown market": func() (models.RateCard, error) {
			return s.PublishBases(t.Context(), "x", "x", base("plumber", "JP", 5000))
		},
	} {
		if _, err := publish(); apperr.As(err) == nil || apperr.As(err).Code != apperr.Invalid {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	if got := rows(); got != before {
		t.Errorf("got %v rows, want %v", got, before)
	}
	careful := s.WithPolicy(ratecard.Policy{RequireApproval: true})
	if now, err := careful.PublishBases(t.Context(), "a base", "Storm", base("plumber", "GB", 5100)); err != nil || now.State != models.RateCardSubmitted || now.Version != 0 || now.Submitter != audit.Operator.Name {
		t.Errorf("got draft %+v (%v), want it submitted", now, err)
	}
}
