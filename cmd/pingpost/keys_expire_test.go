package main

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// The leads in an old backup cannot be decrypted once the key versions that they need have been deleted. A version is
// kept while it is too young, or while a lead in the database needs it.
func TestExpiredKeysCloseOldBackups(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	as := func(role string) []string {
		return []string{"PINGPOST_VAULT_ROLE_ID=" + v.Roles[role].RoleID, "PINGPOST_VAULT_SECRET_ID=" + v.Roles[role].SecretID}
	}
	o := newOriginal(t, append(as(devvault.Serve), "LEAD_VAULT_KEK=", "PINGPOST_VAULT_ADDRESS="+v.Address,
		"PINGPOST_VAULT_READ_ROLE_ID="+v.Roles[devvault.Read].RoleID, "PINGPOST_VAULT_READ_SECRET_ID="+v.Roles[devvault.Read].SecretID)...)
	keys := func(role string, args ...string) outcome {
		return call(t, "", slices.Concat(o.env, as(role)), append([]string{"keys"}, args...)...)
	}
	expire := func(days string) outcome { return keys(devvault.Expire, "expire", "--keep-days", days, "--yes") }
	reveal := func(env []string, lead string) outcome {
		return call(t, "", env, "lead", "reveal", lead, "--field", "email", "--reason", "legal")
	}
	audited := func() int {
		return testkit.Value[int](t, o.database, `SELECT count(*) FROM audit_events WHERE action = 'keys.expire' AND outcome = 'done'`)
	}
	lead := o.client.deliver(t)
	old := filepath.Join(t.TempDir(), "old.dump")
	execute(t, "pg_dump", o.database.OwnerURL, "--format=custom", "--file="+old)
	restored := append(o.env, "PINGPOST_DATABASE_URL="+o.restoreDump(t, old).AppURL)
	if got := reveal(restored, lead.id).ok(t); got != personal+"\n" {
		t.Fatalf("the old backup: got %q", got)
	}

	const nothing = "Nothing was deleted. No version was replaced that long ago.\n"
	v.AgeKey(t, 40*24*time.Hour)
	keys(devvault.Rotate, "rotate").ok(t)
	if out := expire("1").ok(t); out != nothing { // v1 was replaced just now
		t.Errorf("printed %s", out)
	}
	v.AgeKey(t, 30*24*time.Hour)
	o.client.origin = o.serve(t, o.env).api // the first node still has data keys from before the rotation, for a minute
	expire("30").fails(t, 1, "v1", "pingpost keys rewrap")
	keys(devvault.Rewrap, "rewrap").ok(t)
	if out := expire("31").ok(t); out != nothing {
		t.Errorf("printed %s", out)
	}
	if got := reveal(restored, lead.id).ok(t); got != personal+"\n" || audited() != 0 {
		t.Errorf("before the deletion: got %q, and %d audit events", got, audited())
	}
	keys(devvault.Rotate, "expire", "--keep-days", "30", "--yes").fails(t, 1, "denied")
	for _, days := range []string{"0", "-1", "36501"} {
		expire(days).fails(t, 2, "--keep-days")
	}
	keys(devvault.Expire, "expire").fails(t, 2, "--keep-days")

	keys(devvault.Expire, "expire", "--keep-days", "30").unconfirmed(t, "v2")
	if got := reveal(restored, lead.id).ok(t); got != personal+"\n" || audited() != 0 {
		t.Errorf("without a confirmation: got %q, and %d audit events", got, audited())
	}
	if out := expire("30").ok(t); out != "Deleted all key versions before v2. Leads in older backups can no longer be decrypted.\n" {
		t.Errorf("printed %s", out)
	}
	if out := expire("30").ok(t); out != nothing || audited() != 1 {
		t.Errorf("the second time: printed %s, and %d audit events", out, audited())
	}
	reveal(restored, lead.id).rejected(t, "internal/contact_record")
	if got := reveal(o.env, lead.id).ok(t); got != personal+"\n" {
		t.Errorf("the platform: got %q", got)
	}
	added := o.client.deliver(t)
	if got := reveal(o.env, added.id).ok(t); got != personal+"\n" {
		t.Errorf("a new lead: got %q", got)
	}
}
