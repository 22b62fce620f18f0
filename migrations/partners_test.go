package migrations_test

import (
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/testkit"
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
			exec(t, conn, `UPDATE signing_secrets SET retires_at = now() WHERE id = $1`, secret)
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

// Existing terms count as agreed at the time of their last change. A node of the previous release can
// still write terms, although it does not know the column.
func TestStep18TermsFromBeforeAgreedAt(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	owner, conn := openOwner(t, d), testkit.Connect(t, d.OwnerURL)
	const step = 18
	upTo(t, owner, step-1)
	before, after := uuid.New(), uuid.New()
	exec(t, conn, insertPartner, before, "before")
	exec(t, conn, insertPartner, after, "after")
	const insert = `INSERT INTO partner_prices (partner_id, adjustment, updated_at) VALUES ($1, 500, $2)`
	exec(t, conn, insert, before, testkit.StartTime())
	for range 2 {
		upTo(t, owner, step)
		if at := value[time.Time](t, conn, `SELECT agreed_at FROM partner_prices WHERE partner_id = '`+before.String()+`'`); !at.Equal(testkit.StartTime()) {
			t.Errorf("got agreed_at %s", at)
		}
		downTo(t, owner, step-1)
	}
	upTo(t, owner, step)
	exec(t, conn, insert, after, testkit.StartTime())
	if !value[bool](t, conn, `SELECT agreed_at > now() - interval '1 minute' FROM partner_prices WHERE partner_id = '`+after.String()+`'`) {
		t.Error("agreed_at of new terms is not the current time")
	}
}

// A link that was issued before tokens were stored as digests still leads to its partner. This is also
// true after the migration was undone and applied again.
func TestStep20IssuedLinksBecomeDigests(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	owner := openOwner(t, d)
	const step = 20
	upTo(t, owner, step-1)
	before := readCatalogue(t, owner)
	conn := testkit.Connect(t, d.OwnerURL)
	partner := uuid.New()
	exec(t, conn, insertPartner, partner, "a-partner")
	const token = "k3J9xQ2mT7vLw0RzN5cYbF8hSgD1pEaUuK4iXo6WABC"
	exec(t, conn, `INSERT INTO partner_links (token, partner_id, created_at) VALUES ($1, $2, now())`, token, partner)
	leads := func() {
		t.Helper()
		digest := sha256.Sum256([]byte(token))
		if got := value[uuid.UUID](t, conn, `SELECT partner_id FROM partner_links WHERE digest = $1`, digest[:]); got != partner {
			t.Errorf("the link leads to partner %s, want %s", got, partner)
		}
	}
	for range 2 {
		upTo(t, owner, step)
		leads()
		downTo(t, owner, step-1)
		if n := value[int](t, conn, `SELECT count(*) FROM partner_links WHERE token = $1`, token); n != 0 {
			t.Error("the database contains the token")
		}
		if after := readCatalogue(t, owner); !slices.Equal(after, before) {
			t.Errorf("left after undoing: %q", slices.DeleteFunc(after, func(line string) bool { return slices.Contains(before, line) }))
		}
	}
}
