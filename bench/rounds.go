package main

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/pingpost/pingpost/bench/child"
	"github.com/pingpost/pingpost/internal/base/clock"
)

// subject is a contender: the product, or a baseline that does the same work. In each part of a
// benchmark, the contenders take turns.
type subject struct {
	name    string
	process *child.Process // the process of its server, or nil
	beside  int            // the ID of another process that works for it, such as Vault; 0 for none

	listening listening // the addresses of a baseline's server
	run       func(context.Context, time.Duration) (round, error)

	acknowledged int64 // in all turns
	rounds       []round
}

// round is the result of a contender's turn.
type round struct {
	Count     int64
	Elapsed   time.Duration
	CPU       time.Duration // processor time of the process that serves or stores
	Load      time.Duration // processor time of the load generator
	P99       time.Duration // 99th percentile of the response times of acknowledged requests
	Rejected  int64
	Rejection time.Duration // 99th percentile of the response times of rejected requests
	postgres  time.Duration // Postgres's processor time
	others    float64       // share of processor time that other programs used
	idle      float64       // share of processor time that was idle
}

func (r round) rate() float64 { return float64(r.Count) / r.Elapsed.Seconds() }

// answered returns the number of requests per second that were acknowledged or rejected.
func (r round) answered() float64 { return float64(r.Count+r.Rejected) / r.Elapsed.Seconds() }

// each divides a processor time by the number of acknowledged requests. The result is in microseconds.
func (r round) each(spent time.Duration) float64 {
	return float64(spent.Nanoseconds()) / 1e3 / float64(r.Count)
}

// own returns the contender's own processor time per request, in microseconds.
func (r round) own() float64 { return r.each(r.CPU) }

// p99 returns the 99th percentile of the response times of acknowledged requests, in microseconds.
func (r round) p99() float64 { return float64(r.P99.Microseconds()) }

func (c *subject) series(take func(round) float64) []float64 {
	out := make([]float64, len(c.rounds))
	for i, r := range c.rounds {
		out[i] = take(r)
	}
	return out
}

// turn runs the contender for the given time, and adds the number of acknowledged requests to its
// total.
func (c *subject) turn(ctx context.Context, length time.Duration) (round, error) {
	var before child.Usage
	var err error
	if c.process != nil {
		if before, err = c.process.Usage(); err != nil {
			return round{}, err
		}
	}
	r, err := c.run(ctx, length)
	c.acknowledged += r.Count
	if err != nil || c.process == nil {
		return r, err
	}
	after, err := c.process.Usage()
	r.CPU = after.CPU - before.CPU
	return r, err
}

// take measures the contenders in rounds, in which each contender has one turn. So if the machine is
// slow for a while, this affects all contenders alike. The first round is a warm-up, and its result is
// discarded.
func (b *bench) take(ctx context.Context, part string, number int, length time.Duration, all ...*subject) error {
	for n := range 1 + number {
		for _, c := range all {
			r, err := b.measureWhenIdle(ctx, c, length)
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			c.rounds = append(c.rounds, r)
			b.progress("%s %d/%d: %s %.0f per second (µs each: own %.0f, Postgres %.0f, load %.0f; others used %.0f %% of the machine)",
				part, n, number, c.name, r.rate(), r.own(), r.each(r.postgres), r.each(r.Load), 100*r.others)
		}
	}
	return nil
}

const (
	// maxOtherLoad is the largest share of the machine's processor time that other programs may use. If
	// they use more during a turn, the turn is repeated, unless the time set by -patience is used up.
	maxOtherLoad = 0.2
	// lookFor is how long awaitQuiet observes the machine to decide whether it is idle.
	lookFor = 250 * time.Millisecond
)

// measureWhenIdle waits until the machine is idle and runs one turn. If other programs disturbed the
// turn, it repeats the turn, unless the time set by -patience is used up.
func (b *bench) measureWhenIdle(ctx context.Context, c *subject, length time.Duration) (round, error) {
	for {
		if err := errors.Join(b.awaitQuiet(ctx), b.stage.settle(ctx)); err != nil {
			return round{}, err
		}
		start := clock.System{}.Now()
		before, known := b.stage.spending(c)
		r, err := c.turn(ctx, length)
		if err != nil {
			return r, err
		}
		after, stillKnown := b.stage.spending(c)
		if !known || !stillKnown {
			return r, nil // the system does not report processor times
		}
		r.postgres, r.others, r.idle = after.postgres-before.postgres, after.since(before), after.idleSince(before)
		if r.others <= maxOtherLoad || b.patience <= 0 {
			return r, nil
		}
		b.patience -= clock.System{}.Now().Sub(start)
		b.progress("%s: other programs used %.0f %% of the machine, repeating the round", c.name, 100*r.others)
	}
}

// awaitQuiet waits until other programs use little processor time, or until the time set by -patience is
// used up.
func (b *bench) awaitQuiet(ctx context.Context) error {
	for b.patience > 0 {
		before, err := readProcessors()
		if errors.Is(err, errNoProcfs) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(lookFor):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		after, err := readProcessors()
		if err != nil {
			return err
		}
		if float64(after.busy-before.busy) <= maxOtherLoad*float64(after.all-before.all) {
			return nil
		}
		b.patience -= lookFor
	}
	return nil
}

// spent contains the processor times of the whole machine, of everything that belongs to the
// measurement, and of Postgres alone.
type spent struct {
	machine        processors
	ours, postgres time.Duration
}

// since returns the share of processor time that other programs have used since an earlier reading.
func (s spent) since(before spent) float64 {
	all := s.machine.all - before.machine.all
	others := (s.machine.busy - before.machine.busy) - (s.ours - before.ours)
	if all <= 0 || others <= 0 {
		return 0
	}
	return float64(others) / float64(all)
}

// idleSince returns the share of processor time that was idle since an earlier reading.
func (s spent) idleSince(before spent) float64 {
	all := s.machine.all - before.machine.all
	if all <= 0 {
		return 0
	}
	return 1 - float64(s.machine.busy-before.machine.busy)/float64(all)
}

// spending reads the processor times that the whole machine, Postgres and all processes of the
// benchmark have used. The result known is false if the system does not report them.
func (s *stage) spending(c *subject) (now spent, known bool) {
	var err error
	if now.machine, err = readProcessors(); err != nil {
		return now, false
	}
	if now.postgres, err = familyTime(s.postmaster); err != nil {
		return now, false
	}
	now.ours = now.postgres
	if c.beside != 0 {
		beside, err := familyTime(c.beside)
		if err != nil {
			return now, false
		}
		now.ours += beside
	}
	for _, target := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(target, &used); err != nil {
			return now, false
		}
		now.ours += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	if c.process != nil {
		used, err := c.process.Usage()
		if err != nil {
			return now, false
		}
		now.ours += used.CPU
	}
	return now, true
}
