package main

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// inPseudoTerminal runs its arguments in a pseudo-terminal. The standard input of the script is what the user types.
// The script exits with the exit code of the command.
const inPseudoTerminal = `
import os, pty, sys
sys.exit(pty.spawn(sys.argv[1:]) >> 8)
`

// inTerminal runs a command in a terminal, in which the user types the answer.
func (p *platform) inTerminal(t *testing.T, answer string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := terminal(answer)(ctx, binary, append(args, "--data-dir", p.dir)...)
	cmd.Env = environ()
	return combined(ctx, t, cmd)
}

// newCommand is a function like exec.CommandContext.
type newCommand func(ctx context.Context, name string, args ...string) *exec.Cmd

// terminal returns a function for commands that run in a terminal, in which the user types the answer.
func terminal(answer string) newCommand {
	const endOfInput = "\x04" // Ctrl-D
	return func(ctx context.Context, name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, "python3", append([]string{"-c", inPseudoTerminal, name}, args...)...)
		cmd.Stdin = strings.NewReader(answer + endOfInput)
		return cmd
	}
}

// combined runs a command. The outcome's stdout contains everything that it prints.
func combined(ctx context.Context, t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	cmd.WaitDelay = time.Second
	shown, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && (!errors.As(err, &ended) || ctx.Err() != nil) {
		t.Fatalf("%v: %s", err, shown)
	}
	return outcome{stdout: string(shown), code: cmd.ProcessState.ExitCode()}
}

// unconfirmed fails the test unless the command exited with code 2, because it was not confirmed. The command
// must have printed what it would do, including the given parts.
func (o outcome) unconfirmed(t *testing.T, parts ...string) {
	t.Helper()
	if o.code != 2 {
		t.Errorf("exit code %d, want 2: %s%s", o.code, o.stdout, o.stderr)
	}
	for _, part := range append(parts, "--yes") {
		if !strings.Contains(o.stderr, part) {
			t.Errorf("%q is not in %s", part, o.stderr)
		}
	}
}

// keysStatusReportsMissingKeys runs keys status without a key that the platform's leads or secrets need.
func keysStatusReportsMissingKeys(t *testing.T, p *platform) {
	p.partner(1).deliver(t)
	call(t, "", p.production(t), "keys", "status").ok(t)
	for setting, key := range map[string]string{
		"LEAD_VAULT_KEK=" + aKEK:           "local ",
		"PINGPOST_PLATFORM_KEYS=" + newKey: "platform key ",
	} {
		for _, format := range [][]string{nil, {"--json"}} {
			o := call(t, "", p.production(t, setting), append([]string{"keys", "status"}, format...)...)
			if o.code != 1 || !strings.Contains(o.stderr, key) || !strings.Contains(o.stdout, "local") {
				t.Errorf("exit code %d, want 1 and the name of the %skey: %s%s", o.code, key, o.stdout, o.stderr)
			}
		}
	}
}

// keysVerifyFindsDamage runs keys verify on leads that can be decrypted, without their key, and with a damaged lead.
func keysVerifyFindsDamage(t *testing.T, p *platform) {
	lead := p.partner(1).deliver(t).id
	verify := func(code int, settings []string, args ...string) (v keyCheckView, problem string) {
		t.Helper()
		o := call(t, "", settings, append([]string{"keys", "verify", "--json"}, args...)...)
		var all []keyCheckView
		if err := json.Unmarshal([]byte(o.stdout), &all); err != nil || len(all) != 1 || o.code != code {
			t.Fatalf("keys verify: got %d %s%s", o.code, o.stdout, o.stderr)
		}
		return all[0], all[0].Problem
	}
	if v, _ := verify(0, p.production(t)); v.Leads == 0 || int64(v.Checked) != min(v.Leads, 100) || v.Failed != 0 {
		t.Errorf("got %+v", v)
	}
	if v, _ := verify(0, p.production(t), "--sample", "1"); v.Checked != 1 {
		t.Errorf("got %+v, want a sample of one lead", v)
	}
	if v, problem := verify(1, p.production(t, "LEAD_VAULT_KEK="+aKEK)); v.Failed != v.Checked || problem == "" {
		t.Errorf("without the key: got %+v", v)
	}
	admin := testkit.Connect(t, p.superuser(t, "pingpost"))
	damage := func() {
		t.Helper()
		for _, sql := range []string{
			`SET session_replication_role = replica`, // without triggers that protect leads
			`UPDATE leads SET auth_tag = set_byte(auth_tag, 0, get_byte(auth_tag, 0) # 1)
				WHERE id = '` + uuidOf(t, lead) + `'`,
		} {
			if _, err := admin.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
	}
	damage()
	v, problem := verify(1, p.production(t), "--sample", "10000")
	if v.Failed != 1 || !strings.Contains(problem, lead) {
		t.Errorf("with a damaged lead: got %+v", v)
	}
	damage() // changes it back
	if v, _ := verify(0, p.production(t), "--sample", "10000"); v.Failed != 0 {
		t.Errorf("got %+v", v)
	}
	p.on(t, "keys", "verify", "--sample", "0").fails(t, 2, "--sample")
}

func uuidOf(t *testing.T, text string) string {
	t.Helper()
	u, err := id.Parse(id.Lead, text)
	if err != nil {
		t.Fatal(err)
	}
	return u.String()
}

// keysStatusReportsMissingJournalKey runs keys status after an erasure, with and without the platform key that the
// key of the erasure journal is derived from.
func keysStatusReportsMissingJournalKey(t *testing.T, p *platform) {
	p.on(t, "lead", "erase", p.partner(1).deliver(t).id, "--reason", "request", "--yes").ok(t)
	for key, missing := range map[string]bool{"": false, newKey: true} {
		env := p.production(t)
		if key != "" {
			env = append(env, "PINGPOST_PLATFORM_KEYS="+key)
		}
		o := call(t, "", env, "keys", "status", "--json")
		var v statusView
		if err := json.Unmarshal([]byte(o.stdout), &v); err != nil {
			t.Fatal(err)
		}
		if v.JournalKeyMissing != missing || (o.code == 1) != missing || strings.Contains(o.stderr, "erasure journal") != missing {
			t.Errorf("with the key %q: got exit code %d and %t, want %t: %s", key, o.code, v.JournalKeyMissing, missing, o.stderr)
		}
	}
}
