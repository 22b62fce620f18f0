package devpg

import (
	"testing"
	"time"
)

// A standby replicates commits, and accepts writes only after its promotion.
func TestStandby(t *testing.T) {
	primary := mustStart(t, Options{DataDir: newFolder(t)})
	execute(t, primary, "CREATE TABLE kept (n int)")
	standby, err := primary.Standby(t.Context(), Options{DataDir: newFolder(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustStop(t, standby) })
	execute(t, primary, "INSERT INTO kept VALUES (1)")
	has := func() (n int) {
		if err := connect(t, standby).QueryRow(t.Context(), "SELECT count(*) FROM kept").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if !waitFor(10*time.Second, func() bool { return has() == 1 }) {
		t.Error("the standby did not replicate the commit")
	}
	if _, err := connect(t, standby).Exec(t.Context(), "INSERT INTO kept VALUES (2)"); err == nil {
		t.Error("a standby accepted a write")
	}
	execute(t, standby, "SELECT pg_promote()")
	execute(t, standby, "INSERT INTO kept VALUES (2)")
}
