//go:build !short

package partners_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// maxPageRows is the maximum number of rows that the steps of a page's plan may return in total. The
// database has 10,000 partners and 20,000 accounts. A plan may read each of these rows several times, but
// must not read all of them for each partner. The tests do not measure the time of a query, because it
// depends on what else is running on the machine.
const maxPageRows = 200_000

// fillMany inserts 10,000 partners with figures and two accounts each. It inserts no ledger entries,
// because the list does not read them.
const fillMany = `
	INSERT INTO partners (id, slug, name, legal_name, notes, status, signing_mode, shared_base_url, account_manager, created_at, updated_at)
	SELECT ('01980000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, 'partner-' || i, 'Partner ' || md5(i::text), 'Holding ' || md5((-i)::text) || ' Ltd', repeat('notes ', 50),
		(ARRAY['pending', 'approved', 'approved', 'suspended'])[i % 4 + 1], (ARRAY['default', 'required', 'off'])[i % 3 + 1], false, 'manager-' || i % 20, now(), now()
	FROM generate_series(1, 10000) AS i;
	INSERT INTO accounts (id, partner_id, identifier, name, is_default, sandbox, status, signing_mode, created_at, updated_at)
	SELECT gen_random_uuid(), id, slug || '-' || n, slug, n = 1, n = 2, 'active', 'inherit', now(), now() FROM partners, generate_series(1, 2) AS n WHERE slug <> 'platform';
	INSERT INTO partner_figures SELECT id, hashtext(slug) & 1023, '[{"currency": "EUR", "minor": 4560}, {"currency": "GBP", "minor": 123456}]',
		CASE WHEN hashtext(slug) % 5 > 0 THEN '2026-01-02 03:04+00'::timestamptz - make_interval(mins => hashtext(slug) & 65535) END FROM partners WHERE slug <> 'platform';
	INSERT INTO partner_figures_state (added_until, whole_before) VALUES (now(), now());
	ANALYZE partners, accounts, partner_figures`

// statements contains the statements that GORM has sent.
type statements struct {
	logger.Interface
	all []string
}

func (s *statements) Trace(_ context.Context, _ time.Time, statement func() (string, int64), _ error) {
	text, _ := statement()
	s.all = append(s.all, text)
}
func (s *statements) LogMode(logger.LogLevel) logger.Interface { return s }

// plan is a step of a query plan, with the steps below it.
type plan struct {
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Relation string  `json:"Relation Name"`
	Plans    []plan
}

// work returns the number of rows that all steps returned, and the tables that they read.
func (p plan) work() (rows float64, tables []string) {
	rows, tables = p.Rows*p.Loops, []string{p.Relation}
	for _, below := range p.Plans {
		more, others := below.work()
		rows, tables = rows+more, append(tables, others...)
	}
	return rows, tables
}

func TestPageOfManyPartners(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	d.Exec(t, fillMany)
	sent := &statements{Interface: logger.Discard}
	// Leave out the connection pool, so that all statements go through GORM and are counted.
	counted := &postgres.DB{Gorm: d.Gorm.Session(&gorm.Session{Logger: sent})}
	service := partners.NewService(counted, testkit.PlatformKeys(t, 1), clock.NewManual(testkit.StartTime()))
	for _, sort := range []string{"", "name", "-name", "leads", "-leads", "seen", "-seen", "rejected", "-accepted"} {
		for name, q := range map[string]partners.Query{
			"all":                  {},
			"searched":             {Search: "abc"},
			"for an account":       {Search: "partner-77"},
			"approved":             {Status: "approved"},
			"one manager":          {Manager: "manager-7"},
			"unsigned":             {Signing: "off"},
			"searched, no results": {Search: "no such partner"},
		} {
			q.Sort, q.Page.Size = sort, 50
			first, err := service.Page(t.Context(), scope.System, q)
			if err != nil {
				t.Fatal(err)
			}
			q.Page.After = first.Older
			sent.all = nil
			if _, err := service.Page(t.Context(), scope.System, q); err != nil {
				t.Fatal(err)
			}
			if len(sent.all) != 1 {
				t.Fatalf("sorted by %q, %s: %d queries, want 1", sort, name, len(sent.all))
			}
			var explained []struct{ Plan plan }
			text := testkit.Value[string](t, d, `EXPLAIN (ANALYZE, FORMAT JSON) `+sent.all[0])
			if err := json.Unmarshal([]byte(text), &explained); err != nil {
				t.Fatal(err)
			}
			rows, tables := explained[0].Plan.work()
			if rows > maxPageRows {
				t.Errorf("sorted by %q, %s: the plan's steps return %.0f rows, want at most %d", sort, name, rows, maxPageRows)
			}
			for _, table := range tables {
				if !slices.Contains([]string{"", "partners", "accounts", "partner_figures", "partner_figures_state"}, table) {
					t.Errorf("sorted by %q, %s: the query reads %s", sort, name, table)
				}
			}
		}
	}
}
