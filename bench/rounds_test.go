package main

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

func TestParseProcessors(t *testing.T) {
	p, err := parseProcessors("cpu  10 20 30 400 50 6 7 8 9 9\ncpu0 1 2 3 4 5 6 7 8 9 9\n")
	if err != nil || p.busy != 81*tick || p.all != 531*tick {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []string{"", "cpu 1 2 3\n", "cpu0 1 2 3 4 5 6 7 8\n", "cpu 1 2 3 4 5 6 7 eight\n"} {
		if p, err := parseProcessors(bad); err == nil {
			t.Errorf("%q: got %+v, want an error", bad, p)
		}
	}
}

func TestParseProcess(t *testing.T) {
	const numbers = " S 42 1 1 0 -1 4194560 1 2 3 4 100 20 3000 400 20 0 1 0 5"
	for _, name := range []string{"(postgres)", "(a (strange) name)", "(1 2 3)"} {
		s, err := parseProcess("7 " + name + numbers)
		if err != nil || s != (processStat{parent: 42, own: 120 * tick, reaped: 3400 * tick}) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	for _, bad := range []string{"", "7 (x) S 42", "7 (x) S one 1 1 0 -1 4194560 1 2 3 4 100 20 3000 400",
		"7 (x) S 42 1 1 0 -1 4194560 1 2 3 4 100 20 much 400"} {
		if s, err := parseProcess(bad); err == nil {
			t.Errorf("%q: got %+v, want an error", bad, s)
		}
	}
}

func TestOtherLoad(t *testing.T) {
	before := spent{machine: processors{busy: 5 * time.Second, all: 10 * time.Second}, ours: time.Second}
	for name, c := range map[string]struct {
		busy, ours time.Duration // the increase since before
		want       float64
	}{
		"no others":            {6 * time.Second, 6 * time.Second, 0},
		"others":               {6 * time.Second, 4 * time.Second, 0.25},
		"less than we know of": {5 * time.Second, 6 * time.Second, 0},
	} {
		after := before
		after.machine.busy += c.busy
		after.machine.all += 8 * time.Second
		after.ours += c.ours
		if got := after.since(before); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := before.since(before); got != 0 {
		t.Errorf("in no time: %v", got)
	}
}

// TestReadOwnProcess reads the processor time of this process on systems that report it.
func TestReadOwnProcess(t *testing.T) {
	before, err := readProcessors()
	if errors.Is(err, errNoProcfs) {
		if _, err := os.Stat("/proc/stat"); err == nil {
			t.Error("/proc/stat is there and is not read")
		}
		return
	}
	if err != nil || before.all <= before.busy || before.busy <= 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	s, err := readProcess(os.Getpid())
	if err != nil || s.parent != os.Getppid() {
		t.Errorf("%+v, %v", s, err)
	}
	if sum, err := familyTime(os.Getpid()); err != nil || sum < s.own+s.reaped {
		t.Errorf("%v of %+v, %v", sum, s, err)
	}
}

func TestMeasureWithoutPatience(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := &bench{}
	if err := b.awaitQuiet(ctx); err != nil {
		t.Errorf("waited without patience: %v", err)
	}
	b.patience = time.Hour
	if err := b.awaitQuiet(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
