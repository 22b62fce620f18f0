package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/migrations"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	latest, err := migrations.Latest()
	if err != nil {
		t.Fatal(err)
	}
	before := clock.System{}.Now()
	s, err := d.Inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after := clock.System{}.Now()
	if s.Schema.Version != latest || s.Role != "pingpost_app" || s.OwnsTables {
		t.Errorf("got %+v, want schema %d and a role that owns no tables", s, latest)
	}
	if s.Clock.Before(before.Add(-time.Millisecond)) || s.Clock.After(after.Add(time.Millisecond)) {
		t.Errorf("the database's clock is %s, want a time between %s and %s", s.Clock, before, after)
	}
	if err := s.CheckSchema(); err != nil {
		t.Error(err)
	}
}

// Inspect detects every role that can bypass its grants. The test is not parallel, because all databases have the same
// roles.
func TestInspectFindsTheOwner(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	owns := func(url string) bool {
		t.Helper()
		s, err := testkit.Open(t, url).Inspect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.OwnsTables
	}
	if owns(d.AppURL) {
		t.Error("pingpost_app is reported as an owner")
	}
	if !owns(d.OwnerURL) {
		t.Error("pingpost_owner is not reported as an owner")
	}
	if !owns(d.RootURL) {
		t.Error("a superuser is not reported as an owner")
	}
	d.Exec(t, `GRANT pingpost_owner TO pingpost_app`)
	t.Cleanup(func() { d.Exec(t, `REVOKE pingpost_owner FROM pingpost_app`) })
	if !owns(d.AppURL) {
		t.Error("a member of the owner is not reported as an owner")
	}
	d.Exec(t, `ALTER ROLE pingpost_app NOINHERIT`)
	t.Cleanup(func() { d.Exec(t, `ALTER ROLE pingpost_app INHERIT`) })
	if !owns(d.AppURL) {
		t.Error("a member that can SET ROLE to the owner is not reported as an owner")
	}
}

func TestOutdatedSchema(t *testing.T) {
	t.Parallel()
	d := testkit.NewEmptyDatabase(t)
	db := openOwner(t, d)
	owner, err := postgres.OpenOwner(d.OwnerURL, within)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	schema := func() postgres.State {
		t.Helper()
		s, err := db.Inspect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	behind := func(s postgres.State, version int64) {
		t.Helper()
		if err := s.CheckSchema(); s.Schema.Version != version || err == nil || !strings.Contains(err.Error(), "pingpost migrate up") {
			t.Errorf("schema %+v, want %d, and an error with the command: %v", s.Schema, version, err)
		}
	}
	behind(schema(), 0)
	if _, err := migrations.Up(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if err := schema().CheckSchema(); err != nil {
		t.Error(err)
	}
	const earlier = 1
	if _, err := owner.Exec(`DELETE FROM schema_migrations WHERE version_id > $1`, earlier); err != nil {
		t.Fatal(err)
	}
	behind(schema(), earlier)
}
