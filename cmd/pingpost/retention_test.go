package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/devstack"
)

// retentionCommands shows and carries out the periods that `pingpost dev` was started with. They are in
// effect, because the platform was new.
func retentionCommands(t *testing.T, p *platform) {
	p.partner(1).deliver(t)
	var rows []string
	for _, v := range printed[[]plannedView](t, p.on(t, "retention", "plan", "--json")) {
		rows = append(rows, fmt.Sprintf("%s %s %d %d %d", v.Category, v.Country, v.ConfiguredDays, v.EffectiveDays, v.LeadsToErase))
		if v.Category == "contact" && (v.OldestLead != nil) != (v.Country == "") {
			t.Errorf("got oldest lead %v for country %q", v.OldestLead, v.Country)
		}
	}
	if got, want := strings.Join(rows, ", "), "contact  3650 3650 0, contact DE 300 300 0, consent  0 0 0"; got != want {
		t.Errorf("got plan %s, want %s", got, want)
	}
	p.on(t, "retention", "plan").ok(t)
	unconfirmed := p.on(t, "retention", "run")
	if unconfirmed.unconfirmed(t); unconfirmed.stdout == "" {
		t.Error("a run without a confirmation does not print the plan")
	}
	running, err := devstack.ReadRunning(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	shorter := p.production(t, "PINGPOST_RETENTION_CONTACT_DAYS=3649", "PINGPOST_PRIVACY_ERASURE_JOURNAL="+running.ErasureJournal)
	call(t, "", shorter, "retention", "run").unconfirmed(t, "All nodes must have these periods")
	if v := printed[erasedView](t, p.on(t, "retention", "run", "--yes", "--json")); len(v.Contact)+len(v.Consent) != 0 {
		t.Errorf("erased %+v", v)
	}
}
