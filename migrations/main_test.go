package migrations_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/migrations"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// The SQLSTATEs with which the schema rejects statements.
const (
	insufficientPrivilege = "42501"
	integrityViolation    = "23000"
	foreignKeyViolation   = "23503"
	uniqueViolation       = "23505"
	checkViolation        = "23514"
	invalidParameter      = "22023"
	undefinedTable        = "42P01"
	noPartition           = "23514"
)

// openOwner opens a database as its owner, for migrations.
func openOwner(t *testing.T, d *testkit.Database) *sql.DB {
	t.Helper()
	owner, err := postgres.OpenOwner(d.OwnerURL, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { owner.Close() })
	return owner
}

// upTo applies the migrations up to and including a version.
func upTo(t *testing.T, owner *sql.DB, version int64) {
	t.Helper()
	if err := migrations.UpTo(t.Context(), owner, version); err != nil {
		t.Fatal(err)
	}
}

// downTo undoes the migrations after a version.
func downTo(t *testing.T, owner *sql.DB, version int64) {
	t.Helper()
	if err := migrations.DownTo(t.Context(), owner, version); err != nil {
		t.Fatal(err)
	}
}

func exec(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// rejects runs a statement that must fail with the SQLSTATE, and with the constraint if it is not
// empty.
func rejects(t *testing.T, conn *pgx.Conn, state, constraint, sql string, args ...any) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql, args...)
	var pg *pgconn.PgError
	switch {
	case err == nil:
		t.Errorf("%s: got no error", sql)
	case !errors.As(err, &pg) || pg.Code != state || (constraint != "" && pg.ConstraintName != constraint):
		t.Errorf("%s: got %v, want SQLSTATE %s %s", sql, err, state, constraint)
	}
}

func value[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

const insertPartner = `INSERT INTO partners (id, slug, name, status, signing_mode, shared_base_url, created_at, updated_at)
	VALUES ($1, $2, 'A partner', 'approved', 'required', true, now(), now())`

const insertAccount = `INSERT INTO accounts (id, partner_id, identifier, name, is_default, sandbox, status, signing_mode, created_at, updated_at)
	VALUES ($1, $2, $3, 'An account', true, false, 'active', 'inherit', now(), now())`

const insertSecret = `INSERT INTO signing_secrets (id, partner_id, label, prefix, last_four, sealed, digest, state, not_before, created_at)
	VALUES ($1, $2, 'a secret', 'pp_', 'abcd', '\x01', '\x02', 'active', now(), now())`

const insertLead = `INSERT INTO leads (id, attempt_id, transaction_id, partner_id, account_id, hmac_verified, sandbox,
		price_minor, currency, industry, term_id, urgency, card_version, quoted_country, quoted_postcode, quoted_at, received_at,
		country, postcode, phone_flagged, ciphertext)
	VALUES ($1, gen_random_uuid(), 'tx_', $2, gen_random_uuid(), false, $3, 4560, 'GBP', 'plumber', 1072, 'standard', 1, 'GB',
		'SW1A 1AA', $4, $4, 'GB', 'SW1A 1AA', false, '\x00')`

const insertKey = `INSERT INTO lead_keys (lead_id, salt, wrapped_key, key_wrapper, key_version)
	VALUES ($1, decode(repeat('00', 16), 'hex'), '\x00', 'local', 'v1')`

const insertConsent = `INSERT INTO consents (lead_id, partner_id, acknowledged, sandbox, received_at) VALUES ($1, $2, true, $3, $4)`

const insertEvent = `INSERT INTO lead_events (lead_id, kind, at) VALUES ($1, 'delivered', now())`

const insertEntry = `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
	VALUES ($2, gen_random_uuid(), $1::uuid, 'accrual', $1::uuid::text, 4560, 'GBP', now())`

// putLead stores a lead as a post does. A sandbox lead has no accrual.
func putLead(t *testing.T, conn *pgx.Conn, partner uuid.UUID, sandbox bool, received time.Time) uuid.UUID {
	t.Helper()
	lead := id.New(received)
	exec(t, conn, insertLead, lead, partner, sandbox, received)
	exec(t, conn, insertKey, lead)
	exec(t, conn, insertConsent, lead, partner, sandbox, received)
	exec(t, conn, insertEvent, lead)
	if !sandbox {
		exec(t, conn, insertEntry, lead, partner)
	}
	return lead
}

// insertDraft inserts a draft.
const insertDraft = `INSERT INTO rate_cards (id, state, author, created_at, updated_at) VALUES ($1, 'draft', 'someone', now(), now())`

const insertRule = `INSERT INTO pricing_rules (rate_card_id, position, base) VALUES ($1, 1, '{"GBP": 4560}')`

// putCard inserts a draft with one rule.
func putCard(t *testing.T, conn *pgx.Conn) uuid.UUID {
	t.Helper()
	card := uuid.New()
	exec(t, conn, insertDraft, card)
	exec(t, conn, insertRule, card)
	return card
}

// publish publishes a card.
const publish = `UPDATE rate_cards SET state = 'published', version = $2, effective_at = now() WHERE id = $1`

// catalogue returns one line for each object that migrations create.
const catalogue = `
SELECT line FROM (
	SELECT format('column %s.%s %s not null %s default %s', c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod),
		a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
	WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
	UNION ALL SELECT format('table %s %s', oid::regclass, relacl) FROM pg_class
	WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
	UNION ALL SELECT format('grants on column %s.%s %s', attrelid::regclass, attname, attacl) FROM pg_attribute
	WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace) AND attacl IS NOT NULL
	UNION ALL SELECT format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
	WHERE connamespace = 'public'::regnamespace
	UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
	UNION ALL SELECT pg_get_functiondef(oid) || coalesce(proacl::text, '') FROM pg_proc WHERE pronamespace = 'public'::regnamespace
	UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t WHERE NOT tgisinternal
	UNION ALL SELECT format('schema %s', nspacl) FROM pg_namespace WHERE nspname = 'public'
) AS lines(line) ORDER BY line`

func readCatalogue(t *testing.T, db *sql.DB) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), catalogue)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}
