package main

import (
	"testing"

	"github.com/pingpost/pingpost/internal/testkit"
)

// syntheticData fills a database of its own, which needs to be named, up to the
// numbers given and no further; a node serves on it.
func syntheticData(t *testing.T, p *platform) {
	ownerURL, databaseURL := p.anotherDatabase(t, "grown")
	call(t, "", []string{ownerURL}, "migrate", "up").ok(t)
	env := p.production(t, databaseURL)
	fill := func(partners, leads, pings string, more ...string) outcome {
		return call(t, "", env, append([]string{"bench-data", "--partners", partners, "--leads", leads, "--pings", pings}, more...)...)
	}
	fill("3", "10", "10").refused(t, 1, `"grown"`, "--database grown")
	fill("3", "10", "10", "--database", "pingpost").refused(t, 1, "--database grown")
	fill("-1", "10", "10", "--database", "grown").refused(t, 2, "zero or more")
	fill("0", "10", "10", "--database", "grown").refused(t, 1, "leads need partners")
	conn := testkit.Connect(t, p.superuser(t, "grown"))
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
			var got int
			if err := conn.QueryRow(t.Context(), sql).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %d, %v, want %d", sql, got, err, want)
			}
		}
	}
	fill("3", "25", "100", "--database", "grown").ok(t)
	holds(3, 25, 100)
	for range 2 {
		fill("4", "30", "90", "--database", "grown").ok(t)
		holds(4, 30, 100)
	}
	status := printed[statusView](t, call(t, "", env, "keys", "status", "--json"))
	if len(status.LeadKeys) != 1 || status.LeadKeys[0].Leads != 30 || !status.LeadKeys[0].Readable || len(status.Platform) != 1 || status.Platform[0].Secrets != 4 || status.Platform[0].Digests != 30 {
		t.Errorf("status %+v", status)
	}
	node, _, ops := serve(t, env)
	node.until(t, "a node is ready on it", ready200(ops))
}
