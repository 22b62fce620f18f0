package main

import (
	"strings"
	"testing"
)

// nextSteps takes on a partner by the commands that are printed, one after the
// other, and then takes its secret away.
func nextSteps(t *testing.T, p *platform) {
	fill := strings.NewReplacer("pingpost ", shellQuote(binary)+" ", "PARTNER_ID", "eastgate-web")
	commands := func(text string) (found []string) {
		for line := range strings.Lines(text) {
			if _, command, printed := strings.Cut(line, "pingpost "); printed {
				found = append(found, fill.Replace("pingpost "+strings.TrimSpace(command)))
			}
		}
		return found
	}
	steps := commands(p.on(t, "partner", "create", "eastgate").ok(t))
	if len(steps) != 3 {
		t.Fatalf("next are %q", steps)
	}
	// The other way round than told: approving says what is missing.
	missing := commands(shell(t, steps[2]))
	if len(missing) != 2 || missing[0] != steps[0] || missing[1] != steps[1] {
		t.Errorf("missing are %q, want %q", missing, steps[:2])
	}
	shell(t, missing[0])
	if again := commands(shell(t, steps[2])); len(again) != 1 || again[0] != steps[1] {
		t.Errorf("missing are %q", again)
	}
	shell(t, missing[1])
	if left := commands(shell(t, steps[2])); len(left) != 0 {
		t.Errorf("missing are %q", left)
	}

	second := printed[secretView](t, p.on(t, "secret", "create", "eastgate", "--json"))
	for _, s := range printed[[]secretView](t, p.on(t, "secret", "list", "eastgate", "--json")) {
		if s.ID == second.ID {
			continue
		}
		if o := p.on(t, "secret", "revoke", "eastgate", s.ID); o.ok(t) == "" || o.stderr != "" {
			t.Errorf("one is left: %s", o.stderr)
		}
	}
	o := p.on(t, "secret", "revoke", "eastgate", second.ID)
	o.ok(t)
	if !strings.HasPrefix(o.stderr, "warning: ") ||
		fill.Replace(o.stderr[strings.LastIndex(o.stderr, "pingpost "):]) != steps[1]+"\n" {
		t.Errorf("the last one: %s", o.stderr)
	}
	p.on(t, "secret", "rotate", "eastgate", "--overlap", "3d").ok(t)
}
