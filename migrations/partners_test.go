package migrations_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// A revoked secret may have leaked, so neither the service nor the owner can reactivate it.
func TestRevokedSecretStaysRevoked(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	for name, url := range map[string]string{"service": d.AppURL, "owner": d.OwnerURL} {
		t.Run(name, func(t *testing.T) {
			conn := testkit.Connect(t, url)
			partner, secret := uuid.New(), uuid.New()
			exec(t, conn, insertPartner, partner, name)
			exec(t, conn, insertSecret, secret, partner)
			exec(t, conn, `UPDATE signing_secrets SET expires_at = now() WHERE id = $1`, secret)
			exec(t, conn, `UPDATE signing_secrets SET state = 'revoked', revoked_at = now() WHERE id = $1`, secret)
			rejects(t, conn, integrityViolation, "signing_secrets_stay_revoked",
				`UPDATE signing_secrets SET state = 'active', revoked_at = NULL WHERE id = $1`, secret)
			exec(t, conn, `UPDATE signing_secrets SET sealed = $2, digest = $2 WHERE id = $1`, secret, []byte(name)) // under another platform key
		})
	}
}

// Exclusions must be a list, because nodes cannot read any other value.
func TestExclusionsAreAList(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	conn := testkit.Connect(t, d.AppURL)
	partner := uuid.New()
	exec(t, conn, insertPartner, partner, "a-partner")
	const insert = `INSERT INTO partner_prices (partner_id, exclusions, updated_at) VALUES ($1, $2::jsonb, now())`
	for _, exclusions := range []string{`{}`, `"none"`, `null`, `true`, `1`} {
		rejects(t, conn, checkViolation, "partner_prices_exclusions_list", insert, partner, exclusions)
	}
	exec(t, conn, insert, partner, `[{"country": "GB"}]`)
	rejects(t, conn, checkViolation, "partner_prices_exclusions_list", `UPDATE partner_prices SET exclusions = '{}'`)
	exec(t, conn, `UPDATE partner_prices SET exclusions = '[]'`)
}
