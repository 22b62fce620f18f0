package ratecard_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func service(t *testing.T, d *testkit.Database) *ratecard.Service {
	t.Helper()
	c := clock.NewManual(testkit.StartTime())
	s, err := ratecard.NewService(d.DB, testkit.NewQueue(d.DB, c), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func shippedCard(t *testing.T) pricingrules.Card {
	t.Helper()
	_, _, card, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return card
}

// put stores a rate card in the given state. version is used only if the state is not draft.
func put(t *testing.T, d *testkit.Database, version int, state models.RateCardState, card pricingrules.Card) uuid.UUID {
	t.Helper()
	now := testkit.StartTime()
	row := models.RateCard{
		ID:        uuid.New(),
		State:     models.RateCardDraft,
		Author:    "someone",
		CreatedAt: now,
		UpdatedAt: now,
		UpdatedBy: "someone",
	}
	rules, err := ratecard.ToRows(row.ID, card)
	if err != nil {
		t.Fatal(err)
	}
	for _, insert := range []error{d.Gorm.Create(&row).Error, d.Gorm.CreateInBatches(rules, 500).Error} {
		if insert != nil {
			t.Fatal(insert)
		}
	}
	if state != models.RateCardDraft {
		if err := d.Gorm.Model(&row).Updates(map[string]any{"state": state, "version": version, "effective_at": now}).Error; err != nil {
			t.Fatal(err)
		}
	}
	return row.ID
}

// everywhere returns a card with a rule that gives every cell the same base price, followed by the
// rules in more.
func everywhere(minor int64, more ...pricingrules.Rule) pricingrules.Card {
	return pricingrules.Card{Rules: append([]pricingrules.Rule{{Base: all(minor)}}, more...)}
}

// all returns the same amount in every currency.
func all(minor int64) (a pricingrules.Amounts) {
	for _, currency := range money.Currencies {
		a[currency] = minor
	}
	return a
}

// rateCards is a database with a current version, and services that act for two users, ann and bob.
type rateCards struct {
	*testkit.Database
	*ratecard.Service // acts for ann
	bob               *ratecard.Service
	jobs              *jobs.Queue // runs replays
	annActor          audit.Actor
	clock             *clock.Manual
}

var (
	ann = audit.Actor{Name: "ann@example.com", Role: "pricing"}
	bob = audit.Actor{Name: "bob@example.com", Role: "pricing"}
)

// newRateCards stores cards as versions 1, 2 and so on. The last one is current.
func newRateCards(t *testing.T, cards ...pricingrules.Card) *rateCards {
	t.Helper()
	d, c := testkit.NewDatabase(t), clock.NewManual(testkit.StartTime())
	for i, card := range cards {
		state := models.RateCardSuperseded
		if i+1 == len(cards) {
			state = models.RateCardPublished
		}
		put(t, d, i+1, state, card)
	}
	w := &rateCards{Database: d, clock: c}
	w.annActor = testkit.Actor(t, d, ann.Name)
	w.jobs = testkit.NewQueue(d.DB, c)
	w.Service = w.node(t, d.DB, w.jobs).By(w.annActor)
	w.bob = w.Service.By(testkit.Actor(t, d, bob.Name))
	return w
}

// node returns the service of another node, which uses the connection pool db, and the given queue.
func (w *rateCards) node(t *testing.T, db *postgres.DB, queue *jobs.Queue) *ratecard.Service {
	t.Helper()
	s, err := ratecard.NewService(db, queue, w.clock)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// draft creates a draft from the current version.
func (w *rateCards) draft(t *testing.T) models.RateCard {
	t.Helper()
	card, err := w.CreateDraft(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	return card
}

// now returns the current row of a card.
func (w *rateCards) now(t testing.TB, card uuid.UUID) (row models.RateCard) {
	t.Helper()
	if err := w.Gorm.Where("id = ?", card).Take(&row).Error; err != nil {
		t.Fatal(err)
	}
	return row
}

// rules returns a card's rules by position.
func (w *rateCards) rules(t testing.TB, card uuid.UUID) map[int]pricingrules.Rule {
	t.Helper()
	var rows []models.PricingRule
	if err := w.Gorm.Where("rate_card_id = ?", card).Order("position").Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	read, err := ratecard.FromRows(rows)
	if err != nil {
		t.Fatal(err)
	}
	list := map[int]pricingrules.Rule{}
	for i, row := range rows {
		list[row.Position] = read.Rules[i]
	}
	return list
}

// has checks a card's rules by position.
func (w *rateCards) has(t testing.TB, card uuid.UUID, want map[int]pricingrules.Rule) {
	t.Helper()
	if got := w.rules(t, card); !maps.Equal(got, want) {
		t.Errorf("got rules %+v\nwant %+v", got, want)
	}
}

// numbered returns rules by position: 1, 2 and so on.
func numbered(rules ...pricingrules.Rule) map[int]pricingrules.Rule {
	list := map[int]pricingrules.Rule{}
	for i, rule := range rules {
		list[i+1] = rule
	}
	return list
}

// audited checks the users and actions in a card's audit events, oldest first.
func (w *rateCards) audited(t testing.TB, card uuid.UUID, want ...string) {
	t.Helper()
	var got []string
	err := w.Gorm.Raw(`SELECT actor || ' ' || action FROM audit_events WHERE object_kind = 'rate_card' AND object_id = ? AND outcome = 'done' ORDER BY id`,
		ratecard.ID(card)).Scan(&got).Error
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got audit events %q, want %q", got, want)
	}
}

// snapshotNumber returns the number that changes when nodes must reload prices.
func (w *rateCards) snapshotNumber(t testing.TB) int64 {
	t.Helper()
	return testkit.Value[int64](t, w.Database, `SELECT version FROM snapshot_versions WHERE name = 'rate_card'`)
}

// rejected checks that err is an apperr.Error with the given code and reason, and that its message
// contains all of the given words.
func rejected(t testing.TB, err error, code apperr.Code, reason string, words ...string) {
	t.Helper()
	f := apperr.As(err)
	if f == nil || f.Code != code || f.Reason != reason {
		t.Errorf("got error %v (%+v), want code %s and reason %s", err, f, code, reason)
		return
	}
	for _, word := range words {
		if !strings.Contains(f.Message, word) {
			t.Errorf("got message %q, want it to contain %q", f.Message, word)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
