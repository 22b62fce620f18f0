package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/migrations"
)

func TestInspect(t *testing.T) {
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
	if s.Schema != latest || s.Role != "pingpost_app" || s.OwnsTables {
		t.Errorf("%+v, want the schema %d and a role that owns nothing", s, latest)
	}
	if s.Clock.Before(before.Add(-time.Millisecond)) || s.Clock.After(after.Add(time.Millisecond)) {
		t.Errorf("the database's clock says %s between %s and %s", s.Clock, before, after)
	}
	if err := s.CheckSchema(); err != nil {
		t.Error(err)
	}
}

// A role that could undo what its grants forbid is found, in whichever way it
// came by that.
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
		t.Error("pingpost_app owns nothing")
	}
	if !owns(d.OwnerURL) {
		t.Error("pingpost_owner owns the tables")
	}
	if !owns(d.RootURL) {
		t.Error("a superuser may do everything")
	}
	d.Exec(t, `GRANT pingpost_owner TO pingpost_app`)
	t.Cleanup(func() { d.Exec(t, `REVOKE pingpost_owner FROM pingpost_app`) })
	if !owns(d.AppURL) {
		t.Error("a member of the owner may do what the owner may")
	}
	d.Exec(t, `ALTER ROLE pingpost_app NOINHERIT`)
	t.Cleanup(func() { d.Exec(t, `ALTER ROLE pingpost_app INHERIT`) })
	if !owns(d.AppURL) {
		t.Error("a member that does not inherit becomes the owner with SET ROLE")
	}
}

func TestSchemaThatIsBehind(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	db := openOwner(t, d)
	owner, err := postgres.OpenOwner(d.OwnerURL, within)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	latest, err := migrations.Latest()
	if err != nil {
		t.Fatal(err)
	}
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
		if err := s.CheckSchema(); s.Schema != version || err == nil || !strings.Contains(err.Error(), "pingpost migrate up") {
			t.Errorf("at %d, want %d: %v", s.Schema, version, err)
		}
	}
	behind(schema(), 0)
	if _, err := migrations.Up(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if err := schema().CheckSchema(); err != nil {
		t.Error(err)
	}
	if err := migrations.DownTo(t.Context(), owner, latest-1); err != nil {
		t.Fatal(err)
	}
	behind(schema(), latest-1)
	// A node of the version before goes on while the next one is rolled out.
	if err := (postgres.State{Schema: latest + 1}).CheckSchema(); err != nil {
		t.Errorf("a schema that is ahead: %v", err)
	}
}
