package migrations_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/testkit"
)

// Lines that were left out stay when the step is undone, and no new ones are taken.
func TestLeftOutLinesStayOnTheWayDown(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	owner := openOwner(t, d)
	upTo(t, owner, leftOutStep-1)
	conn := testkit.Connect(t, d.OwnerURL)
	one := uuid.New()
	const insertLeftOut = `INSERT INTO reconciliation_lines (reconciliation_id, line, finding) VALUES ($1, $2, 'left_out')`
	exec(t, conn, insertReconciliation, one)
	exec(t, conn, insertLine, one, 1)
	refuses(t, conn, checkViolation, "reconciliation_lines_finding_known", insertLeftOut, one, 2)
	upTo(t, owner, leftOutStep)
	exec(t, conn, insertLeftOut, one, 2)
	downTo(t, owner, leftOutStep-1)
	refuses(t, conn, checkViolation, "reconciliation_lines_finding_known", insertLeftOut, one, 3)
	if n := value[int](t, conn, `SELECT count(*) FROM reconciliation_lines`); n != 2 {
		t.Errorf("%d lines, want 2", n)
	}
}

const leftOutStep = 24
