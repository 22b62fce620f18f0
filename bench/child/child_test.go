package child

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The roles for tests. One sends back the values that it receives, one fails, and one creates a file
// when it ends.
var testRoles = map[string]Role{
	"echo": func(_ context.Context, l *Link) error {
		for {
			var said any
			if l.Next(&said) != nil {
				return nil
			}
			if err := l.Say(said); err != nil {
				return err
			}
		}
	},
	"fail":  func(context.Context, *Link) error { return errors.New("expected failure") },
	"usage": func(_ context.Context, l *Link) error { return errors.Join(l.Next(new(any)), l.ServeUsage()) },
	"mark": func(ctx context.Context, l *Link) error {
		var file string
		if err := l.Next(&file); err != nil {
			return err
		}
		if err := l.Say("ready"); err != nil {
			return err
		}
		<-ctx.Done()
		return os.WriteFile(file, nil, 0o600)
	},
}

func TestMain(m *testing.M) {
	RunIfChild(testRoles)
	os.Exit(m.Run())
}

func TestValuesAreSentInBothDirections(t *testing.T) {
	p, err := Start(t.Context(), "echo", "job")
	if err != nil {
		t.Fatal(err)
	}
	var first string
	var second []int
	if err := errors.Join(p.Receive(&first), p.Ask([]int{1, 2}, &second)); err != nil || first != "job" || len(second) != 2 {
		t.Errorf("%q, %v, %v", first, second, err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

func TestReceiveReportsChildFailure(t *testing.T) {
	for _, role := range []string{"fail", "a role that there is not"} {
		p, err := Start(t.Context(), role, nil)
		if err != nil {
			t.Fatal(err)
		}
		var said any
		if err := p.Receive(&said); err == nil || !strings.Contains(err.Error(), role) {
			t.Errorf("%s: %v", role, err)
		}
		if err := p.Stop(); err == nil {
			t.Errorf("%s: the child ended without an error", role)
		}
	}
}

// TestChildEndsWithParent checks that a child exits normally when its parent closes the link or when its
// context is cancelled.
func TestChildEndsWithParent(t *testing.T) {
	for name, let := range map[string]func(*Process, context.CancelFunc) error{
		"stopped":       func(p *Process, _ context.CancelFunc) error { return p.Stop() },
		"input closed":  func(p *Process, _ context.CancelFunc) error { return errors.Join(p.in.Close(), p.cmd.Wait()) },
		"context ended": func(p *Process, cancel context.CancelFunc) error { cancel(); return p.cmd.Wait() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		file := filepath.Join(t.TempDir(), "ended")
		p, err := Start(ctx, "mark", file)
		if err != nil {
			t.Fatal(err)
		}
		var ready string
		if err := p.Receive(&ready); err != nil {
			t.Fatal(err)
		}
		if err := let(p, cancel); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s: the child did not end normally: %v", name, err)
		}
		cancel()
	}
}

func TestUsage(t *testing.T) {
	p, err := Start(t.Context(), "usage", nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := p.Usage()
	if err != nil || first.Resident < 1<<20 || first.CPU <= 0 || first.CPU > time.Minute {
		t.Errorf("%+v, %v", first, err)
	}
	second, err := p.Usage()
	if err != nil || second.CPU < first.CPU {
		t.Errorf("%+v after %+v, %v", second, first, err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

func TestUsageParsesProcStatus(t *testing.T) {
	var u Usage
	if err := u.read([]byte("Name:\tx\nVmHWM:\t   20480 kB\nVmRSS:\t   10240 kB\nThreads:\t3\n")); err != nil ||
		u.Resident != 10<<20 || u.Peak != 20<<20 {
		t.Errorf("%+v, %v", u, err)
	}
	for _, bad := range []string{"", "VmRSS:\tmuch\n", "VmHWM:\t 1 kB\n"} {
		if err := new(Usage).read([]byte(bad)); err == nil {
			t.Errorf("%q is accepted as a status", bad)
		}
	}
}
