package main

import "testing"

// leadCommands shows a lead and reveals its contact data.
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
	reveal("nonsense", "--field", "email", "--reason", "legal").fails(t, 2, "ld_")
	reveal(delivered.id, "--field", "email").fails(t, 2, "--reason")
}
