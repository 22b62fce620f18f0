package reporting_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
)

// traffic is a database with two partners. The partner mine has a standard and a sandbox account.
type traffic struct {
	*testkit.Database
	mine, theirs, account, sandbox uuid.UUID
	old, fresh                     uuid.UUID // secrets
}

func openTraffic(t *testing.T) *traffic {
	t.Helper()
	f := &traffic{
		Database: testkit.NewDatabase(t),
		mine:     uuid.New(),
		theirs:   uuid.New(),
		account:  uuid.New(),
		sandbox:  uuid.New(),
	}
	f.old, f.fresh = uuid.MustParse("00000000-0000-7000-8000-00000000000a"), uuid.MustParse("00000000-0000-7000-8000-00000000000b")
	for slug, partner := range map[string]uuid.UUID{"mine": f.mine, "theirs": f.theirs} {
		f.Exec(t,
			`INSERT INTO partners (id, slug, name, status, signing_mode, shared_base_url, created_at, updated_at) VALUES ($1, $2, $2, 'approved', 'off', false, now(), now())`,
			partner, slug)
	}
	for account, sandbox := range map[uuid.UUID]bool{f.account: false, f.sandbox: true} {
		f.Exec(t, `INSERT INTO accounts (id, partner_id, identifier, name, is_default, sandbox, status, signing_mode, created_at, updated_at)
			VALUES ($1::uuid, $2, 'a' || $1::uuid::text, 'Any', false, $3, 'active', 'inherit', now(), now())`, account, f.mine, sandbox)
	}
	for secret, partner := range map[uuid.UUID]uuid.UUID{
		f.old:      f.mine,
		f.fresh:    f.mine,
		uuid.New(): f.mine,
		uuid.New(): f.theirs,
	} {
		f.Exec(t, `INSERT INTO signing_secrets (id, partner_id, label, prefix, last_four, sealed, digest, state, not_before, created_at)
			VALUES ($1::uuid, $2, '', '', '', '', uuid_send($1::uuid), 'active', now(), now())`, secret, partner)
	}
	return f
}

// count adds requests to the counters, all in one latency bucket.
func (f *traffic) count(
	t *testing.T, at time.Time, partner, account, secret uuid.UUID, endpoint, outcome string, n int64, bucket int,
) {
	t.Helper()
	latency := make([]int64, len(models.LatencyBounds)+1)
	latency[bucket] = n
	if _, err := f.Pool.Exec(t.Context(), `INSERT INTO traffic_minutes VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		at.Truncate(time.Minute), partner, account, secret, endpoint, outcome, n, latency); err != nil {
		t.Fatal(err)
	}
}

func TestPartnerFigures(t *testing.T) {
	t.Parallel()
	f := openTraffic(t)
	now := testkit.StartTime()
	f.count(t, now, f.mine, uuid.Nil, uuid.Nil, "ping", "priced", 50, 0)
	f.count(t, now.Add(-time.Hour), f.mine, uuid.Nil, uuid.Nil, "ping", "priced", 45, 1)
	f.count(t, now.Add(-time.Hour), f.mine, uuid.Nil, uuid.Nil, "ping", "payload", 4, 2)
	f.count(t, now.Add(-2*time.Hour), f.mine, uuid.Nil, uuid.Nil, "ping", "capped", 1, len(models.LatencyBounds))
	f.count(t, now, f.mine, f.account, f.old, "post", "delivered", 98, 4)
	f.count(t, now, f.mine, f.sandbox, f.old, "post", "signature", 1, 5)
	f.count(t, now, f.mine, f.account, f.old, "post", "expired", 2, len(models.LatencyBounds))
	f.count(t, now, f.theirs, f.theirs, uuid.Nil, "post", "delivered", 1000, 9)
	f.count(t, now.Add(-3*time.Hour), f.mine, f.account, f.old, "post", "delivered", 1000, 9) // before the range

	r := reporting.LastSteps(now, time.Hour, 3)
	hour := now.Truncate(time.Hour)
	full := reporting.PartnerFigures{
		Steps: []reporting.Step{
			{At: hour.Add(-2 * time.Hour), Pings: 1},
			{At: hour.Add(-time.Hour), Pings: 49},
			{At: hour, Pings: 50, Posts: 101},
		},
		Days: []reporting.Day{{
			Day: hour.Truncate(24 * time.Hour), Pings: 100, Priced: 95, RejectedPings: 4, Posts: 101, Delivered: 98, RejectedPosts: 3,
		}},
		Outcomes: []reporting.Outcome{
			{"post", "delivered", 98},
			{"ping", "priced", 95},
			{"ping", "payload", 4},
			{"post", "expired", 2},
			{"ping", "capped", 1},
			{"post", "signature", 1},
		},
		Latency: []reporting.Latency{
			{"ping", 100, 250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond},
			{"post", 101, 5 * time.Millisecond, 5 * time.Millisecond, reporting.Beyond}, // p99 is the 100th of 101
		},
	}
	none := reporting.PartnerFigures{Steps: []reporting.Step{
		{At: hour.Add(-2 * time.Hour)},
		{At: hour.Add(-time.Hour)},
		{At: hour},
	}}
	for name, c := range map[string]struct {
		scope scope.Scope
		want  reporting.PartnerFigures
	}{
		"all partners": {scope.System, full},
		"in scope":     {scope.Partners(f.theirs, f.mine), full},
		"out of scope": {scope.Partners(f.theirs), none},
		"empty scope":  {scope.Scope{}, none},
	} {
		got, err := reporting.NewReader(f.DB).Partner(t.Context(), c.scope, f.mine, r)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestSecretTraffic(t *testing.T) {
	t.Parallel()
	f := openTraffic(t)
	now := testkit.StartTime()
	for _, outcome := range []string{"delivered", "replayed", "already_delivered", "signature"} {
		f.count(t, now, f.mine, f.account, f.fresh, "post", outcome, 1, 0)
		f.count(t, now.Add(-time.Hour), f.mine, f.account, f.old, "post", outcome, 10, 0)
		f.count(t, now.Add(-3*time.Hour), f.mine, f.account, f.old, "post", outcome, 1000, 0) // before the range
		f.count(t, now, f.theirs, f.theirs, f.theirs, "post", outcome, 1000, 0)
	}
	f.count(t, now, f.mine, f.sandbox, f.fresh, "post", "delivered", 100, 0)
	f.count(t, now, f.mine, f.account, uuid.Nil, "post", "delivered_unsigned", 1000, 0)
	f.count(t, now.Add(5*time.Minute), f.mine, f.account, f.fresh, "post", "expired", 1, 0)

	r := reporting.LastSteps(now, time.Hour, 3)
	want := []reporting.SecretTraffic{{f.old, 1, 20}, {f.fresh, 2, 102}}
	secrets, err := reporting.NewReader(f.DB).Secrets(t.Context(), scope.Partners(f.mine), f.mine, r)
	if diff := cmp.Diff(want, secrets); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := reporting.NewReader(f.DB).Secrets(t.Context(), scope.Partners(f.theirs), f.mine, r); err != nil || len(got) != 0 {
		t.Errorf("out of scope: Secrets() = %+v, %v, want none", got, err)
	}
	minute := now.Truncate(time.Minute)
	used := map[uuid.UUID]time.Time{f.old: minute.Add(-time.Hour), f.fresh: minute.Add(5 * time.Minute)}
	if got, err := reporting.NewReader(f.DB).LastUsed(t.Context(), scope.Partners(f.mine), f.mine); err != nil ||
		!maps.EqualFunc(got, used, time.Time.Equal) {
		t.Errorf("LastUsed() = %v, %v, want %v", got, err, used)
	}
	if got, err := reporting.NewReader(f.DB).LastUsed(t.Context(), scope.Partners(f.theirs), f.mine); err != nil || len(got) != 0 {
		t.Errorf("out of scope: LastUsed() = %v, %v, want none", got, err)
	}
}

func TestUnsigned(t *testing.T) {
	t.Parallel()
	f := openTraffic(t)
	now := testkit.StartTime()
	minute := now.Truncate(time.Minute)
	for i, outcome := range []string{"delivered", "delivered_unsigned", "replayed", "replayed_would_be_rejected",
		"signature_missing", "already_delivered", "delivered_would_be_rejected", "replayed_unsigned"} {
		f.count(t, now.Add(-time.Duration(i)*time.Minute), f.mine, f.account, uuid.Nil, "post", outcome, 1, 0)
		f.count(t, now.Add(-25*time.Hour), f.mine, f.account, uuid.Nil, "post", outcome, 1000, 0) // too old
		f.count(t, now, f.theirs, f.account, uuid.Nil, "post", outcome, 1000, 0)
	}
	f.count(t, now, f.mine, f.sandbox, f.old, "post", "delivered", 7, 0)
	f.count(t, now, f.mine, uuid.Nil, uuid.Nil, "ping", "priced", 1000, 0)
	got, err := reporting.NewReader(f.DB).Unsigned(t.Context(), scope.Partners(f.mine), f.mine, now.Add(-24*time.Hour))
	want := map[uuid.UUID]reporting.AccountUnsigned{
		f.account: {f.account, 6, 4, minute.Add(-time.Minute)}, f.sandbox: {f.sandbox, 7, 0, time.Time{}},
	}
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %+v (%v), want %+v", got, err, want)
	}
	for _, endpoint := range got {
		if endpoint.Last = endpoint.Last.UTC(); endpoint != want[endpoint.Account] {
			t.Errorf("got %+v, want %+v", endpoint, want[endpoint.Account])
		}
	}
	if got, err := reporting.NewReader(f.DB).Unsigned(t.Context(), scope.Partners(f.theirs), f.mine, now.Add(-24*time.Hour)); err != nil || len(got) != 0 {
		t.Errorf("out of scope: got %+v (%v), want none", got, err)
	}
}

func (f *traffic) reject(t *testing.T, partner uuid.UUID, at time.Time, outcome string, fields ...string) uuid.UUID {
	t.Helper()
	request := uuid.New()
	if _, err := f.Pool.Exec(t.Context(), `INSERT INTO api_requests (partner_id, at, request_id, kind, endpoint, outcome, fields, status, code, message, detail, duration_us)
		VALUES ($1, $2, $3, 'other_post', 'post', $4, $5, 400, 'invalid_payload', '', '', 1500)`,
		partner, at, request, outcome, append([]string{}, fields...)); err != nil {
		t.Fatal(err)
	}
	return request
}

// lead inserts a lead with only the columns that RecentLeads reads.
func (f *traffic) lead(t *testing.T, partner, account uuid.UUID, secret *uuid.UUID, at time.Time, minor int64) uuid.UUID {
	t.Helper()
	lead := id.New(at)
	f.Exec(t, `INSERT INTO leads (id, attempt_id, transaction_id, partner_id, account_id, secret_id, hmac_verified, sandbox, price_minor, currency, industry, term_id, urgency,
			card_version, quoted_country, quoted_postcode, quoted_at, received_at, country, postcode, phone_flagged, state)
		VALUES ($1::uuid, $1::uuid, '', $2, $3::uuid, $4::uuid, $4::uuid IS NOT NULL, $3::uuid = $7::uuid, $6, 'EUR', 'plumber', 1, '', 1, 'GB', '', $5, $5, 'GB', '', false, 'erased')`,
		lead, partner, account, secret, at, minor, f.sandbox)
	return lead
}

func TestRecentLeads(t *testing.T) {
	t.Parallel()
	f := openTraffic(t)
	now := testkit.StartTime()
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	f.lead(t, f.mine, f.account, nil, at(-1), 1) // too old
	first := f.lead(t, f.mine, f.sandbox, &f.fresh, at(0), 100)
	second := f.lead(t, f.mine, f.account, nil, at(2), 200)
	f.lead(t, f.theirs, f.theirs, nil, at(3), 1)

	want := []reporting.RecentLead{
		{
			At: at(2), ID: second, Account: f.account, Price: money.Amount{Minor: 200, Currency: money.EUR},
			Industry: "plumber",
		},
		{
			At:       at(0),
			ID:       first,
			Account:  f.sandbox,
			Sandbox:  true,
			Secret:   f.fresh,
			Price:    money.Amount{Minor: 100, Currency: money.EUR},
			Industry: "plumber",
		},
	}
	for _, c := range []struct {
		sc   scope.Scope
		n    int
		want []reporting.RecentLead
	}{
		{scope.System, 10, want},
		{scope.Partners(f.mine), 1, want[:1]},
		{scope.Partners(f.theirs), 10, []reporting.RecentLead{}},
	} {
		got, err := reporting.NewReader(f.DB).RecentLeads(t.Context(), c.sc, f.mine, now, c.n)
		for i := range got {
			got[i].At = got[i].At.UTC()
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("newest %d: %v (-want +got):\n%s", c.n, err, diff)
		}
	}
}
