package migrations_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// Postgres collects no statistics about columns with personal data, in tables and their partitions.
func TestNoStatisticsAboutPersonalData(t *testing.T) {
	conn := testkit.Connect(t, testkit.NewDatabaseURLs(t).OwnerURL)
	exec(t, conn, `SELECT create_partitions('{pings}', 'day', '2026-01-02', '2026-01-03')`)
	exec(t, conn, `SELECT create_partitions('{leads, lead_keys, consents}', 'month', '2027-01-02', '2027-01-02')`)
	rows, err := conn.Query(t.Context(), `SELECT c.relname || '.' || a.attname, a.attstattarget = 0,
			(SELECT count(*) FROM pg_inherits i JOIN pg_attribute p ON p.attrelid = i.inhrelid AND p.attname = a.attname WHERE i.inhparent = c.oid AND (p.attstattarget = 0) <> (a.attstattarget = 0))
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`)
	if err != nil {
		t.Fatal(err)
	}
	skipped := map[string]bool{}
	var column string
	var none bool
	var different int
	if _, err := pgx.ForEachRow(rows, []any{&column, &none, &different}, func() error {
		if skipped[column] = none; different > 0 {
			t.Errorf("%s is different in %d partitions", column, different)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, column := range []string{
		"leads.postcode", "leads.quoted_postcode", "leads.transaction_id", "leads.ciphertext", "leads.partner_reference", "leads.sub_id", "lead_keys.wrapped_key", "lead_keys.salt",
		"consents.form_cert_url", "consents.third_party_lead_id", "disclosures.text", "pings.postcode", "pings.budget", "returns.evidence", "adjustments.reason", "adjustments.decision_note",
		"ledger_notes.note", "lead_reveals.note", "reconciliation_resolutions.note", "privacy_requests.outcome_note", "privacy_request_leads.exception_note",
		"privacy_request_notices.note",
	} {
		if !skipped[column] {
			t.Errorf("Postgres collects statistics about %s", column)
		}
	}
	if skipped["leads.email_digest"] || skipped["leads.received_at"] {
		t.Error("Postgres collects no statistics about columns that queries search")
	}
}
