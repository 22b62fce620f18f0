package partners_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
)

func TestConstraintsMatchTheSchema(t *testing.T) { testkit.CheckConstraints(t, partners.Constraints()) }

// Violations of the schema's constraints cause the same errors as the service's checks.
func TestConstraintErrors(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	exec := func(sql string, args ...any) error {
		_, err := d.Pool.Exec(t.Context(), sql, args...)
		return partners.Constraints().Translate(err)
	}
	const addPartner = `INSERT INTO partners (id, slug, name, status, signing_mode, shared_base_url, notes, created_at, updated_at)
		VALUES ($1, $2, $3, 'approved', 'required', true, '', now(), now())`
	addAccount := func(partner uuid.UUID, identifier string, isDefault bool) error {
		return exec(`INSERT INTO accounts (id, partner_id, identifier, name, is_default, sandbox, status, signing_mode, created_at, updated_at)
			VALUES (gen_random_uuid(), $1, $2, 'An account', $3, false, 'active', 'inherit', now(), now())`, partner, identifier, isDefault)
	}
	partner := uuid.New()
	if err := exec(addPartner, partner, "a-partner", "A partner"); err != nil {
		t.Fatal(err)
	}
	if err := addAccount(partner, "An-Account", true); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err    error
		code   apperr.Code
		reason string
	}{
		"a slug in use":                   {exec(addPartner, uuid.New(), "a-partner", "A partner"), apperr.Conflict, "slug_taken"},
		"a slug in upper case":            {exec(addPartner, uuid.New(), "A-Partner", "A partner"), apperr.Invalid, "slug_form"},
		"a slug ending in a hyphen":       {exec(addPartner, uuid.New(), "a-partner-", "A partner"), apperr.Invalid, "slug_form"},
		"no name":                         {exec(addPartner, uuid.New(), "b", ""), apperr.Invalid, "name"},
		"an identifier in use":            {addAccount(partner, "An-Account", false), apperr.Conflict, "identifier_taken"},
		"an identifier in different case": {addAccount(partner, "aN-aCCOUNT", false), apperr.Conflict, "identifier_taken"},
		"an invalid identifier":           {addAccount(partner, "an account", false), apperr.Invalid, "identifier_form"},
		"a second default":                {addAccount(partner, "other", true), apperr.Conflict, "second_default"},
		"an adjustment": {exec(`INSERT INTO partner_prices (partner_id, adjustment, updated_at) VALUES ($1, -9001, now())`,
			partner), apperr.Invalid, "adjustment"},
	} {
		if f := apperr.As(c.err); f == nil || f.Code != c.code || f.Reason != c.reason {
			t.Errorf("%s: got error %v, want %s, %s", name, c.err, c.code, c.reason)
		}
	}
}
