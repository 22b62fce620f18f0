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

	"github.com/pingpost/pingpost/internal/config"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/test/node"
)

// skewable has the node ask a database whose clock the test can set: a function
// of its own goes before Postgres's.
func skewable(t *testing.T) node.Option {
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

// TestReadinessReportsClockSkew sets the database's clock: a node whose own differs
// by more than 5 seconds, either way, is not ready, and says by how much. Pings
// need no database, and go on.
func TestReadinessReportsClockSkew(t *testing.T) {
	t.Parallel()
	n := node.Start(t, node.OnMachineClock, skewable(t))
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
		n.CheckReadiness(t, "/readyz/ping")
		if !c.off {
			n.CheckReadiness(t, "/readyz")
			continue
		}
		n.CheckReadiness(t, "/readyz", "clock")
		state := n.Readiness(t, "/readyz").Checks["clock"]
		by, err := time.ParseDuration(state[strings.LastIndexByte(state, ' ')+1:])
		if err != nil || (by-c.ahead.Abs()).Abs() > time.Second {
			t.Errorf("%s ahead: %s", c.ahead, state)
		}
	}
}

// TestReadinessReportsUnreadableRow seals a partner's secret under a platform key
// that the running node has not: it says whose, and serves everyone else.
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
	testkit.Eventually(t, node.Patience, "the node knows", func() bool { return !n.Readiness(t, "/readyz").Ready })
	name := id.Format(id.Secret, secret)
	if state := n.Readiness(t, "/readyz").Checks["platform_keys"]; !strings.Contains(state, name) {
		t.Errorf("the check does not name the secret: %s", state)
	}
	n.CheckReadiness(t, "/readyz", "platform_keys")
	n.CheckReadiness(t, "/readyz/ping") // pings need no secret
	if !strings.Contains(n.Log.String(), name) {
		t.Error("the log does not name the secret")
	}
	n.Deliver(t, n.Required, node.MinimalPost)
	if a := n.Post(t, n.Off, node.MinimalPost); a.Status != http.StatusUnauthorized {
		t.Errorf("signed with it: answered %d %s", a.Status, a.Body)
	}
	seal(n.Keys)
	testkit.Eventually(t, node.Patience, "the node is ready again", func() bool { return n.Readiness(t, "/readyz").Ready })
	n.Deliver(t, n.Off, node.MinimalPost)
}
