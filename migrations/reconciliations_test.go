package migrations_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

const (
	insertReconciliation = `INSERT INTO reconciliations (id, partner_id, file_name, file_size, file_sha256, profile, state, created_by, created_at)
		VALUES ($1, gen_random_uuid(), 'list.csv', 1, sha256('x'), '{}', 'comparing', 'dmitri', now())`
	insertLine = `INSERT INTO reconciliation_lines (reconciliation_id, line, file_row, finding) VALUES ($1, $2, 2, 'unknown')`
	compared   = `UPDATE reconciliations SET state = 'compared', mapping = '{}', result = '{}', as_of = now(), period_from = '2026-01-01', period_to = '2026-01-31', compared_at = now() WHERE id = $1`
	saved      = `UPDATE reconciliations SET state = 'saved', saved_at = now(), saved_by = 'dmitri' WHERE id = $1`

	reconciliationImmutable = "reconciliations_immutable"
)

// A saved result cannot be changed, except that its file can be deleted and its lines resolved.
func TestSavedReconciliationIsRetained(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	for name, url := range map[string]string{"service": d.AppURL, "owner": d.OwnerURL} {
		t.Run(name, func(t *testing.T) {
			conn := testkit.Connect(t, url)
			lead := uuid.New()
			exec(t, conn, insertReconciliation, lead)
			exec(t, conn, insertLine, lead, 1)
			rejects(t, conn, checkViolation, "reconciliations_compared_when", saved, lead)
			exec(t, conn, compared, lead)
			rejects(t, conn, integrityViolation, reconciliationImmutable, insertLine, lead, 2)
			exec(t, conn, saved, lead)
			rejects(t, conn, integrityViolation, reconciliationImmutable, insertLine, lead, 2)
			rejects(t, conn, integrityViolation, reconciliationImmutable, `SELECT drop_reconciliation_lines($1, 9)`, lead)
			rejects(t, conn, integrityViolation, reconciliationImmutable,
				`UPDATE reconciliations SET result = '{"rows": 9}' WHERE id = $1`, lead)
			rejects(t, conn, integrityViolation, reconciliationImmutable,
				`UPDATE reconciliations SET state = 'discarded', saved_at = NULL WHERE id = $1`, lead)
			rejects(t, conn, insufficientPrivilege, "",
				`UPDATE reconciliation_lines SET finding = 'matched' WHERE reconciliation_id = $1`, lead)
			exec(t, conn, `UPDATE reconciliations SET file_id = NULL WHERE id = $1`, lead)
			exec(t, conn,
				`INSERT INTO reconciliation_resolutions (reconciliation_id, line, note, resolved_by, at) VALUES ($1, 1, 'agreed', 'dmitri', now())`,
				lead)
			rejects(t, conn, insufficientPrivilege, "",
				`UPDATE reconciliation_resolutions SET note = 'x' WHERE reconciliation_id = $1`, lead)
			for _, sql := range []string{
				`UPDATE reconciliation_resolutions SET note = 'x', redacted_at = now(), redacted_by = 'eve' WHERE reconciliation_id = $1`,
				`UPDATE reconciliation_resolutions SET note = '[redacted]', resolved_by = 'eve' WHERE reconciliation_id = $1`,
			} {
				rejects(t, conn, insufficientPrivilege, "", sql, lead)
			}
			rejects(t, conn, insufficientPrivilege, "",
				`DELETE FROM reconciliation_resolutions WHERE reconciliation_id = $1`, lead)

			another := uuid.New()
			exec(t, conn, insertReconciliation, another)
			exec(t, conn, insertLine, another, 1)
			exec(t, conn, insertLine, another, 2)
			for range 2 {
				if n := value[int64](t, conn, `SELECT drop_reconciliation_lines($1, 1)`, another); n != 1 {
					t.Errorf("deleted %d lines, want 1", n)
				}
			}
			exec(t, conn, compared, another)
			rejects(t, conn, integrityViolation, reconciliationImmutable, `SELECT drop_reconciliation_lines($1, 9)`, another)
		})
	}
}
