package migrations_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/testkit"
)

const (
	insertRun = `INSERT INTO payout_runs (id, currency, cutoff, minimum_minor, state, preparer, preparer_id, created_at)
		VALUES ($1, $2, now(), 0, 'preparing', 'dmitri', $3, now())`
	insertClaim     = `INSERT INTO payout_run_entries (entry_id, run_id) VALUES ($1, $2)`
	insertStatement = `INSERT INTO statements (run_id, account_id, partner_id, outcome, entries, accrued_minor, returned_minor, adjusted_minor, net_minor)
		VALUES ($1, gen_random_uuid(), gen_random_uuid(), $2, 1, $3, 0, 0, $3)`
	prepared = `UPDATE payout_runs SET state = 'prepared', total_minor = 4560, prepared_at = now() WHERE id = $1`
	approved = `UPDATE payout_runs SET state = 'approved', approver = 'fay', approver_id = $2, approved_at = now() WHERE id = $1`
	paid     = `UPDATE payout_runs SET state = 'paid', paid_at = now(), payer = 'dmitri', reference = 'BACS' WHERE id = $1`

	runImmutable = "payout_runs_immutable"
)

// entry inserts a ledger entry with its own lead and returns its id.
func entry(t *testing.T, conn *pgx.Conn) int64 {
	t.Helper()
	lead := putLead(t, conn, uuid.New(), false, testkit.StartTime())
	return value[int64](t, conn, `SELECT id FROM ledger_entries WHERE lead_id = $1`, lead)
}

// Entries can be added to a run while it is being prepared, and payments when it is marked as paid.
// After that, no role can change the run.
func TestPaidRunIsImmutable(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	for name, url := range map[string]string{"service": d.AppURL, "owner": d.OwnerURL} {
		t.Run(name, func(t *testing.T) {
			conn := testkit.Connect(t, url)
			run, preparer := uuid.New(), uuid.New()
			exec(t, conn, insertRun, run, "GBP", preparer)
			rejects(t, conn, uniqueViolation, "payout_runs_one_open", insertRun, uuid.New(), "GBP", preparer)
			one := entry(t, conn)
			exec(t, conn, insertClaim, one, run)
			exec(t, conn, insertStatement, run, "pays", 4560)
			rejects(t, conn, checkViolation, "statements_outcome_net", insertStatement, run, "pays", -1)
			rejects(t, conn, checkViolation, "payout_runs_approved_when", paid, run)
			exec(t, conn, prepared, run)
			rejects(t, conn, integrityViolation, runImmutable, insertClaim, entry(t, conn), run)
			rejects(t, conn, integrityViolation, runImmutable, insertStatement, run, "pays", 1)
			rejects(t, conn, integrityViolation, runImmutable, `UPDATE payout_runs SET total_minor = 1 WHERE id = $1`, run)
			rejects(t, conn, integrityViolation, runImmutable, `UPDATE payout_runs SET state = 'preparing' WHERE id = $1`, run)
			rejects(t, conn, checkViolation, "payout_runs_two_people", approved, run, preparer)
			exec(t, conn, approved, run, uuid.New())
			payment := entry(t, conn)
			exec(t, conn, insertClaim, payment, run)
			rejects(t, conn, uniqueViolation, "payout_run_entries_pkey", insertClaim, one, run)
			exec(t, conn, paid, run)
			rejects(t, conn, integrityViolation, runImmutable, insertClaim, entry(t, conn), run)
			rejects(t, conn, integrityViolation, runImmutable, `UPDATE payout_runs SET state = 'cancelled' WHERE id = $1`, run)
			rejects(t, conn, integrityViolation, runImmutable, `UPDATE payout_runs SET reference = 'another' WHERE id = $1`, run)
			rejects(t, conn, integrityViolation, runImmutable, `SELECT release_payout_run($1)`, run)
			rejects(t, conn, insufficientPrivilege, "",
				`UPDATE statements SET net_minor = 0, accrued_minor = 0 WHERE run_id = $1`, run)
			rejects(t, conn, insufficientPrivilege, "", `DELETE FROM statements WHERE run_id = $1`, run)
			rejects(t, conn, insufficientPrivilege, "", `TRUNCATE statements`)
			rejects(t, conn, insufficientPrivilege, "", `UPDATE payout_run_entries SET run_id = run_id WHERE run_id = $1`, run)
			rejects(t, conn, insufficientPrivilege, "", `TRUNCATE payout_run_entries`)
			rejects(t, conn, insufficientPrivilege, "", `TRUNCATE payout_runs CASCADE`)
			deleted, constraint := insufficientPrivilege, ""
			if name == "owner" {
				deleted, constraint = integrityViolation, runImmutable
			}
			rejects(t, conn, deleted, constraint, `DELETE FROM payout_run_entries WHERE run_id = $1`, run)
		})
	}
}

// The service may create temporary tables. It must not be able to bypass a trigger with a temporary
// table that hides a real one.
func TestTriggersIgnoreTemporaryTables(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	conn := testkit.Connect(t, d.AppURL)
	run, list, card := uuid.New(), uuid.New(), putCard(t, conn)
	exec(t, conn, insertRun, run, "GBP", uuid.New())
	exec(t, conn, prepared, run)
	exec(t, conn, insertReconciliation, list)
	exec(t, conn, compared, list)
	exec(t, conn, publish, card, 1)
	claimed := entry(t, conn)

	exec(t, conn, `CREATE TEMP TABLE payout_runs AS SELECT id, 'preparing' AS state FROM public.payout_runs`)
	exec(t, conn, `CREATE TEMP TABLE reconciliations AS SELECT id, 'comparing' AS state FROM public.reconciliations`)
	exec(t, conn, `CREATE TEMP TABLE rate_cards AS SELECT id, 'draft' AS state FROM public.rate_cards`)
	exec(t, conn, `CREATE TEMP TABLE added (run_id uuid, reconciliation_id uuid)`)
	rejects(t, conn, integrityViolation, runImmutable, insertClaim, claimed, run)
	rejects(t, conn, integrityViolation, runImmutable, insertStatement, run, "pays", 1)
	rejects(t, conn, integrityViolation, reconciliationImmutable, insertLine, list, 1)
	rejects(t, conn, integrityViolation, "pricing_rules_immutable", `DELETE FROM pricing_rules WHERE rate_card_id = $1`, card)
}

func TestUnpaidRunReleasesEntries(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app := testkit.Connect(t, d.AppURL)
	run, next := uuid.New(), uuid.New()
	exec(t, app, insertRun, run, "GBP", uuid.New())
	one := entry(t, app)
	exec(t, app, insertClaim, one, run)
	exec(t, app, prepared, run)
	rejects(t, app, insufficientPrivilege, "", `DELETE FROM payout_run_entries`)
	if n := value[int64](t, app, `SELECT release_payout_run($1)`, run); n != 1 {
		t.Errorf("released %d claims, want 1", n)
	}
	exec(t, app, `UPDATE payout_runs SET state = 'cancelled', cancel_reason = 'a slip' WHERE id = $1`, run)
	exec(t, app, insertRun, next, "GBP", uuid.New())
	exec(t, app, insertClaim, one, next)
}
