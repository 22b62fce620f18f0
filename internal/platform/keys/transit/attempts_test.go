package transit_test

import (
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
)

// limited returns options for nodes that share a database.
func limited(t *testing.T, v *testkit.Vault, db *testkit.Database) transit.Options {
	t.Helper()
	keys, err := keyring.NewKeys([][]byte{make([]byte, keyring.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	o := v.Options(devvault.Serve)
	o.Attempts = transit.NewAttempts(db.DB, keys)
	return o
}

// together wraps a key on ten nodes at the same time and counts their logins by result.
func together(t *testing.T, o transit.Options) map[string]int64 {
	t.Helper()
	var nodes sync.WaitGroup
	results := make(chan map[transit.Call]int64, 10)
	for range cap(results) {
		w := with(t, o)
		nodes.Go(func() {
			w.Wrap(t.Context(), randomKeys(1))
			results <- w.Calls()
		})
	}
	nodes.Wait()
	close(results)
	logins := map[string]int64{}
	for calls := range results {
		for call, n := range calls {
			if call.Operation == "login" {
				logins[call.Reason] += n
			}
		}
	}
	return logins
}

func counted(t *testing.T, db *testkit.Database) int64 {
	t.Helper()
	return testkit.Value[int64](t, db, `SELECT count(*) FROM vault_logins`)
}

func TestNodesShareTheAttemptsOfARejectedCredential(t *testing.T) {
	t.Parallel()
	v, db := testkit.NewVault(t), testkit.NewDatabase(t)
	wrong := limited(t, v, db)
	wrong.Login.SecretID = "00000000-1111-2222-3333-444444444444"
	if logins := together(t, wrong); logins["login"] != 3 || logins["paused"] != 7 {
		t.Errorf("ten nodes: got logins %v", logins)
	}
	if logins := together(t, wrong); logins["login"] != 0 || logins["paused"] != 10 {
		t.Errorf("after a restart: got logins %v", logins)
	}
	with(t, limited(t, v, db)).works(t) // a different credential for the same role
	if got := counted(t, db); got != 3 {
		t.Errorf("got %d counted attempts after a login with another credential, want 3", got)
	}
	if got := testkit.Value[bool](t, db, `SELECT min(counts_until) BETWEEN now() + interval '15 minutes' AND now() + interval '16 minutes' FROM vault_logins`); !got {
		t.Error("attempts expire before Vault stops counting them")
	}
}

func TestOnlyRejectedAttemptsCount(t *testing.T) {
	t.Parallel()
	v, db := testkit.NewVault(t), testkit.NewDatabase(t)
	o := limited(t, v, db)
	away := o
	away.Address = "http://" + testkit.FreeAddress(t)
	for range 5 {
		if _, err := with(t, away).Wrap(t.Context(), randomKeys(1)); err == nil {
			t.Fatal("wrapping succeeded without Vault")
		}
	}
	if got := counted(t, db); got != 0 {
		t.Errorf("Vault unavailable: got %d counted attempts, want 0", got)
	}
	for range 3 {
		if logins := together(t, o); logins["login"] != 0 || logins["ok"] == 0 {
			t.Errorf("ten nodes with the right credential: got logins %v", logins)
		}
		if got := counted(t, db); got != 0 {
			t.Errorf("after a success: got %d counted attempts, want 0", got)
		}
	}
}

// Without the database, logins cannot be counted, so the node does not log in.
func TestNoLoginWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	db, network := testkit.NewDatabaseBehind(t)
	w := with(t, limited(t, v, db))
	network.Down()
	if _, err := w.Wrap(t.Context(), randomKeys(1)); err == nil ||
		w.Calls()[transit.Call{Operation: "login", Reason: "database"}] != 1 {
		t.Errorf("got error %v, calls %v", err, w.Calls())
	}
	network.Up()
	testkit.Eventually(t, time.Minute, "the node logs in", func() bool {
		_, err := w.Wrap(t.Context(), randomKeys(1))
		return err == nil
	})
}
