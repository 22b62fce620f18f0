package privacy_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/privacy"
	"github.com/pingpost/pingpost/models"
)

type byCountry = map[string]int

func retention(contact, consent int, contactBy, consentBy byCountry) privacy.Retention {
	return privacy.Retention{
		Contact: privacy.Days{Default: contact, ByCountry: contactBy}, Consent: privacy.Days{Default: consent, ByCountry: consentBy},
	}
}

// retaining returns a service with the given periods, as a node has it.
func (r rig) retaining(periods privacy.Retention) *privacy.Service {
	return privacy.NewService(r.DB.DB, r.Wrappers, r.Keys, r.journal, r.Time, privacy.Settings{RevealsPerDay: perDay, Retention: periods})
}

// days advances the clock.
func (r rig) days(t *testing.T, n int) {
	t.Helper()
	for ; n > 0; n -= 20 { // partitions are created from the day before until 28 days after
		r.Time.Advance(time.Duration(min(n, 20)) * 24 * time.Hour)
		if err := r.DB.EnsurePartitions(t.Context(), r.Time.Now(), postgres.Monthly); err != nil {
			t.Fatal(err)
		}
	}
}

// deliverIn delivers a lead from a country.
func (r rig) deliverIn(t *testing.T, country, email string) uuid.UUID {
	t.Helper()
	r.Reload(t)
	in := r.Intake(intake.Settings{DefaultMode: models.SigningRequired})
	postcode := map[string]string{"GB": "SW1A 1AA", "DE": "10115"}[country]
	q, err := in.Ping(intake.PingRequest{ID: uuid.New(), Body: fmt.Appendf(nil, `{"industry":"plumber","postcode":%q,"country":%q}`, postcode, country)})
	if err != nil || !q.Accepted {
		t.Fatalf("ping: got %+v, %v", q, err)
	}
	post := fmt.Appendf(nil, `{"transactionId":%q,"partnerId":%q,"contact":{"email":%q},"consent":{"acknowledged":true,"disclosureText":"I agree"}}`,
		q.TransactionID, r.Required.Accounts[0].Identifier, email)
	lead, err := in.Post(t.Context(), intake.PostRequest{
		ID: uuid.New(), Address: clientaddr.Group("192.0.2.1"), Body: post, Headers: r.Required.Sign(r.Time.Now(), post),
	})
	if err != nil {
		t.Fatal(err)
	}
	return lead.LeadID
}

// stored returns which data of a lead is stored: "contact consent", "consent" or "".
func (r rig) stored(t *testing.T, lead uuid.UUID) string {
	t.Helper()
	return testkit.Value[string](t, r.DB, `SELECT concat_ws(' ', CASE WHEN k.lead_id IS NOT NULL AND l.ciphertext IS NOT NULL THEN 'contact' END,
			CASE WHEN c.disclosure_digest IS NOT NULL THEN 'consent' END)
		FROM leads l JOIN consents c ON c.lead_id = l.id LEFT JOIN lead_keys k ON k.lead_id = l.id WHERE l.id = $1`, lead)
}

func (r rig) expect(t *testing.T, when string, want map[uuid.UUID]string) {
	t.Helper()
	for lead, data := range want {
		if got := r.stored(t, lead); got != data {
			t.Errorf("%s: lead %s: got %q, want %q", when, lead, got, data)
		}
	}
	if _, err := r.VerifyErasures(t.Context()); err != nil {
		t.Errorf("%s: verify: %v", when, err)
	}
	if incomplete, err := r.Leads.Incomplete(t.Context(), testkit.StartTime().Add(-time.Hour), r.Time.Now().Add(time.Hour)); err != nil || len(incomplete) != 0 {
		t.Errorf("%s: got incomplete leads %v, %v", when, incomplete, err)
	}
}

// counts is what a run erased.
type counts = map[models.RetentionCategory]map[string]int64

func run(t *testing.T, s *privacy.Service, want counts) {
	t.Helper()
	got, err := s.RunRetention(t.Context())
	if err != nil || got.EndedAt == nil || fmt.Sprint(got.Erased) != fmt.Sprint(want) {
		t.Errorf("run: got %v, %v, want %v", got.Erased, err, want)
	}
}

const contactData, consentData = models.RetainContact, models.RetainConsent

func TestRetentionByCountryAndCategory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.retaining(retention(30, 60, byCountry{"DE": 10}, byCountry{"DE": 10}))
	run(t, s, nil) // puts the periods into effect, because there are no leads
	british, german := r.deliverIn(t, "GB", "a@example.com"), r.deliverIn(t, "DE", "b@example.com")
	r.days(t, 9)
	late := r.deliverIn(t, "DE", "c@example.com")
	run(t, s, nil)
	r.expect(t, "9 days", map[uuid.UUID]string{british: "contact consent", german: "contact consent"})
	r.days(t, 2)
	run(t, s, counts{contactData: {"DE": 1}})
	r.expect(t, "11 days", map[uuid.UUID]string{british: "contact consent", german: "", late: "contact consent"})
	r.days(t, 20)
	run(t, s, counts{contactData: {"DE": 1, "GB": 1}})
	r.expect(t, "31 days", map[uuid.UUID]string{british: "consent", german: "", late: ""})
	run(t, s, nil)
	r.days(t, 30)
	run(t, s, counts{consentData: {"GB": 1}})
	r.expect(t, "61 days", map[uuid.UUID]string{british: "", german: "", late: ""})

	// Old entries do not contain the new field.
	var texts []string
	for sequence := int64(1); sequence <= 4; sequence++ {
		text, err := r.journal.Read(t.Context(), sequence)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for i, kept := range []bool{false, true, false, false} {
		if !strings.Contains(texts[i], `"by":"retention","reason":"retention"`) || strings.Contains(texts[i], "keeps_consent") != kept {
			t.Errorf("entry %d: got %s, want keeps_consent %t", i+1, texts[i], kept)
		}
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM audit_events WHERE action = 'retention.run' AND actor = 'the service'`); n != 3 {
		t.Errorf("got %d audit events, want one for each run that erased something", n)
	}
	receipt, found, err := r.ReceiptOf(t.Context(), british)
	if err != nil || !found || receipt.Reason != models.EraseForRetention || receipt.KeepsConsent || privacy.ErasureReasonLabel(receipt.Reason) == "" {
		t.Errorf("got receipt %+v, %v", receipt, err)
	}
}

// A consumer's request after the contact record was erased also erases the details of the consent.
func TestEraseAfterRetention(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.retaining(retention(10, 0, nil, nil))
	run(t, s, nil)
	lead, other := r.deliverIn(t, "GB", "a@example.com"), r.deliverIn(t, "GB", "b@example.com")
	r.days(t, 11)
	run(t, s, counts{contactData: {"GB": 2}})
	if _, err := r.reveal(t, lead); !errors.Is(err, leads.ErrErased) {
		t.Errorf("reveal: got %v", err)
	}
	if receipt, _, err := r.ReceiptOf(t.Context(), lead); err != nil || !receipt.KeepsConsent {
		t.Errorf("got receipt %+v, %v", receipt, err)
	}
	if _, err := r.erase(t, lead); err != nil {
		t.Fatal(err)
	}
	if _, err := r.erase(t, lead); !errors.Is(err, leads.ErrErased) {
		t.Errorf("second erasure: got %v", err)
	}
	r.expect(t, "after the request", map[uuid.UUID]string{lead: "", other: "consent"})
	if receipt, _, err := r.ReceiptOf(t.Context(), lead); err != nil || receipt.KeepsConsent || receipt.Reason != models.EraseForRequest {
		t.Errorf("got receipt %+v, %v", receipt, err)
	}
	if all, err := r.Erasures(t.Context(), 0, 10); err != nil || len(all) != 3 {
		t.Errorf("got %d erasures, %v", len(all), err)
	}
	if _, err := r.Erase(t.Context(), scope.System, privacy.Erasure{Lead: other, Reason: models.EraseForRetention}); rejection(err) != "invalid reason" {
		t.Errorf("staff chose the reason: got %s", rejection(err))
	}
}

func TestShorterPeriodNeedsAcceptance(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.deliverIn(t, "GB", "a@example.com")
	r.deliverIn(t, "DE", "b@example.com")
	r.days(t, 40)
	// These are the first periods, but the platform has leads.
	s := r.retaining(retention(20, 30, byCountry{"DE": 100}, byCountry{"DE": 100})).By(r.user)
	for range 2 {
		run(t, s, nil)
	}
	plan, err := s.PlanRetention(t.Context(), 0)
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
	if err := s.ApplyRetention(t.Context(), "another"); rejection(err) != "conflict retention_changed" {
		t.Errorf("got %s", rejection(err))
	}
	other := r.retaining(retention(10, 30, nil, nil))
	if err := other.ApplyRetention(t.Context(), plan.Version); rejection(err) != "conflict retention_changed" {
		t.Errorf("with another configuration: got %s", rejection(err))
	}
	if err := s.ApplyRetention(t.Context(), plan.Version); err != nil {
		t.Fatal(err)
	}
	if n := r.auditEvents(t, "retention.apply", "done"); n != 1 {
		t.Errorf("got %d audit events, want 1", n)
	}
	run(t, s, counts{contactData: {"GB": 1}})
	r.expect(t, "applied", map[uuid.UUID]string{lead: ""})

	// A longer period takes effect on its own, and a shorter one does not.
	mixed := r.retaining(retention(50, 60, byCountry{"DE": 30}, byCountry{"DE": 200}))
	run(t, mixed, nil)
	want := "consent=60 consentDE=200 contact=50 contactDE=100"
	got := testkit.Value[string](t, r.DB, `SELECT string_agg(category || country || '=' || days, ' ' ORDER BY category, country) FROM retention_periods`)
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	acceptedBy := testkit.Value[string](t, r.DB, `SELECT string_agg(DISTINCT accepted_by, ',' ORDER BY accepted_by) FROM retention_periods WHERE country = 'DE'`)
	if acceptedBy != ",fay@example.com" {
		t.Errorf("got accepted by %q", acceptedBy)
	}
}

// A country that gets its own, longer period is not erased with the other countries.
func TestCountryGetsOwnPeriod(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run(t, r.retaining(retention(10, 10, nil, nil)), nil)
	old := r.deliverIn(t, "DE", "a@example.com")
	r.days(t, 11)
	run(t, r.retaining(retention(10, 10, nil, nil)), counts{contactData: {"DE": 1}})
	lead, british := r.deliverIn(t, "DE", "b@example.com"), r.deliverIn(t, "GB", "c@example.com")
	r.days(t, 11)
	own := r.retaining(retention(10, 10, byCountry{"DE": 20}, byCountry{"DE": 20}))
	run(t, own, counts{contactData: {"GB": 1}})
	r.expect(t, "11 days", map[uuid.UUID]string{old: "", lead: "contact consent", british: ""})
	r.days(t, 10)
	run(t, own, counts{contactData: {"DE": 1}})
	// Without its own period, the default applies again as soon as it is accepted.
	last := r.deliverIn(t, "DE", "d@example.com")
	r.days(t, 11)
	none := r.retaining(retention(10, 10, nil, nil))
	run(t, none, nil)
	plan, err := none.PlanRetention(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := none.ApplyRetention(t.Context(), plan.Version); err != nil {
		t.Fatal(err)
	}
	run(t, none, counts{contactData: {"DE": 1}})
	r.expect(t, "end", map[uuid.UUID]string{last: ""})
}

func TestRetainDaily(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.retaining(retention(10, 10, nil, nil))
	runs := func() int { return testkit.Value[int](t, r.DB, `SELECT count(*) FROM retention_runs`) }
	daily := func() {
		t.Helper()
		if err := s.RetainDaily(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	daily()
	daily()
	if runs() != 1 {
		t.Errorf("got %d runs, want 1", runs())
	}
	lead := r.deliverIn(t, "GB", "a@example.com")
	r.days(t, 11)
	daily()
	if runs() != 2 || r.stored(t, lead) != "" {
		t.Errorf("got %d runs and %q, want 2 and nothing", runs(), r.stored(t, lead))
	}
	never := newRig(t)
	if err := never.retaining(privacy.Retention{}).RetainDaily(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := testkit.Value[int](t, never.DB, `SELECT count(*) FROM retention_runs`); n != 0 {
		t.Errorf("got %d runs without periods, want 0", n)
	}
}

// A run that fails or is killed is continued, also by another node, and is one event in the audit log.
func TestRetentionContinues(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*brokenJournal, bool){
		"journal's disk is full":           func(b *brokenJournal, on bool) { b.full.Store(on) },
		"killed after writing the journal": func(b *brokenJournal, on bool) { b.killed.Store(on) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.retaining(retention(10, 20, nil, nil))
			run(t, s, nil)
			british, german := r.deliverIn(t, "GB", "a@example.com"), r.deliverIn(t, "DE", "b@example.com")
			r.days(t, 11)
			fault(r.journal, true)
			for range 2 {
				if err := s.RetainDaily(t.Context()); rejection(err) != "unavailable erasure_pending" {
					t.Fatalf("got %s", rejection(err))
				}
			}
			fault(r.journal, false)
			if err := r.retaining(retention(10, 20, nil, nil)).RetainDaily(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.expect(t, "after the fault", map[uuid.UUID]string{british: "consent", german: "consent"})
			erased := testkit.Value[string](t, r.DB, `SELECT string_agg(after::text, ' ') FROM audit_events WHERE action = 'retention.run'`)
			if erased != `{"contact":{"DE":1,"GB":1}}` {
				t.Errorf("got events %s", erased)
			}
		})
	}
}

// If a node was killed, another one continues its run after a minute.
func TestRetentionTakeover(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.retaining(retention(10, 10, nil, nil))
	run(t, s, nil)
	lead := r.deliverIn(t, "GB", "a@example.com")
	r.days(t, 11)
	r.DB.Exec(t, `INSERT INTO retention_runs (id, started_at, holder, heartbeat_at, erased) VALUES (gen_random_uuid(), $1, gen_random_uuid(), $1, '{"contact": {"GB": 5}}')`, r.Time.Now())
	if _, err := s.RunRetention(t.Context()); rejection(err) != "conflict retention_running" {
		t.Errorf("got %s", rejection(err))
	}
	if err := s.RetainDaily(t.Context()); err != nil || r.stored(t, lead) == "" {
		t.Errorf("got %v and %q while another node is running", err, r.stored(t, lead))
	}
	r.Time.Advance(2 * time.Minute)
	run(t, s, counts{contactData: {"GB": 6}})
}

// All nodes and the command line run at once, while staff erase the same leads.
func TestConcurrentRetention(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	periods := retention(10, 10, nil, nil)
	run(t, r.retaining(periods), nil)
	var all []uuid.UUID
	for i := range 6 {
		all = append(all, r.deliverIn(t, []string{"GB", "DE"}[i%2], fmt.Sprintf("person%d@example.com", i)))
	}
	r.days(t, 11)
	var wg sync.WaitGroup
	for range 4 {
		s := r.retaining(periods)
		wg.Go(func() {
			if err := s.RetainDaily(context.Background()); err != nil {
				t.Errorf("daily: %v", err)
			}
		})
	}
	for _, lead := range all[:3] {
		wg.Go(func() {
			_, err := newService(r.DB, r.Platform, r.journal).By(r.user).Erase(context.Background(), scope.System, privacy.Erasure{Lead: lead, Reason: models.EraseForLegal})
			if err != nil && !errors.Is(err, leads.ErrErased) {
				t.Errorf("erase: %v", err)
			}
		})
	}
	wg.Wait()
	for _, lead := range all {
		if got := r.stored(t, lead); got != "" {
			t.Errorf("got %q", got)
		}
	}
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM erasures`); n != len(all) {
		t.Errorf("got %d erasures, want %d", n, len(all))
	}
	if _, err := r.VerifyErasures(t.Context()); err != nil {
		t.Error(err)
	}
}

// Sandbox leads are left to the job that deletes them.
func TestRetentionSkipsSandboxLeads(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.retaining(retention(1, 1, nil, nil))
	run(t, s, nil)
	r.Required.Accounts[0] = r.Required.Accounts[1]
	lead := r.deliverIn(t, "GB", "a@example.com")
	r.days(t, 3)
	run(t, s, nil)
	r.expect(t, "3 days", map[uuid.UUID]string{lead: "contact consent"})
	if _, err := s.PlaceHold(t.Context(), scope.System, privacy.NewHold{Lead: lead, Reason: "case 1"}); rejection(err) != "conflict sandbox_lead" {
		t.Errorf("hold: got %s", rejection(err))
	}
}

// copies adds copies of a lead, one for each minute after its receipt. Each third is from Germany.
func (r rig) copies(t *testing.T, lead uuid.UUID, n int) {
	t.Helper()
	r.DB.Exec(t, `WITH c AS (SELECT first_id($2::timestamptz + i * interval '1 minute') AS id, $2 + i * interval '1 minute' AS at,
				CASE WHEN i % 3 = 0 THEN 'DE' ELSE 'GB' END AS country FROM generate_series(1, $3::int) i),
			k AS (INSERT INTO lead_keys SELECT r.* FROM c, lead_keys o, jsonb_populate_record(o, jsonb_build_object('lead_id', c.id)) r WHERE o.lead_id = $1),
			s AS (INSERT INTO consents SELECT r.* FROM c, consents o, jsonb_populate_record(o, jsonb_build_object('lead_id', c.id, 'received_at', c.at)) r WHERE o.lead_id = $1)
		INSERT INTO leads SELECT r.* FROM c, leads o, jsonb_populate_record(o, jsonb_build_object('id', c.id, 'received_at', c.at, 'country', c.country)) r WHERE o.id = $1`,
		lead, testkit.StartTime(), n)
}

// There are more leads than an entry of the journal can contain, and the run is stopped several times.
func TestRetentionInBatches(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	periods := retention(5, 30, byCountry{"DE": 40}, byCountry{"DE": 40})
	run(t, r.retaining(periods), nil)
	lead := r.deliverIn(t, "GB", "a@example.com")
	const n = 5000 // until 3 days and 11 hours after the first one
	r.copies(t, lead, n)
	r.days(t, 9)
	for stops := 0; ; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		writes := 0
		r.journal.written = func() {
			if writes++; writes == 2 { // the first write is of the entry that the last attempt has left
				cancel()
			}
		}
		err := r.retaining(periods).RetainDaily(ctx)
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
	r.journal.written = nil
	const british = n - n/3 + 1
	erased := testkit.Value[string](t, r.DB, `SELECT string_agg(after::text, ' ') FROM audit_events WHERE action = 'retention.run'`)
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
	if v, err := r.VerifyErasures(t.Context()); err != nil || v.Entries < 4 {
		t.Errorf("verify: got %+v, %v", v, err)
	}
	r.days(t, 40)
	run(t, r.retaining(periods), counts{contactData: {"DE": n / 3}, consentData: {"GB": british}})
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM consents WHERE disclosure_digest IS NOT NULL`); n != 0 {
		t.Errorf("got %d details of consents, want 0", n)
	}
	if _, err := r.VerifyErasures(t.Context()); err != nil {
		t.Error(err)
	}
}

// The details of a consent that an entry keeps cannot be changed.
func TestKeptConsentCannotBeChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.retaining(retention(10, 0, nil, nil))
	run(t, s, nil)
	lead := r.deliverIn(t, "GB", "a@example.com")
	r.days(t, 11)
	run(t, s, counts{contactData: {"GB": 1}})
	root := testkit.Connect(t, r.DB.RootURL)
	_, err := root.Exec(t.Context(), `UPDATE consents SET disclosure_digest = NULL WHERE lead_id = $1`, lead)
	if err == nil {
		t.Error("the owner erased the details of a consent that is kept")
	}
}

// backUpAndRestore dumps the database and restores it as a new one.
func (r rig) backUpAndRestore(t *testing.T) *testkit.Database {
	t.Helper()
	restored := testkit.NewEmptyDatabase(t)
	file := filepath.Join(t.TempDir(), "pingpost.dump")
	for _, command := range [][]string{
		{"pg_dump", r.DB.OwnerURL, "--format=custom", "--file=" + file},
		{"pg_restore", "--dbname=" + restored.RootURL, "--exit-on-error", file},
	} {
		if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command[0], err, out)
		}
	}
	restored.DB = testkit.Open(t, restored.AppURL)
	return restored
}

// After a restore, a replay keeps the details of the consents that the entries keep.
func TestReplayKeepsConsents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.retaining(retention(10, 30, nil, nil))
	run(t, s, nil)
	kept, whole := r.deliverIn(t, "GB", "a@example.com"), r.deliverIn(t, "GB", "b@example.com")
	r.days(t, 11)
	restored := r.backUpAndRestore(t)
	run(t, s, counts{contactData: {"GB": 2}})
	if _, err := r.erase(t, whole); err != nil {
		t.Fatal(err)
	}
	older := r
	older.DB = restored
	node := privacy.NewService(restored.DB, r.Wrappers, r.Keys, r.journal, r.Time, privacy.Settings{Retention: retention(10, 30, nil, nil)})
	if err := node.RetainDaily(t.Context()); rejection(err) != "unavailable journal_ahead" {
		t.Errorf("before the replay: got %s", rejection(err))
	}
	if done, err := replay(t, node, false); err != nil || done.Entries != 2 {
		t.Fatalf("replay: got %+v, %v", done, err)
	}
	for lead, want := range map[uuid.UUID]string{kept: "consent", whole: ""} {
		if got := older.stored(t, lead); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if _, err := node.VerifyErasures(t.Context()); err != nil {
		t.Error(err)
	}
	r.Time.Advance(2 * time.Minute) // the backup contains a run of another node
	if err := node.RetainDaily(t.Context()); err != nil {
		t.Error(err)
	}
}
