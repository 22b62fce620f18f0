package migrations_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

const (
	insertRun = `INSERT INTO payout_runs (id, currency, cutoff, minimum_minor, state, preparer, preparer_id, created_at)
		VALUES ($1, $2, now(), 0, 'preparing', 'dmitri', $3, now())`
	insertClaim = `INSERT INTO payout_run_entries (entry_id, occurred_at, run_id)
		VALUES ($1, (SELECT occurred_at FROM public.ledger_entries WHERE id = $1), $2)`
	insertStatement = `INSERT INTO statements (run_id, account_id, partner_id, outcome, entries, accrued_minor, returned_minor, adjusted_minor, net_minor)
		VALUES ($1, gen_random_uuid(), gen_random_uuid(), $2, 1, $3, 0, 0, $3)`
	prepared = `UPDATE payout_runs SET state = 'prepared', total_minor = 4560, prepared_at = now() WHERE id = $1`
	approved = `UPDATE payout_runs SET state = 'approved', approver = 'fay', approver_id = $2, approved_at = now() WHERE id = $1`
	paid     = `UPDATE payout_runs SET state = 'paid', paid_at = now(), payer = 'dmitri', reference = 'BACS' WHERE id = $1`

	// insertClaimAt inserts a claim with another time than the entry's.
	insertClaimAt = `INSERT INTO payout_run_entries (entry_id, occurred_at, run_id)
		VALUES ($1, (SELECT occurred_at FROM public.ledger_entries WHERE id = $1) + $2::interval, $3)`

	runImmutable = "payout_runs_immutable"
	claimKnown   = "payout_run_entries_known"
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
			claimed := entry(t, conn)
			exec(t, conn, insertClaim, claimed, run)
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
			rejects(t, conn, uniqueViolation, "", insertClaim, claimed, run)
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

// An entry can be in only one run, because a claim must have the entry's time, and the primary key
// allows only one claim with this time.
func TestEntryIsInOneRun(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app, other := testkit.Connect(t, d.AppURL), testkit.Connect(t, d.AppURL)
	run, second := uuid.New(), uuid.New()
	exec(t, app, insertRun, run, "GBP", uuid.New())
	exec(t, app, insertRun, second, "EUR", uuid.New())
	first := entry(t, app)
	for _, off := range []time.Duration{time.Microsecond, -time.Microsecond, -24 * time.Hour} {
		rejects(t, app, foreignKeyViolation, claimKnown, insertClaimAt, first, off, run)
	}
	rejects(t, app, foreignKeyViolation, claimKnown, `INSERT INTO payout_run_entries (entry_id, occurred_at, run_id) VALUES (999, now(), $1)`, run)

	exec(t, app, `BEGIN`)
	exec(t, app, insertClaim, first, run)
	claimed := make(chan error, 1)
	go func() {
		_, err := other.Exec(t.Context(), insertClaim, first, second)
		claimed <- err
	}()
	testkit.Eventually(t, time.Minute, "the second run waits for the first one", func() bool {
		return testkit.Value[bool](t, d, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)
	})
	exec(t, app, `COMMIT`)
	var pg *pgconn.PgError
	if err := <-claimed; !errors.As(err, &pg) || pg.Code != uniqueViolation {
		t.Errorf("the second claim: got %v, want a unique violation", err)
	}
	rejects(t, app, uniqueViolation, "", insertClaim, first, second)
	rejects(t, app, foreignKeyViolation, claimKnown, insertClaimAt, first, time.Microsecond, second)
	if got := value[uuid.UUID](t, app, `SELECT run_id FROM payout_run_entries WHERE entry_id = $1`, first); got != run {
		t.Errorf("the entry is in run %s, want %s", got, run)
	}
}

// The owner cannot bypass the triggers with a statement on a partition.
func TestClaimsInPartitionAreProtected(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	conn := testkit.Connect(t, d.OwnerURL)
	run, prepare := uuid.New(), uuid.New()
	exec(t, conn, insertRun, run, "GBP", uuid.New())
	exec(t, conn, insertRun, prepare, "EUR", uuid.New())
	one, two := entry(t, conn), entry(t, conn)
	exec(t, conn, insertClaim, one, run)
	partition := value[string](t, conn, `SELECT tableoid::regclass::text FROM payout_run_entries`)
	inPartition := func(sql string) string { return strings.ReplaceAll(sql, "payout_run_entries", partition) }
	rejects(t, conn, foreignKeyViolation, claimKnown, inPartition(insertClaimAt), two, time.Microsecond, run)
	rejects(t, conn, uniqueViolation, "", inPartition(insertClaim), one, prepare)
	rejects(t, conn, foreignKeyViolation, "", inPartition(insertClaim), two, uuid.New())
	rejects(t, conn, insufficientPrivilege, "", inPartition(`UPDATE payout_run_entries SET run_id = $1`), prepare)
	rejects(t, conn, insufficientPrivilege, "", inPartition(`TRUNCATE payout_run_entries`))
	exec(t, conn, prepared, run)
	rejects(t, conn, integrityViolation, runImmutable, inPartition(insertClaim), two, run)
	exec(t, conn, approved, run, uuid.New())
	exec(t, conn, inPartition(insertClaim), two, run)
	exec(t, conn, paid, run)
	rejects(t, conn, integrityViolation, runImmutable, inPartition(`DELETE FROM payout_run_entries WHERE run_id = $1`), run)
	exec(t, conn, inPartition(insertClaim), entry(t, conn), prepare)
	exec(t, conn, inPartition(`DELETE FROM payout_run_entries WHERE run_id = $1`), prepare)
}

// The service may create temporary tables. It must not be able to bypass a trigger with a temporary
// table that hides a real one.
func TestTriggersIgnoreTemporaryTables(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	conn := testkit.Connect(t, d.AppURL)
	run, list, card := uuid.New(), uuid.New(), putCard(t, conn)
	exec(t, conn, insertRun, run, "GBP", uuid.New())
	exec(t, conn, prepared, run)
	preparing := uuid.New()
	exec(t, conn, insertRun, preparing, "EUR", uuid.New())
	exec(t, conn, insertReconciliation, list)
	exec(t, conn, compared, list)
	exec(t, conn, publish, card, 1)
	claimed := entry(t, conn)

	exec(t, conn, `CREATE TEMP TABLE payout_runs AS SELECT id, 'preparing' AS state FROM public.payout_runs`)
	exec(t, conn, `CREATE TEMP TABLE reconciliations AS SELECT id, 'comparing' AS state FROM public.reconciliations`)
	exec(t, conn, `CREATE TEMP TABLE rate_cards AS SELECT id, 'draft' AS state FROM public.rate_cards`)
	exec(t, conn, `CREATE TEMP TABLE added (run_id uuid, reconciliation_id uuid)`)
	exec(t, conn, `CREATE TEMP TABLE ledger_entries AS SELECT id, occurred_at + interval '1 microsecond' AS occurred_at FROM public.ledger_entries`)
	rejects(t, conn, integrityViolation, runImmutable, insertClaim, claimed, run)
	rejects(t, conn, foreignKeyViolation, claimKnown, insertClaimAt, claimed, time.Microsecond, preparing)
	rejects(t, conn, integrityViolation, runImmutable, insertStatement, run, "pays", 1)
	rejects(t, conn, integrityViolation, reconciliationImmutable, insertLine, list, 1)
	rejects(t, conn, integrityViolation, "pricing_rules_immutable", `DELETE FROM pricing_rules WHERE rate_card_id = $1`, card)
}

func TestUnpaidRunReleasesEntries(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app := testkit.Connect(t, d.AppURL)
	run, next := uuid.New(), uuid.New()
	exec(t, app, insertRun, run, "GBP", uuid.New())
	claimed := entry(t, app)
	exec(t, app, insertClaim, claimed, run)
	exec(t, app, prepared, run)
	rejects(t, app, insufficientPrivilege, "", `DELETE FROM payout_run_entries`)
	if n := value[int64](t, app, `SELECT release_payout_run($1)`, run); n != 1 {
		t.Errorf("released %d claims, want 1", n)
	}
	exec(t, app, `UPDATE payout_runs SET state = 'cancelled', cancel_reason = 'a slip' WHERE id = $1`, run)
	exec(t, app, insertRun, next, "GBP", uuid.New())
	exec(t, app, insertClaim, claimed, next)
}
