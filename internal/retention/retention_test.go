package retention_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/models"
)

func TestRetentionByCountryAndCategory(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	s := r.Retaining(leadkit.Periods(30, 60, leadkit.ByCountry{"DE": 10}, leadkit.ByCountry{"DE": 10}))
	leadkit.RunRetention(t, s.Retention, nil) // puts the periods into effect, because there are no leads
	british, german := r.DeliverIn(t, "GB", "a@example.com"), r.DeliverIn(t, "DE", "b@example.com")
	r.PassDays(t, 9)
	late := r.DeliverIn(t, "DE", "c@example.com")
	leadkit.RunRetention(t, s.Retention, nil)
	r.Expect(t, "9 days", map[uuid.UUID]string{british: "contact consent", german: "contact consent"})
	r.PassDays(t, 2)
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainContact: {"DE": 1}})
	r.Expect(t, "11 days", map[uuid.UUID]string{british: "contact consent", german: "", late: "contact consent"})
	r.PassDays(t, 20)
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainContact: {"DE": 1, "GB": 1}})
	r.Expect(t, "31 days", map[uuid.UUID]string{british: "consent", german: "", late: ""})
	leadkit.RunRetention(t, s.Retention, nil)
	r.PassDays(t, 30)
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainConsent: {"GB": 1}})
	r.Expect(t, "61 days", map[uuid.UUID]string{british: "", german: "", late: ""})

	// Old entries do not contain the new field.
	var texts []string
	for sequence := int64(1); sequence <= 4; sequence++ {
		text, err := r.Journal.Read(t.Context(), sequence)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for i, kept := range []bool{false, true, false, false} {
		if !strings.Contains(texts[i], `"by":"retention","reason":"retention"`) ||
			strings.Contains(texts[i], "keeps_consent") != kept {
			t.Errorf("entry %d: got %s, want keeps_consent %t", i+1, texts[i], kept)
		}
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM audit_events WHERE action = 'retention.run' AND actor = 'the service'`); n != 3 {
		t.Errorf("got %d audit events, want one for each run that erased something", n)
	}
	receipt, found, err := r.Erasures.ReceiptOf(t.Context(), british)
	if err != nil || !found || receipt.Reason != models.EraseForRetention || receipt.KeepsConsent ||
		erasure.ReasonLabel(receipt.Reason) == "" {
		t.Errorf("got receipt %+v, %v", receipt, err)
	}
}

// A consumer's request after the contact record was erased also erases the details of the consent.
func TestEraseAfterRetention(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	s := r.Retaining(leadkit.Periods(10, 0, nil, nil))
	leadkit.RunRetention(t, s.Retention, nil)
	lead, other := r.DeliverIn(t, "GB", "a@example.com"), r.DeliverIn(t, "GB", "b@example.com")
	r.PassDays(t, 11)
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainContact: {"GB": 2}})
	if _, err := r.Reveal(t, lead); !errors.Is(err, leads.ErrErased) {
		t.Errorf("reveal: got %v", err)
	}
	if receipt, _, err := r.Erasures.ReceiptOf(t.Context(), lead); err != nil || !receipt.KeepsConsent {
		t.Errorf("got receipt %+v, %v", receipt, err)
	}
	if _, err := r.Erase(t, lead); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Erase(t, lead); !errors.Is(err, leads.ErrErased) {
		t.Errorf("second erasure: got %v", err)
	}
	r.Expect(t, "after the request", map[uuid.UUID]string{lead: "", other: "consent"})
	if receipt, _, err := r.Erasures.ReceiptOf(t.Context(), lead); err != nil || receipt.KeepsConsent ||
		receipt.Reason != models.EraseForRequest {
		t.Errorf("got receipt %+v, %v", receipt, err)
	}
	if all, err := r.Erasures.Receipts(t.Context(), 0, 10); err != nil || len(all) != 3 {
		t.Errorf("got %d erasures, %v", len(all), err)
	}
	if _, err := r.Erasures.Erase(t.Context(), scope.System,
		erasure.NewErasure{Lead: other, Reason: models.EraseForRetention}); leadkit.Rejection(err) != "invalid reason" {
		t.Errorf("staff chose the reason: got %s", leadkit.Rejection(err))
	}
}

func TestShorterPeriodNeedsAcceptance(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead := r.DeliverIn(t, "GB", "a@example.com")
	r.DeliverIn(t, "DE", "b@example.com")
	r.PassDays(t, 40)
	// These are the first periods, but the platform has leads.
	s := r.Retaining(leadkit.Periods(20, 30, leadkit.ByCountry{"DE": 100}, leadkit.ByCountry{"DE": 100})).By(r.User)
	for range 2 {
		leadkit.RunRetention(t, s.Retention, nil)
	}
	plan, err := s.Retention.Plan(t.Context(), 0)
	if err != nil || plan.Applied() || len(plan.Periods) != 4 || plan.Last == nil {
		t.Fatalf("got %+v, %v", plan, err)
	}
	for i, want := range []string{"contact  0 20 1", "contact DE 0 100 0", "consent  0 30 1", "consent DE 0 100 0"} {
		p := plan.Periods[i]
		if got := fmt.Sprintf("%s %s %d %d %d", p.Category, p.Country, p.Days, p.Configured, p.Due.Leads); got != want || !p.Due.Complete ||
			p.Due.Oldest.Sub(testkit.StartTime()) > time.Hour {
			t.Errorf("got %s, %+v, want %s", got, p.Due, want)
		}
	}
	if err := s.Retention.Apply(t.Context(), "another"); leadkit.Rejection(err) != "conflict retention_changed" {
		t.Errorf("got %s", leadkit.Rejection(err))
	}
	other := r.Retaining(leadkit.Periods(10, 30, nil, nil))
	if err := other.Retention.Apply(t.Context(), plan.Version); leadkit.Rejection(err) != "conflict retention_changed" {
		t.Errorf("with another configuration: got %s", leadkit.Rejection(err))
	}
	if err := s.Retention.Apply(t.Context(), plan.Version); err != nil {
		t.Fatal(err)
	}
	if n := r.AuditEvents(t, "retention.apply", "done"); n != 1 {
		t.Errorf("got %d audit events, want 1", n)
	}
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainContact: {"GB": 1}})
	r.Expect(t, "applied", map[uuid.UUID]string{lead: ""})

	// A longer period takes effect on its own, and a shorter one does not.
	mixed := r.Retaining(leadkit.Periods(50, 60, leadkit.ByCountry{"DE": 30}, leadkit.ByCountry{"DE": 200}))
	leadkit.RunRetention(t, mixed.Retention, nil)
	want := "consent=60 consentDE=200 contact=50 contactDE=100"
	got := testkit.Value[string](t, r.DB,
		`SELECT string_agg(category || country || '=' || days, ' ' ORDER BY category, country) FROM retention_periods`)
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	acceptedBy := testkit.Value[string](t, r.DB,
		`SELECT string_agg(DISTINCT accepted_by, ',' ORDER BY accepted_by) FROM retention_periods WHERE country = 'DE'`)
	if acceptedBy != ",fay@example.com" {
		t.Errorf("got accepted by %q", acceptedBy)
	}
}

// A country that gets its own, longer period is not erased with the other countries.
func TestCountryGetsOwnPeriod(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	leadkit.RunRetention(t, r.Retaining(leadkit.Periods(10, 10, nil, nil)).Retention, nil)
	old := r.DeliverIn(t, "DE", "a@example.com")
	r.PassDays(t, 11)
	leadkit.RunRetention(t, r.Retaining(leadkit.Periods(10, 10, nil, nil)).Retention,
		leadkit.Counts{models.RetainContact: {"DE": 1}})
	lead, british := r.DeliverIn(t, "DE", "b@example.com"), r.DeliverIn(t, "GB", "c@example.com")
	r.PassDays(t, 11)
	own := r.Retaining(leadkit.Periods(10, 10, leadkit.ByCountry{"DE": 20}, leadkit.ByCountry{"DE": 20}))
	leadkit.RunRetention(t, own.Retention, leadkit.Counts{models.RetainContact: {"GB": 1}})
	r.Expect(t, "11 days", map[uuid.UUID]string{old: "", lead: "contact consent", british: ""})
	r.PassDays(t, 10)
	leadkit.RunRetention(t, own.Retention, leadkit.Counts{models.RetainContact: {"DE": 1}})
	// Without its own period, the default applies again as soon as it is accepted.
	last := r.DeliverIn(t, "DE", "d@example.com")
	r.PassDays(t, 11)
	none := r.Retaining(leadkit.Periods(10, 10, nil, nil))
	leadkit.RunRetention(t, none.Retention, nil)
	plan, err := none.Retention.Plan(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := none.Retention.Apply(t.Context(), plan.Version); err != nil {
		t.Fatal(err)
	}
	leadkit.RunRetention(t, none.Retention, leadkit.Counts{models.RetainContact: {"DE": 1}})
	r.Expect(t, "end", map[uuid.UUID]string{last: ""})
}

// openJobs returns the number of jobs for retention runs that have not ended.
func (r rig) openJobs(t *testing.T) int {
	t.Helper()
	return testkit.Value[int](t, r.DB, `SELECT count(*) FROM jobs WHERE kind = 'retention_run' AND ended_at IS NULL`)
}

// enqueued checks how many jobs there are after a node has looked for due runs.
func (r rig) enqueued(t *testing.T, when string, s privacy.Services, want int) {
	t.Helper()
	if err := s.Retention.EnqueueDaily(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := r.openJobs(t); n != want {
		t.Errorf("%s: got %d open jobs, want %d", when, n, want)
	}
}

func TestDailyRun(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	s := r.Retaining(leadkit.Periods(10, 10, nil, nil))
	runs := func() int { return testkit.Value[int](t, r.DB, `SELECT count(*) FROM retention_runs`) }
	r.enqueued(t, "first run", s, 1)
	r.enqueued(t, "same run", s, 1)
	leadkit.RunRetention(t, s.Retention, nil)
	r.enqueued(t, "same day", s, 0)
	if runs() != 1 {
		t.Errorf("got %d runs, want 1", runs())
	}
	lead := r.DeliverIn(t, "GB", "a@example.com")
	r.PassDays(t, 11)
	r.enqueued(t, "later", s, 1)
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainContact: {"GB": 1}})
	if runs() != 2 || r.Stored(t, lead) != "" {
		t.Errorf("got %d runs and %q, want 2 and nothing", runs(), r.Stored(t, lead))
	}
	never := rig{leadkit.New(t)}
	never.enqueued(t, "without periods", never.Retaining(retention.Periods{}), 0)
}

// A run that fails is continued after an hour, possibly by another node. The audit log contains one event for it.
func TestRetentionContinues(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*leadkit.Journal, bool){
		"journal's disk is full":           func(b *leadkit.Journal, on bool) { b.Full.Store(on) },
		"killed after writing the journal": func(b *leadkit.Journal, on bool) { b.Killed.Store(on) },
	} {
		t.Run(name, func(t *testing.T) {
			r := rig{leadkit.New(t)}
			s := r.Retaining(leadkit.Periods(10, 20, nil, nil))
			leadkit.RunRetention(t, s.Retention, nil)
			british, german := r.DeliverIn(t, "GB", "a@example.com"), r.DeliverIn(t, "DE", "b@example.com")
			r.PassDays(t, 11)
			fault(r.Journal, true)
			for range 2 {
				if _, err := s.Retention.Run(t.Context()); leadkit.Rejection(err) != "unavailable erasure_pending" {
					t.Fatalf("got %s", leadkit.Rejection(err))
				}
			}
			r.enqueued(t, "after the failure", s, 0)
			fault(r.Journal, false)
			r.Time.Advance(time.Hour)
			another := r.Retaining(leadkit.Periods(10, 20, nil, nil))
			r.enqueued(t, "an hour later", another, 1)
			if _, err := another.Retention.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.Expect(t, "after the fault", map[uuid.UUID]string{british: "consent", german: "consent"})
			erased := testkit.Value[string](t, r.DB,
				`SELECT string_agg(after::text, ' ') FROM audit_events WHERE action = 'retention.run'`)
			if erased != `{"contact":{"DE":1,"GB":1}}` {
				t.Errorf("got events %s", erased)
			}
		})
	}
}

// All nodes and the command line run at once, while staff erase the same leads.
func TestConcurrentRetention(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	periods := leadkit.Periods(10, 10, nil, nil)
	leadkit.RunRetention(t, r.Retaining(periods).Retention, nil)
	var all []uuid.UUID
	for i := range 6 {
		all = append(all, r.DeliverIn(t, []string{"GB", "DE"}[i%2], fmt.Sprintf("person%d@example.com", i)))
	}
	r.PassDays(t, 11)
	var wg sync.WaitGroup
	for range 4 {
		s := r.Retaining(periods)
		wg.Go(func() {
			err := s.Retention.EnqueueDaily(context.Background())
			if err == nil {
				_, err = s.Retention.Run(context.Background())
			}
			if err != nil && !errors.Is(err, jobs.ErrRunning) {
				t.Errorf("run: %v", err)
			}
		})
	}
	for _, lead := range all[:3] {
		wg.Go(func() {
			_, err := r.Node(r.Journal).Erasures.Erase(context.Background(), scope.System,
				erasure.NewErasure{Lead: lead, Reason: models.EraseForLegal})
			if err != nil && !errors.Is(err, leads.ErrErased) {
				t.Errorf("erase: %v", err)
			}
		})
	}
	wg.Wait()
	for _, lead := range all {
		if got := r.Stored(t, lead); got != "" {
			t.Errorf("got %q", got)
		}
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM erasures`); n != len(all) {
		t.Errorf("got %d erasures, want %d", n, len(all))
	}
	if _, err := r.Erasures.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// Sandbox leads are left to the job that deletes them.
func TestRetentionSkipsSandboxLeads(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	s := r.Retaining(leadkit.Periods(1, 1, nil, nil))
	leadkit.RunRetention(t, s.Retention, nil)
	r.Required.Accounts[0] = r.Required.Accounts[1]
	lead := r.DeliverIn(t, "GB", "a@example.com")
	r.PassDays(t, 3)
	leadkit.RunRetention(t, s.Retention, nil)
	r.Expect(t, "3 days", map[uuid.UUID]string{lead: "contact consent"})
	if _, err := s.Erasures.PlaceHold(t.Context(), scope.System,
		erasure.NewHold{Lead: lead, Reason: "case 1"}); leadkit.Rejection(err) != "conflict sandbox_lead" {
		t.Errorf("hold: got %s", leadkit.Rejection(err))
	}
}

// There are more leads than an entry of the journal can contain, and the run is stopped several times.
func TestRetentionInBatches(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	periods := leadkit.Periods(5, 30, leadkit.ByCountry{"DE": 40}, leadkit.ByCountry{"DE": 40})
	leadkit.RunRetention(t, r.Retaining(periods).Retention, nil)
	lead := r.DeliverIn(t, "GB", "a@example.com")
	const n = 5000 // until 3 days and 11 hours after the first one
	r.AddCopies(t, lead, n)
	r.PassDays(t, 9)
	for stops := 0; ; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		writes := 0
		r.Journal.Written = func() {
			if writes++; writes == 2 { // the first write is of the entry that the last attempt has left
				cancel()
			}
		}
		_, err := r.Retaining(periods).Retention.Run(ctx)
		cancel()
		if err == nil {
			if stops < 2 {
				t.Errorf("the run was stopped %d times, want at least 2", stops)
			}
			break
		}
		if ctx.Err() == nil || stops > 10 {
			t.Fatalf("run: %v", err)
		}
	}
	r.Journal.Written = nil
	const british = n - n/3 + 1
	erased := testkit.Value[string](t, r.DB,
		`SELECT string_agg(after::text, ' ') FROM audit_events WHERE action = 'retention.run'`)
	if want := fmt.Sprintf(`{"contact":{"GB":%d}}`, british); erased != want {
		t.Errorf("got events %s, want %s", erased, want)
	}
	left := testkit.Value[string](t, r.DB, `SELECT string_agg(country || ' ' || state || ' ' || n, ', ' ORDER BY country, state) FROM (SELECT country, state, count(*) n FROM leads GROUP BY 1, 2) s`)
	if want := fmt.Sprintf("DE delivered %d, GB erased %d", n/3, british); left != want {
		t.Errorf("got %s, want %s", left, want)
	}
	if most := testkit.Value[int](t, r.DB, `SELECT max(n) FROM (SELECT count(*) n FROM erasures GROUP BY sequence) s`); most > 1000 {
		t.Errorf("got an entry with %d leads, want at most 1000", most)
	}
	if v, err := r.Erasures.Verify(t.Context()); err != nil || v.Entries < 4 {
		t.Errorf("verify: got %+v, %v", v, err)
	}
	r.PassDays(t, 40)
	leadkit.RunRetention(t, r.Retaining(periods).Retention,
		leadkit.Counts{models.RetainContact: {"DE": n / 3}, models.RetainConsent: {"GB": british}})
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM consents WHERE disclosure_digest IS NOT NULL`); n != 0 {
		t.Errorf("got %d details of consents, want 0", n)
	}
	if _, err := r.Erasures.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// The details of a consent that an entry keeps cannot be changed.
func TestKeptConsentCannotBeChanged(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	s := r.Retaining(leadkit.Periods(10, 0, nil, nil))
	leadkit.RunRetention(t, s.Retention, nil)
	lead := r.DeliverIn(t, "GB", "a@example.com")
	r.PassDays(t, 11)
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainContact: {"GB": 1}})
	root := testkit.Connect(t, r.DB.RootURL)
	_, err := root.Exec(t.Context(), `UPDATE consents SET disclosure_digest = NULL WHERE lead_id = $1`, lead)
	if err == nil {
		t.Error("the owner erased the details of a consent that is kept")
	}
}

// After a restore, a replay keeps the details of the consents that the entries keep.
func TestReplayKeepsConsents(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	s := r.Retaining(leadkit.Periods(10, 30, nil, nil))
	leadkit.RunRetention(t, s.Retention, nil)
	kept, whole := r.DeliverIn(t, "GB", "a@example.com"), r.DeliverIn(t, "GB", "b@example.com")
	r.PassDays(t, 11)
	restored := r.BackUpAndRestore(t)
	leadkit.RunRetention(t, s.Retention, leadkit.Counts{models.RetainContact: {"GB": 2}})
	if _, err := r.Erase(t, whole); err != nil {
		t.Fatal(err)
	}
	older := r
	older.DB = restored
	node := leadkit.NewServices(restored.DB, r.Wrappers, r.Keys, r.Journal, r.Time,
		leadkit.Settings{Retention: leadkit.Periods(10, 30, nil, nil)})
	if _, err := node.Retention.Run(t.Context()); leadkit.Rejection(err) != "unavailable journal_ahead" {
		t.Errorf("before the replay: got %s", leadkit.Rejection(err))
	}
	if done, err := leadkit.Replay(t, node.Erasures, false); err != nil || done.Entries != 2 {
		t.Fatalf("replay: got %+v, %v", done, err)
	}
	for lead, want := range map[uuid.UUID]string{kept: "consent", whole: ""} {
		if got := older.Stored(t, lead); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if _, err := node.Erasures.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := node.Retention.Run(t.Context()); err != nil {
		t.Error(err)
	}
}
