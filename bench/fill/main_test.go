package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/config"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestFill checks that the command requires the user to confirm the database, that it adds rows up to
// the given totals, and that a node can use the database.
func TestFill(t *testing.T) {
	db := testkit.NewDatabase(t)
	key := func() string {
		random := make([]byte, 32)
		rand.Read(random)
		return base64.StdEncoding.EncodeToString(random)
	}
	environ := []string{
		"PINGPOST_DATABASE_URL=" + db.AppURL, "PINGPOST_PLATFORM_KEYS=" + key(), "LEAD_VAULT_KEK=" + key(),
		"PINGPOST_HTTP_PUBLIC_URL=https://leads.example.com", "PINGPOST_HTTP_ADMIN_URL=https://console.example.com",
		"PINGPOST_HTTP_API_ADDR=127.0.0.1:0", "PINGPOST_HTTP_ADMIN_ADDR=127.0.0.1:0", "PINGPOST_HTTP_OPS_ADDR=127.0.0.1:0",
		"PINGPOST_HTTP_DRAIN_DELAY=0s", "PINGPOST_DATABASE_SNAPSHOT_FILE=",
	}
	name := testkit.Value[string](t, db, `SELECT current_database()`)
	fill := func(partners, leads, pings int, database string) error {
		var progress bytes.Buffer
		return run(t.Context(), []string{
			"-partners", strconv.Itoa(partners), "-leads", strconv.Itoa(leads), "-pings", strconv.Itoa(pings), "-database", database,
		}, environ, &progress)
	}
	for says, err := range map[string]error{
		"-database " + name: fill(3, 10, 10, ""), "database \"" + name: fill(3, 10, 10, "pingpost"),
		"zero or more": fill(-1, 10, 10, name), "leads need partners": fill(0, 10, 10, name),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
	holds := func(partners, leads, pings int) {
		t.Helper()
		for sql, want := range map[string]int{
			`SELECT count(*) FROM partners p JOIN accounts a ON a.partner_id = p.id JOIN signing_secrets s ON s.partner_id = p.id WHERE p.slug LIKE 'bench-%'`: partners,
			`SELECT count(*) FROM leads`: leads,
			`SELECT count(*) FROM leads l JOIN consents c ON c.lead_id = l.id JOIN lead_events v ON v.lead_id = l.id
				JOIN ledger_entries e ON e.lead_id = l.id AND e.amount_minor = l.price_minor AND e.partner_id = l.partner_id`: leads,
			`SELECT count(*) FROM pings`: pings,
			`SELECT count(*) FROM pings WHERE issued_at > now() OR issued_at < now() - interval '31 days'`: 0,
		} {
			if got := testkit.Value[int](t, db, sql); got != want {
				t.Errorf("%s: %d, want %d", sql, got, want)
			}
		}
	}
	if err := fill(3, 25, 100, name); err != nil {
		t.Fatal(err)
	}
	holds(3, 25, 100)
	for range 2 {
		if err := fill(4, 30, 90, name); err != nil {
			t.Fatal(err)
		}
		holds(4, 30, 100)
	}
	cfg, err := config.Load(config.Source{Environ: environ, Defaults: config.Serve})
	if err != nil {
		t.Fatal(err)
	}
	var lines testkit.Log
	node, err := app.Start(t.Context(), app.Options{
		Config:      cfg,
		Environment: "production",
		Clock:       clock.System{},
		Log:         &lines,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	testkit.Eventually(t, time.Minute, "a node is ready on it", func() bool {
		resp, err := http.Get("http://" + node.OpsAddr() + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}
