package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/platform/config"
)

// TestFillCommand checks that the command requires the user to confirm the database, that it adds rows up to
// the given totals, and that a node can use the database.
func TestFillCommand(t *testing.T) {
	l := testLab(t)
	defer func() {
		if err := l.cleanUp(0); err != nil {
			t.Error(err)
		}
	}()
	ctx := t.Context()
	if err := l.open(ctx); err != nil {
		t.Fatal(err)
	}
	d, err := l.newDatabase(ctx, "filled")
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{
		"PINGPOST_DATABASE_URL=" + d.url, "PINGPOST_PLATFORM_KEYS=" + base64.StdEncoding.EncodeToString(d.platformKey),
		"LEAD_VAULT_KEK=" + base64.StdEncoding.EncodeToString(d.localKey), "PINGPOST_DATABASE_SNAPSHOT_FILE=",
		"PINGPOST_HTTP_PUBLIC_URL=https://leads.example.com", "PINGPOST_HTTP_ADMIN_URL=https://console.example.com",
		"PINGPOST_HTTP_API_ADDR=127.0.0.1:0", "PINGPOST_HTTP_ADMIN_ADDR=127.0.0.1:0",
		"PINGPOST_HTTP_OPS_ADDR=127.0.0.1:0", "PINGPOST_HTTP_DRAIN_DELAY=0s",
	}
	fill := func(partners, leads, pings int, database string) error {
		args := fmt.Sprintf("-partners %d -leads %d -pings %d -months 2 -database=%s", partners, leads, pings, database)
		return fillCommand(ctx, strings.Fields(args), environ, t.Output())
	}
	for want, err := range map[string]error{
		"-database filled": fill(3, 10, 10, ""), `database "filled"`: fill(3, 10, 10, "pingpost"),
		"zero or more": fill(-1, 10, 10, "filled"), "leads need partners": fill(0, 10, 10, "filled"),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	check := func(partners, leads, pings int64) {
		t.Helper()
		d.filledLeads = leads
		for from, want := range map[string]int64{
			"partners p JOIN accounts a ON a.partner_id = p.id WHERE p.slug LIKE 'bench-%'": partners,
			"pings": pings,
			"pings WHERE issued_at > now() OR issued_at < now() - interval '31 days'":                                     0,
			"leads WHERE id < first_id(received_at - interval '1 minute') OR id > first_id(received_at + interval '1 s')": 0,
		} {
			if err := d.checkRows(ctx, from, want, want); err != nil {
				t.Error(err)
			}
		}
		if err := d.checkLeads(ctx); err != nil {
			t.Error(err)
		}
	}
	if err := fill(3, 25, 100, "filled"); err != nil {
		t.Fatal(err)
	}
	check(3, 25, 100)
	for range 2 {
		if err := fill(4, 30, 90, "filled"); err != nil {
			t.Fatal(err)
		}
		check(4, 30, 100)
	}
	cfg, err := config.Load(config.Source{Environ: environ, Defaults: config.Serve})
	if err != nil {
		t.Fatal(err)
	}
	node, err := app.Start(ctx, app.Options{
		Config: cfg, Environment: "production", Clock: clock.System{}, Log: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Stop(context.WithoutCancel(ctx))
	ready, err := await(ctx, time.Minute, func() (bool, error) {
		response, err := http.Get("http://" + node.OpsAddr() + "/readyz")
		if err != nil {
			return false, err
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
	if !ready || err != nil {
		t.Errorf("a node is not ready with the database: %v", err)
	}
}
