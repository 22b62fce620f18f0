package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// testChecks sends pings and posts. It then deletes one row from each table in turn and tests that
// each deletion is detected.
func (s *stage) testChecks(t *testing.T) {
	ctx := t.Context()
	p, err := s.newProduct(ctx, "product_checked", productJob{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
	}()
	pinged, err := sendPings(ctx, pingsJob{Address: p.at.Address, Count: 500})
	if err != nil {
		t.Fatal(err)
	}
	posted, err := p.deliver(ctx, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	pings := func() error { return checkPings(ctx, p.database, p.at.Ops, pinged.Count) }
	leads := func() error { return checkLeads(ctx, p.database, posted.Count) }
	if err := errors.Join(pings(), leads()); err != nil || pinged.Count != 500 || posted.Count == 0 {
		t.Fatalf("%d pings, %d posts: %v", pinged.Count, posted.Count, err)
	}
	for table, check := range map[string]func() error{
		"pings": pings, "leads": leads, "lead_keys": leads, "consents": leads, "ledger_entries": leads, "lead_events": leads,
	} {
		without(t, p.database, table, func() {
			if err := check(); err == nil || !strings.Contains(err.Error(), "acknowledged") {
				t.Errorf("a missing row in %s is not detected: %v", table, err)
			}
		})
	}
	if err := p.durable(ctx); err != nil {
		t.Error(err)
	}
	if _, err := p.root.Exec(ctx, "SET synchronous_commit = off"); err != nil {
		t.Fatal(err)
	}
	if err := p.durable(ctx); err == nil {
		t.Error("synchronous_commit = off is not detected")
	}
}

// without runs a check while one row of a table is deleted. It runs as the superuser, because it must
// disable foreign keys and triggers that prevent deleting rows.
func without(t *testing.T, d *database, table string, check func()) {
	t.Helper()
	ctx := t.Context()
	tx, err := d.root.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "SET LOCAL session_replication_role = replica"); err != nil {
		t.Fatal(err)
	}
	tag, err := tx.Exec(ctx, "DELETE FROM "+table+" WHERE ctid = (SELECT ctid FROM "+table+" LIMIT 1)")
	if err != nil || tag.RowsAffected() == 0 {
		t.Fatalf("%s: %d rows, %v", table, tag.RowsAffected(), err)
	}
	check()
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
}

// metrics returns the recorder's metrics in the format in which a node exports them.
func metrics(recorded, full, rejected int) string {
	return fmt.Sprintf(`# HELP pingpost_pings_recorded_total Pings written to the log.
# TYPE pingpost_pings_recorded_total counter
pingpost_pings_recorded_total %d
pingpost_pings_dropped_total{reason="queue_full"} %d
pingpost_pings_dropped_total{reason="rejected"} %d
pingpost_pings_dropped_total{reason="shutdown"} 0
pingpost_pings_dropped_total{reason="daily_limit"} 0
pingpost_pings_queued 7
`, recorded, full, rejected)
}

func TestCheckPingsDetectsDroppedPings(t *testing.T) {
	for name, c := range map[string]struct{ recorded, full, rejected int }{
		"by a full queue": {999, 1, 0},
		"by the database": {998, 0, 2},
	} {
		ops := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, metrics(c.recorded, c.full, c.rejected))
		}))
		err := checkPings(t.Context(), nil, ops.Listener.Addr().String(), 1000)
		if err == nil || !strings.Contains(err.Error(), "dropped") {
			t.Errorf("%s: got %v, want an error about dropped pings", name, err)
		}
		ops.Close()
	}
}

func TestParseRecorderRejectsMissingMetrics(t *testing.T) {
	if r, err := parseRecorder(strings.NewReader(metrics(1.2e6, 3, 4))); err != nil || r != (recorder{1_200_000, 7}) {
		t.Errorf("got %+v, %v", r, err)
	}
	for _, text := range []string{"", strings.Replace(metrics(1, 0, 0), "recorded", "written", 3), strings.ReplaceAll(metrics(1, 0, 0), " 0", " x")} {
		if r, err := parseRecorder(strings.NewReader(text)); err == nil {
			t.Errorf("%q: got %+v, want an error", text, r)
		}
	}
}
