package migrations_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/testkit"
)

// A migration fills existing rows with the right values. Undoing it keeps the rows' original values,
// and applying it again fills in the same values. Migrations that need more checks have their own
// test, whose name starts with TestStep and the number.
func TestStepsFillExistingRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step        int64
		rows        func(*testing.T, *pgx.Conn) // inserts rows before the migration
		query, want string                      // the rows after the migration
		back, kept  string                      // the rows after undoing it
	}{
		{
			step:  7,
			rows:  func(*testing.T, *pgx.Conn) {},
			query: `SELECT string_agg(name, ' ' ORDER BY name) FROM snapshot_versions`,
			want:  "access directory rate_card",
			back:  `SELECT string_agg(name, ' ' ORDER BY name) FROM snapshot_versions`,
			kept:  "directory rate_card",
		},
		{
			step:  9,
			rows:  secretOfPartnerWithoutContacts,
			query: `SELECT contacts::text || ',' || label || ',' || created_by FROM signing_secrets JOIN partners p ON p.id = partner_id`,
			want:  "{},a secret,",
			back:  `SELECT contacts::text || ',' || label FROM signing_secrets JOIN partners p ON p.id = partner_id`,
			kept:  "{},a secret",
		},
		{
			step:  10,
			rows:  func(t *testing.T, conn *pgx.Conn) { exec(t, conn, insertPartner, uuid.New(), "a-partner") },
			query: `SELECT searched FROM partners WHERE slug = 'a-partner'`,
			want:  "a partner\n\na-partner",
			back:  `SELECT name FROM partners WHERE slug = 'a-partner'`,
			kept:  "A partner",
		},
		{
			step:  13,
			rows:  func(t *testing.T, conn *pgx.Conn) { putLead(t, conn, uuid.New(), false, testkit.StartTime()) },
			query: `SELECT amount_minor || ',' || note || ',' || made_by FROM ledger_entries`,
			want:  "4560,,",
			back:  `SELECT amount_minor::text FROM ledger_entries`,
			kept:  "4560",
		},
		{
			step: 21,
			rows: staffWithSecondFactors,
			query: `SELECT string_agg(concat_ws(' ', name, to_char(totp_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')), ', ' ORDER BY name)
				|| (SELECT '; ' || failures || ' ' || lasting FROM login_attempts) FROM staff`,
			want: "ann 2026-02-03, ben, cleo; 4 false",
			back: `SELECT string_agg(name, ', ' ORDER BY name) || (SELECT '; ' || failures FROM login_attempts) FROM staff`,
			kept: "ann, ben, cleo; 4",
		},
		{
			step: 23,
			rows: runsInEveryState,
			query: `SELECT string_agg(concat_ws(' ', r.currency, y.legal_name, y.address, y.tax_id), ', ' ORDER BY r.currency, y.legal_name)
				FROM payees y JOIN payout_runs r ON r.id = y.run_id`,
			want: "EUR A partner  , EUR Acme Ltd 1 High Street GB1, GBP A partner  , GBP Acme Ltd 1 High Street GB1",
			back: `SELECT string_agg(DISTINCT r.currency || ' ' || r.state, ', ') || '; ' || count(*) FROM statements JOIN payout_runs r ON r.id = run_id`,
			kept: "AUD preparing, CAD cancelled, EUR paid, GBP approved, USD prepared; 15",
		},
	} {
		t.Run(fmt.Sprintf("Step%d", c.step), func(t *testing.T) {
			t.Parallel()
			d := testkit.NewEmptyDatabase(t)
			owner, conn := openOwner(t, d), testkit.Connect(t, d.OwnerURL)
			upTo(t, owner, c.step-1)
			c.rows(t, conn)
			for range 2 {
				upTo(t, owner, c.step)
				if got := value[string](t, conn, c.query); got != c.want {
					t.Errorf("after the migration: got rows %q, want %q", got, c.want)
				}
				downTo(t, owner, c.step-1)
				if got := value[string](t, conn, c.back); got != c.kept {
					t.Errorf("after undoing the migration: got rows %q, want %q", got, c.kept)
				}
			}
		})
	}
}

// secretOfPartnerWithoutContacts inserts a partner whose contacts are not a list, which
// a later constraint rejects for new rows only.
func secretOfPartnerWithoutContacts(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	partner := uuid.New()
	exec(t, conn, insertPartner, partner, "a-partner")
	exec(t, conn, `UPDATE partners SET contacts = '{}' WHERE id = $1`, partner)
	exec(t, conn, insertSecret, uuid.New(), partner)
}

// staffWithSecondFactors inserts ann, who set up a second factor twice; ben, who has one
// from before the audit log; and cleo, whose second factor was removed.
func staffWithSecondFactors(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for name, c := range map[string]struct {
		totp  []byte
		setUp []string
	}{
		"ann":  {[]byte{1}, []string{"2026-01-02T00:00Z", "2026-02-03T00:00Z"}},
		"ben":  {[]byte{1}, nil},
		"cleo": {nil, []string{"2026-03-04T00:00Z"}},
	} {
		one := uuid.New()
		exec(t, conn, `INSERT INTO staff (id, email, name, status, password_hash, totp_sealed, created_at, updated_at)
			VALUES ($1, $2 || '@example.com', $2, 'active', 'hash', $3, now(), now())`, one, name, c.totp)
		const insertAudit = `INSERT INTO audit_events (at, staff_id, actor, role, action, object_kind, object_id, reason, address, request_id, outcome, prev_hash, hash)
			VALUES ($1, $2, '', '', $3, 'staff', '', '', '', '', 'done', sha256(uuid_send(gen_random_uuid())), sha256(''))`
		for _, at := range c.setUp {
			exec(t, conn, insertAudit, at, one, "staff.second_factor")
		}
		exec(t, conn, insertAudit, "2026-04-05T00:00Z", one, "staff.login")
	}
	exec(t, conn, `INSERT INTO login_attempts (digest, failures, last_at, free_at) VALUES ('\x01', 4, now(), now())`)
}

// runsInEveryState inserts a payout run in each state. Each has two accounts of a partner with a
// legal name, and one account of a partner without a legal name.
func runsInEveryState(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	named, unnamed := uuid.New(), uuid.New()
	exec(t, conn, insertPartner, named, "named")
	exec(t, conn, `UPDATE partners SET legal_name = 'Acme Ltd', address = '1 High Street', tax_id = 'GB1' WHERE id = $1`, named)
	exec(t, conn, insertPartner, unnamed, "unnamed")
	for currency, state := range map[string]string{
		"AUD": "preparing",
		"CAD": "cancelled",
		"EUR": "paid",
		"GBP": "approved",
		"USD": "prepared",
	} {
		run := uuid.New()
		exec(t, conn, insertRun, run, currency, uuid.New())
		for _, partner := range []uuid.UUID{named, named, unnamed} {
			exec(t, conn, `INSERT INTO statements (run_id, account_id, partner_id, outcome, entries, accrued_minor, returned_minor, adjusted_minor, net_minor)
				VALUES ($1, gen_random_uuid(), $2, 'pays', 1, 4560, 0, 0, 4560)`, run, partner)
		}
		exec(t, conn, `UPDATE payout_runs SET state = $2, approver_id = gen_random_uuid(), approved_at = now(), reference = 'BACS',
			paid_at = CASE WHEN $2 = 'paid' THEN now() END WHERE id = $1`, run, state)
	}
}
