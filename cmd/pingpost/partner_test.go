package main

import (
	"strings"
	"testing"
)

// nextSteps onboards a partner with the commands that pingpost prints, and then revokes its
// secrets.
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
		t.Fatalf("got the next steps %q, want 3", steps)
	}
	// Approve the partner first, which prints the missing steps.
	missing := commands(shell(t, steps[2]))
	if len(missing) != 2 || missing[0] != steps[0] || missing[1] != steps[1] {
		t.Errorf("got the missing steps %q, want %q", missing, steps[:2])
	}
	shell(t, missing[0])
	if again := commands(shell(t, steps[2])); len(again) != 1 || again[0] != steps[1] {
		t.Errorf("got the missing steps %q, want %q", again, steps[1:2])
	}
	shell(t, missing[1])
	if left := commands(shell(t, steps[2])); len(left) != 0 {
		t.Errorf("got the missing steps %q, want none", left)
	}

	second := printed[secretView](t, p.on(t, "secret", "create", "eastgate", "--json"))
	for _, s := range printed[[]secretView](t, p.on(t, "secret", "list", "eastgate", "--json")) {
		if s.ID == second.ID {
			continue
		}
		if o := p.on(t, "secret", "revoke", "eastgate", s.ID); o.ok(t) == "" || o.stderr != "" {
			t.Errorf("revoking a secret while another is active printed %s", o.stderr)
		}
	}
	o := p.on(t, "secret", "revoke", "eastgate", second.ID)
	o.ok(t)
	if !strings.HasPrefix(o.stderr, "warning: ") ||
		fill.Replace(o.stderr[strings.LastIndex(o.stderr, "pingpost "):]) != steps[1]+"\n" {
		t.Errorf("revoking the last secret printed %s", o.stderr)
	}
	p.on(t, "secret", "rotate", "eastgate", "--overlap", "3d").ok(t)
}
