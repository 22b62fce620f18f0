package postgres_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// began is a fixed time of the service's clock.
var began = testkit.StartTime()

func openOwner(t *testing.T, d *testkit.Database) *postgres.DB {
	t.Helper()
	return testkit.Open(t, d.OwnerURL)
}

const insertPartner = `INSERT INTO partners (id, slug, name, status, signing_mode, shared_base_url, notes, created_at, updated_at)
	VALUES ($1, $2, $3, 'approved', $4, true, $5, now(), now())`

const insertAccount = `INSERT INTO accounts (id, partner_id, identifier, name, is_default, sandbox, status, signing_mode, created_at, updated_at)
	VALUES (gen_random_uuid(), $1, $2, $3, $4, false, 'active', 'inherit', now(), now())`

// addPartner inserts a partner and returns its id.
func addPartner(t *testing.T, db *postgres.DB, slug string) uuid.UUID {
	t.Helper()
	id := uuid.New()
	if _, err := db.Pool.Exec(t.Context(), insertPartner, id, slug, "A partner", "required", ""); err != nil {
		t.Fatal(err)
	}
	return id
}

const within = time.Minute
