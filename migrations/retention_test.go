package migrations_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// Not even the owner can change a legal hold, except to release it, or move the progress of retention back.
func TestLegalHoldsAndRetentionProgressAreProtected(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app, owner := testkit.Connect(t, d.AppURL), testkit.Connect(t, d.OwnerURL)
	partner := uuid.New()
	exec(t, app, insertPartner, partner, "a-partner")
	insertHold := `INSERT INTO legal_holds (id, lead_id, partner_id, person, email_digests, phone_digests, reason, placed_at, placed_by)
		VALUES (gen_random_uuid(), gen_random_uuid(), $1, $2, $3::text::bytea[], '{}', $4, now(), 'ann')`
	const digests, none = `{"\\x01","\\x02"}`, "{}"
	exec(t, app, insertHold, partner, true, digests, "case 7")
	rejects(t, app, checkViolation, "legal_holds_digests_needed", insertHold, partner, false, digests, "case 7")
	rejects(t, app, checkViolation, "legal_holds_reason_given", insertHold, partner, false, none, "")
	for _, sql := range []string{
		`UPDATE legal_holds SET reason = 'x'`, `UPDATE legal_holds SET person = false, email_digests = '{}'`, `UPDATE legal_holds SET lead_id = gen_random_uuid()`,
		`DELETE FROM legal_holds`, `TRUNCATE legal_holds`,
	} {
		rejects(t, app, insufficientPrivilege, "", sql)
		rejects(t, owner, insufficientPrivilege, "", sql)
	}
	rejects(t, app, checkViolation, "legal_holds_digests_needed", `UPDATE legal_holds SET released_at = now(), released_by = 'ann'`)
	rejects(t, app, checkViolation, "legal_holds_released", `UPDATE legal_holds SET released_at = now(), email_digests = '{}'`)
	const release = `UPDATE legal_holds SET released_at = now(), released_by = 'ann', email_digests = '{}'`
	exec(t, app, release)
	rejects(t, app, insufficientPrivilege, "", release)

	exec(t, app, `INSERT INTO retention_periods (category, country, days, position, accepted_at, accepted_by) VALUES ('contact', 'GB', 1, $1, now(), '')`, uuid.Max)
	rejects(t, owner, integrityViolation, "retention_periods_forward", `UPDATE retention_periods SET position = $1`, uuid.Nil)
	exec(t, app, `UPDATE retention_periods SET days = 2, position = $1`, uuid.Max)
	for _, sql := range []string{`UPDATE retention_periods SET country = 'DE'`, `DELETE FROM retention_periods`, `UPDATE retention_runs SET started_at = now()`, `DELETE FROM retention_runs`} {
		rejects(t, app, insufficientPrivilege, "", sql)
	}
	const begin = `INSERT INTO retention_runs (id, started_at) VALUES (gen_random_uuid(), now())`
	exec(t, app, begin)
	rejects(t, app, uniqueViolation, "retention_runs_open", begin)
}
