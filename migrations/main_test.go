package migrations_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
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
