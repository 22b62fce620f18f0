package faults

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/test/node"
)

// withSkewedDatabase makes the node use a database whose clock the test can set. The search path contains a
// replacement for Postgres's clock_timestamp.
func withSkewedDatabase(t *testing.T) node.Option {
	return func(n *node.Node) {
		n.DB.Exec(t, `CREATE SCHEMA skewed;
			CREATE TABLE skewed.clock (ahead interval NOT NULL);
			INSERT INTO skewed.clock VALUES ('0');
			CREATE FUNCTION skewed.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
				AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM skewed.clock';
			GRANT USAGE ON SCHEMA skewed TO pingpost_app;
			GRANT SELECT ON skewed.clock TO pingpost_app`)
		u, err := url.Parse(n.DB.AppURL)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set("search_path", "skewed,pg_catalog,public")
		u.RawQuery = q.Encode()
		n.Config.Database.URL = config.Secret(u.String())
	}
}

// TestReadinessReportsClockSkew sets the database's clock. If a node's clock differs from it by more
// than 5 seconds, the node is not ready for posts and reports the difference. It stays ready for pings,
// which do not need a database.
func TestReadinessReportsClockSkew(t *testing.T) {
	t.Parallel()
	n := node.Start(t, node.OnMachineClock, withSkewedDatabase(t))
	for _, c := range []struct {
		ahead time.Duration
		off   bool
	}{
		{0, false},
		{4 * time.Second, false},
		{6 * time.Second, true},
		{-4 * time.Second, false},
		{-6 * time.Second, true},
		{time.Hour, true},
		{0, false},
	} {
		if _, err := n.Root.Exec(t.Context(), `UPDATE skewed.clock SET ahead = make_interval(secs => $1)`, c.ahead.Seconds()); err != nil {
			t.Fatal(err)
		}
		n.AwaitReadiness(t, "/readyz/ping")
		if !c.off {
			n.AwaitReadiness(t, "/readyz")
			continue
		}
		n.AwaitReadiness(t, "/readyz", "clock")
		state := n.Readiness(t, "/readyz").Checks["clock"]
		by, err := time.ParseDuration(state[strings.LastIndexByte(state, ' ')+1:])
		if err != nil || (by-c.ahead.Abs()).Abs() > time.Second {
			t.Errorf("with a database %s ahead: got %s", c.ahead, state)
		}
	}
}

// TestReadinessReportsUnreadableRow encrypts a partner's secret with a platform key that the
// running node does not have. The node must report that it cannot decrypt the secret, and still
// serve the other partners.
func TestReadinessReportsUnreadableRow(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	foreign, err := keyring.NewKeys([][]byte{bytes.Repeat([]byte{9}, keyring.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var secret uuid.UUID
	if err := n.Root.QueryRow(ctx, `SELECT id FROM signing_secrets WHERE partner_id = $1`, n.Off.ID).Scan(&secret); err != nil {
		t.Fatal(err)
	}
	seal := func(keys *keyring.Keys) {
		t.Helper()
		value := keys.Seal(keyring.SigningSecret, secret[:], []byte(n.Off.Secret))
		if _, err := n.Root.Exec(ctx, `UPDATE signing_secrets SET sealed = $1 WHERE id = $2`, value, secret); err != nil {
			t.Fatal(err)
		}
	}
	seal(foreign)
	testkit.Eventually(t, node.Patience, "the node is not ready", func() bool { return !n.Readiness(t, "/readyz").Ready })
	name := id.Format(id.Secret, secret)
	if state := n.Readiness(t, "/readyz").Checks["platform_keys"]; !strings.Contains(state, name) {
		t.Errorf("the check does not contain the secret's ID: %s", state)
	}
	n.AwaitReadiness(t, "/readyz", "platform_keys")
	n.AwaitReadiness(t, "/readyz/ping") // pings do not need a secret
	if !strings.Contains(n.Log.String(), name) {
		t.Error("the log does not contain the secret's ID")
	}
	n.Deliver(t, n.Required, node.MinimalPost)
	if a := n.Post(t, n.Off, node.MinimalPost); a.Status != http.StatusUnauthorized {
		t.Errorf("post signed with the secret: got %d %s, want 401", a.Status, a.Body)
	}
	seal(n.Keys)
	testkit.Eventually(t, node.Patience, "the node is ready again", func() bool { return n.Readiness(t, "/readyz").Ready })
	n.Deliver(t, n.Off, node.MinimalPost)
}
