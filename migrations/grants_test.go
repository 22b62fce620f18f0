package migrations_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// granted contains all privileges of the service's role on tables. The service must not have any
// others, or be able to grant them to itself.
var granted = map[string]string{
	"schema_migrations": "SELECT",
	"snapshot_versions": "SELECT",
	"partners":          "SELECT INSERT", // and updatable, below
	"accounts":          "SELECT INSERT",
	"signing_secrets":   "SELECT INSERT",
	"rate_cards":        "SELECT INSERT",
	"pricing_rules":     "SELECT INSERT UPDATE DELETE",
	"partner_prices":    "SELECT INSERT UPDATE DELETE",

	"schema_requirements": "SELECT",
	"attached_partitions": "", // read by functions and by the view partitions

	"partner_price_proposals": "SELECT INSERT DELETE",

	"leads":        "SELECT INSERT",
	"lead_keys":    "SELECT INSERT",
	"lead_checks":  "SELECT INSERT UPDATE",
	"write_checks": "INSERT TRUNCATE",
	"consents":     "SELECT INSERT",
	"lead_events":  "SELECT INSERT",
	"lead_reveals": "SELECT INSERT",
	"daily_access": "SELECT INSERT DELETE",
	"erasures":     "SELECT INSERT",

	"privacy_requests":        "SELECT INSERT DELETE",
	"privacy_request_leads":   "SELECT INSERT DELETE",
	"privacy_request_notices": "SELECT INSERT DELETE",

	"erasure_entries": "SELECT", // and insertable, below
	"erasure_journal": "SELECT",

	"retention_periods":  "SELECT INSERT",
	"retention_deferred": "SELECT INSERT DELETE",
	"retention_runs":     "SELECT INSERT",
	"legal_holds":        "SELECT INSERT",
	"disclosures":        "SELECT",
	"disclosure_uses":    "SELECT INSERT DELETE",

	"ledger_entries":  "SELECT", // and insertable, below
	"evidence_keys":   "SELECT", // and insertable, below
	"pings":           "SELECT INSERT",
	"traffic_minutes": "SELECT INSERT UPDATE DELETE",
	"api_requests":    "SELECT INSERT DELETE",
	"post_durations":  "SELECT INSERT DELETE",
	"post_hours":      "SELECT INSERT UPDATE DELETE",

	"rate_card_edits":   "SELECT INSERT",
	"rate_card_replays": "SELECT INSERT DELETE",

	"jobs":                       "SELECT INSERT DELETE",
	"files":                      "SELECT INSERT DELETE",
	"file_parts":                 "SELECT INSERT DELETE",
	"adjustments":                "SELECT INSERT",
	"returns":                    "SELECT INSERT",
	"payout_runs":                "SELECT INSERT",
	"payout_run_entries":         "SELECT INSERT",
	"statements":                 "SELECT INSERT",
	"payees":                     "SELECT INSERT",
	"exports":                    "SELECT INSERT DELETE",
	"reconciliations":            "SELECT INSERT",
	"reconciliation_lines":       "SELECT INSERT",
	"reconciliation_resolutions": "SELECT INSERT",

	"partitions": "SELECT",

	"ledger_references":   "SELECT",
	"ledger_notes":        "SELECT INSERT",
	"ledger_totals":       "SELECT INSERT UPDATE",
	"ledger_totals_state": "SELECT",

	"partner_links":         "SELECT INSERT",
	"partner_days":          "SELECT INSERT UPDATE DELETE",
	"partner_figures":       "SELECT INSERT UPDATE DELETE",
	"partner_figures_state": "SELECT INSERT UPDATE",

	"daily_lead_counts":       "SELECT INSERT UPDATE DELETE",
	"daily_lead_counts_state": "SELECT",

	"staff":                "SELECT INSERT", // and updatable, below
	"staff_roles":          "SELECT INSERT DELETE",
	"staff_invitations":    "SELECT INSERT DELETE",
	"staff_recovery_codes": "SELECT INSERT UPDATE DELETE",
	"staff_sessions":       "SELECT INSERT UPDATE DELETE",
	"login_attempts":       "SELECT INSERT UPDATE DELETE",
	"form_submissions":     "SELECT INSERT DELETE",
	"saved_forms":          "SELECT INSERT UPDATE DELETE",
	"rejection_counts":     "SELECT INSERT DELETE",
	"vault_logins":         "SELECT INSERT DELETE",
	"wrapping_keys":        "SELECT INSERT",
	"audit_events":         "SELECT",
}

// updatable contains the columns that the service's role may change in tables where it may not
// change the whole row. For example, a lead's price and partner are written once.
var updatable = map[string]string{
	"partners":      "name legal_name address tax_id contacts payment_terms status signing_mode shared_base_url account_manager notes row_version updated_at",
	"accounts":      "name is_default status signing_mode row_version updated_at",
	"partner_links": "revoked_at",

	"privacy_requests": "due_on identity identity_note identity_by identity_by_id identity_at extension_reason extended_at outcome ground outcome_note closed_by closed_at file_id notices_due",

	"signing_secrets": "sealed digest state expires_at revoked_at",
	"vault_logins":    "counts_until",
	"staff":           "email name status password_hash totp_sealed totp_at totp_step row_version updated_at",
	"leads":           "email_digest phone_digest",
	"lead_keys":       "wrapped_key key_wrapper key_version body_digest answered_key",

	"privacy_request_leads": "email_number phone_number erased",
	"daily_access":          "reveals lookups",

	"jobs":            "state phase done total failure attempt river_job_id started_at heartbeat_at ended_at",
	"files":           "complete size sha256",
	"adjustments":     "reason state decided_by decider_id decided_at decision_note",
	"returns":         "state decided_by decided_at decision_note row_version decider_id",
	"payout_runs":     "state entries payouts held total_minor prepared_at approver approver_id approved_at payer paid_at reference cancel_reason row_version",
	"exports":         "file_id rows",
	"evidence_keys":   "sealed retired_at revoked_at",
	"reconciliations": "file_id profile mapping period_from period_to state result as_of compared_at saved_by saved_at row_version",

	"retention_periods": "days position accepted_at accepted_by accepted_by_id",
	"retention_runs":    "ended_at erased",
	"rejection_counts":  "recorded counted",
	"legal_holds":       "email_digests phone_digests released_at released_by released_by_id",
	"disclosures":       "text standard replaced_at replaced_by replaced_by_id",

	"daily_lead_counts_state": "counted_to settling_to writers",
	"ledger_totals_state":     "added_to checked_at differences",

	"rate_cards":        "version state title submitter approver note based_on effective_at row_version updated_by updated_at submitter_id",
	"rate_card_edits":   "undone_at undone_by",
	"rate_card_replays": "result",
}

// insertable contains the columns that the service's role may insert in tables where it may not
// insert the whole row. It cannot choose the id of an audit event or a ledger entry.
var insertable = map[string]string{
	"ledger_entries": "partner_id account_id lead_id kind reference amount_minor currency occurred_at created_by",

	"disclosures":     "digest text partner_id first_used_at",
	"erasure_entries": "sequence hash body reason actor staff_id requested_at keeps_consent key",
	"evidence_keys":   "id public_key sealed created_at",

	"audit_events": "at staff_id actor role action object_kind object_id partner_id before after reason address request_id outcome prev_hash hash",
}

// Rows can only be reached through the partitioned table, because partitions have no grants.
func TestGrants(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	conn := testkit.Connect(t, d.OwnerURL)
	exec(t, conn, `SELECT create_partitions('{pings}', 'day', '2026-01-02', '2026-01-02')`)
	rows, err := conn.Query(t.Context(), `
		SELECT c.relname, c.relispartition, p.name, has_table_privilege('pingpost_app', c.oid, p.name),
			EXISTS (SELECT FROM aclexplode(c.relacl) a WHERE a.grantee = 0)
		FROM pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS p(name)
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	seen, partitions := map[string]bool{}, 0
	for rows.Next() {
		var table, privilege string
		var partition, has, public bool
		if err := rows.Scan(&table, &partition, &privilege, &has, &public); err != nil {
			t.Fatal(err)
		}
		if partition { // it is used only through its table
			partitions++
		} else {
			seen[table] = true
		}
		if want := slices.Contains(strings.Fields(granted[table]), privilege); has != want {
			t.Errorf("%s on %s: got granted %t, want %t", privilege, table, has, want)
		}
		if public {
			t.Errorf("%s is granted to PUBLIC", table)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if want := slices.Sorted(maps.Keys(granted)); !slices.Equal(slices.Sorted(maps.Keys(seen)), want) {
		t.Errorf("got tables %v, want %v", slices.Sorted(maps.Keys(seen)), want)
	}
	if partitions == 0 {
		t.Error("the database has no partitions")
	}
}

func TestGrantsOnColumns(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	conn := testkit.Connect(t, d.OwnerURL)
	rows, err := conn.Query(t.Context(), `
		SELECT c.relname, p.name, coalesce(string_agg(a.attname, ' ' ORDER BY a.attnum)
			FILTER (WHERE has_column_privilege('pingpost_app', c.oid, a.attnum, p.name)), '')
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped,
			unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) AS p(name)
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
			AND NOT has_table_privilege('pingpost_app', c.oid, p.name)
		GROUP BY c.relname, p.name`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	seen := 0
	for rows.Next() {
		var table, privilege, columns string
		if err := rows.Scan(&table, &privilege, &columns); err != nil {
			t.Fatal(err)
		}
		want := map[string]map[string]string{"INSERT": insertable, "UPDATE": updatable}[privilege][table]
		if columns != want {
			t.Errorf("%s on columns of %s: got %q, want %q", privilege, table, columns, want)
		}
		if want != "" {
			seen++
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if want := len(insertable) + len(updatable); seen != want {
		t.Errorf("got %d tables with writable columns, want %d", seen, want)
	}
}

func TestServiceRoleIsDenied(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	app := testkit.Connect(t, d.AppURL)
	partner := uuid.New()
	exec(t, app, insertPartner, partner, "a-partner")
	exec(t, app, insertAccount, uuid.New(), partner, "an-account")
	exec(t, app, insertSecret, uuid.New(), partner)
	putLead(t, app, partner, false, testkit.StartTime())
	for _, sql := range []string{
		`UPDATE ledger_entries SET amount_minor = 1`, `DELETE FROM ledger_entries`, `TRUNCATE ledger_entries`,
		`UPDATE consents SET disclosure_digest = ''`, `DELETE FROM consents`, `TRUNCATE consents`,
		`UPDATE disclosures SET digest = digest`, `DELETE FROM disclosures`, `TRUNCATE disclosures`, `TRUNCATE disclosure_uses`, `SELECT delete_disclosures('{}')`,
		`DELETE FROM leads`, `TRUNCATE leads CASCADE`,
		`UPDATE leads SET sandbox = true`, `UPDATE leads SET price_minor = 1`, `UPDATE leads SET partner_id = account_id`, `UPDATE lead_keys SET salt = salt`, `DELETE FROM lead_keys`, `SELECT FROM leads_20260101`, `INSERT INTO lead_keys_20260101 SELECT * FROM lead_keys`,
		`UPDATE signing_secrets SET partner_id = id`, `UPDATE signing_secrets SET not_before = now()`,
		`UPDATE partners SET slug = 'other'`, `UPDATE accounts SET partner_id = id`, `UPDATE accounts SET sandbox = false`,
		`DELETE FROM partners`, `DELETE FROM accounts`, `DELETE FROM signing_secrets`, `DELETE FROM rate_cards`,
		`UPDATE rate_cards SET author = 'x'`, `UPDATE rate_cards SET created_at = now()`,
		`UPDATE rate_card_edits SET patch = '{}'`, `UPDATE rate_card_edits SET summary = ''`, `DELETE FROM rate_card_edits`, `UPDATE rate_card_replays SET requester = ''`,
		`UPDATE lead_events SET kind = ''`, `DELETE FROM lead_events`,
		`UPDATE snapshot_versions SET version = 0`, `UPDATE schema_migrations SET is_applied = false`,
		`INSERT INTO audit_events (id, at, actor, role, action, object_kind, object_id, reason, address, request_id, outcome, prev_hash, hash) OVERRIDING SYSTEM VALUE
			VALUES (9223372036854775807, now(), 'x', '', 'x', '', '', '', '', '', 'done', sha256('1'), sha256('2'))`,
		`UPDATE ledger_references SET reference = ''`, `DELETE FROM ledger_references`,
		`INSERT INTO ledger_references (partner_id, kind, reference, entry_id, occurred_at) VALUES (gen_random_uuid(), 'return', 'x', 1, now())`,
		`INSERT INTO ledger_entries (id, partner_id, account_id, kind, reference, amount_minor, currency, occurred_at) OVERRIDING SYSTEM VALUE
			VALUES (1, gen_random_uuid(), gen_random_uuid(), 'adjustment', 'x', 1, 'GBP', now())`,
		`DELETE FROM pings`, `UPDATE api_requests SET fields = '{}'`,
		`CREATE TABLE mine (a int)`, `CREATE SCHEMA mine`, `CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
		`CREATE TABLE pings_20990101 PARTITION OF pings FOR VALUES FROM ('2099-01-01') TO ('2099-01-02')`,
		`SET session_replication_role = replica`, `SET ROLE pingpost_owner`, `CREATE ROLE mine`,
	} {
		rejects(t, app, insufficientPrivilege, "", sql)
	}
	// Missing ownership has the same SQLSTATE with another message.
	for _, sql := range []string{
		`ALTER TABLE ledger_entries DISABLE TRIGGER ALL`, `ALTER TABLE consents ADD COLUMN a int`, `DROP TABLE leads CASCADE`,
		`DROP TRIGGER ledger_entries_append_only ON ledger_entries`, `CREATE INDEX ON leads (postcode)`,
		`DROP FUNCTION reject_change() CASCADE`, `ALTER FUNCTION delete_sandbox_leads(timestamptz, integer) SECURITY INVOKER`,
	} {
		rejects(t, app, insufficientPrivilege, "", sql)
	}
	if n := value[int](t, app, `SELECT (SELECT count(*) FROM ledger_entries) + (SELECT count(*) FROM consents) + (SELECT count(*) FROM leads)`); n != 3 {
		t.Errorf("got %d rows left of a lead, a consent and an entry", n)
	}
}

// Functions that run as the owner must not depend on the caller's search path, and only the
// service may call them.
func TestOwnerFunctions(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	conn := testkit.Connect(t, d.OwnerURL)
	rows, err := conn.Query(t.Context(), `
		SELECT proname, coalesce(array_to_string(proconfig, ' '), ''), has_function_privilege('pingpost_app', oid, 'EXECUTE'),
			proacl IS NULL OR EXISTS (SELECT FROM aclexplode(proacl) WHERE grantee = 0), prorettype = 'trigger'::regtype
		FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var callable []string
	for rows.Next() {
		var name, settings string
		var app, everybody, trigger bool
		if err := rows.Scan(&name, &settings, &app, &everybody, &trigger); err != nil {
			t.Fatal(err)
		}
		// If pg_temp is not in the path, it is searched first, and the caller owns it.
		if !strings.Contains(settings, "search_path=pg_catalog, public, pg_temp") {
			t.Errorf("%s has settings %q", name, settings)
		}
		if trigger {
			continue // trigger functions cannot be called
		}
		if everybody {
			t.Errorf("PUBLIC may call %s", name)
		}
		if app {
			callable = append(callable, name)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(callable)
	if want := []string{"analyze_partitions", "create_partitions", "delete_sandbox_leads", "drop_ping_partitions", "drop_reconciliation_lines", "erase_leads", "redact_adjustment", "redact_ledger_note", "redact_resolution", "redact_return", "release_payout_run"}; !slices.Equal(callable, want) {
		t.Errorf("the service may call functions %v, want %v", callable, want)
	}
}
