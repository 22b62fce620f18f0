package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/models"
)

// leadCommands shows a lead, reveals its contact data and erases it.
func leadCommands(t *testing.T, p *platform) {
	delivered := p.partner(1).deliver(t)
	v := printed[leadView](t, p.on(t, "lead", "show", delivered.id, "--json"))
	if v.LeadID != delivered.id || v.State != "delivered" || len(v.Events) != 1 {
		t.Errorf("got %+v", v)
	}
	p.on(t, "lead", "show", delivered.id).ok(t)
	reveal := func(args ...string) outcome { return p.on(t, append([]string{"lead", "reveal"}, args...)...) }
	if got := reveal(delivered.id, "--field", "email", "--reason", "complaint").ok(t); got != personal+"\n" {
		t.Errorf("got %q", got)
	}
	if o := reveal(delivered.id, "--field", "phone", "--reason", "legal"); o.ok(t) != "" || o.stderr == "" {
		t.Errorf("a field that was not sent printed %+v", o)
	}
	const noLead = "ld_00000000000000000000000000"
	reveal(delivered.id, "--field", "email", "--reason", "other").rejected(t, "invalid/note")
	reveal(delivered.id, "--field", "salt", "--reason", "legal").rejected(t, "invalid/field")
	reveal(delivered.id, "--field", "email", "--reason", "curiosity").rejected(t, "invalid/reason")
	reveal(noLead, "--field", "email", "--reason", "legal").rejected(t, "not_found/lead")
	p.on(t, "lead", "show", noLead).rejected(t, "not_found/lead")
	erase := func(reason string) outcome {
		return p.on(t, "lead", "erase", delivered.id, "--reason", reason, "--yes", "--json")
	}
	erase("curiosity").rejected(t, "invalid/reason")
	p.on(t, "lead", "erase", delivered.id, "--reason", "curiosity").rejected(t, "invalid/reason")
	p.on(t, "lead", "erase", noLead, "--reason", "request").rejected(t, "not_found/lead")
	p.on(t, "lead", "erase", delivered.id, "--reason", "request").unconfirmed(t, delivered.id)
	for _, answer := range []string{"", "no\n", "y\n", "yes, please\n"} {
		if o := p.inTerminal(t, answer, "lead", "erase", delivered.id, "--reason", "request"); o.code != 2 {
			t.Errorf("the answer %q: exit code %d, want 2: %s", answer, o.code, o.stdout)
		}
	}
	if v := printed[leadView](t, p.on(t, "lead", "show", delivered.id, "--json")); v.State != "delivered" {
		t.Fatalf("without a confirmation, the lead is %s", v.State)
	}
	confirmed := p.partner(1).deliver(t)
	if o := p.inTerminal(t, "yes\n", "lead", "erase", confirmed.id, "--reason", "request"); o.code != 0 || !strings.Contains(o.stdout, "Erased "+confirmed.id) {
		t.Errorf("confirmed in a terminal: exit code %d: %s", o.code, o.stdout)
	}
	erased := erase("request")
	if !strings.Contains(erased.stderr, "pt_") {
		t.Errorf("the partner to notify is missing: %s", erased.stderr)
	}
	receipt := printed[map[string]string](t, erased)
	if keys := slices.Sorted(maps.Keys(receipt)); !slices.Equal(keys, []string{"erased_at", "lead_id", "receipt"}) {
		t.Errorf("the receipt has the keys %v", keys)
	}
	if _, err := time.Parse(time.RFC3339, receipt["erased_at"]); err != nil || receipt["lead_id"] != delivered.id || len(receipt["receipt"]) != 64 {
		t.Errorf("got %v", receipt)
	}
	listed := printed[[]erasureView](t, p.on(t, "erasures", "list", "--json"))
	if len(listed) < 2 || listed[0].LeadID != delivered.id || listed[0].Receipt != receipt["receipt"] || listed[0].Reason != models.EraseForRequest {
		t.Errorf("got %+v", listed)
	}
	erase("request").rejected(t, "conflict/erased")
	reveal("nonsense", "--field", "email", "--reason", "legal").fails(t, 2, "ld_")
	reveal(delivered.id, "--field", "email").fails(t, 2, "--reason")
}
