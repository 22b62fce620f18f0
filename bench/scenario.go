package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// scenario declares one part of the benchmark. In each round, its contenders take turns, so a machine that
// is slow for a while affects all of them alike.
type scenario struct {
	name    string // for -only
	title   string // heading in the document
	text    string // explains the scenario; blank lines separate paragraphs
	rounds  int    // after one warm-up round; a scenario with a single round has no warm-up
	length  time.Duration
	prepare func(context.Context, *lab) ([]contender, error)
	figures []*figure

	others []float64 // share of processor time that other programs used in each turn
}

// contender is the product or a baseline that does the same work.
type contender struct {
	name string
	pid  int // the process whose processor time is measured; 0 for none
	run  func(ctx context.Context, length time.Duration) (turn, error)
}

// turn is the result of a contender's turn.
type turn struct {
	count    int64         // requests that were acknowledged, or calls of a function
	elapsed  time.Duration // for all of them
	p99      time.Duration // 99th percentile of the latency of acknowledged requests
	rejected int64         // requests that were rejected
	replays  int64         // acknowledged requests that were replays
	cpu      float64       // processor time of the contender's process, in seconds
	extra    float64       // a quantity that only one scenario has
	others   float64       // share of the machine's processor time that other programs used
}

// These functions are the quantities that figures show.
func (t turn) rate() float64       { return float64(t.count) / t.elapsed.Seconds() }
func (t turn) answered() float64   { return float64(t.count+t.rejected) / t.elapsed.Seconds() }
func (t turn) seconds() float64    { return t.elapsed.Seconds() }
func (t turn) millis() float64     { return t.elapsed.Seconds() * 1e3 }
func (t turn) p99Micros() float64  { return t.p99.Seconds() * 1e6 }
func (t turn) cpuMicros() float64  { return t.cpu * 1e6 / float64(t.count) }
func (t turn) extraValue() float64 { return t.extra }

// maxOthers is the largest share of the machine's processor time that other programs may use during a turn.
// If they use more, the turn is repeated, unless the time set by -patience is used up.
const maxOthers = 0.2

// measure runs a scenario and adds the results to its figures.
func (l *lab) measure(ctx context.Context, s *scenario) (err error) {
	first := len(l.cleanups)
	defer func() { err = errors.Join(err, l.cleanUp(first)) }()
	l.checks = nil
	l.report("%s: preparing", s.name)
	contenders, err := s.prepare(ctx, l)
	if err != nil {
		return err
	}
	s.rounds, s.length = min(s.rounds, l.size.rounds), min(s.length, l.size.length)
	warmUp := min(1, s.rounds-1)
	for n := range warmUp + s.rounds {
		turns := map[string]turn{}
		for _, c := range contenders {
			t, err := l.undisturbed(ctx, c, s.length)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			turns[c.name] = t
		}
		if n < warmUp {
			continue
		}
		for _, f := range s.figures {
			f.add(turns)
		}
		for _, t := range turns {
			s.others = append(s.others, t.others)
		}
		l.report("%s: round %d of %d", s.name, n-warmUp+1, s.rounds)
	}
	for _, check := range l.checks {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// undisturbed runs one turn, and repeats it if other programs used too much processor time.
func (l *lab) undisturbed(ctx context.Context, c contender, length time.Duration) (turn, error) {
	for {
		if err := l.settle(ctx); err != nil {
			return turn{}, err
		}
		start := now()
		before, err := l.readUsage(c.pid)
		if err != nil {
			return turn{}, err
		}
		t, err := c.run(ctx, length)
		if err != nil {
			return t, err
		}
		after, err := l.readUsage(c.pid)
		if err != nil {
			return t, err
		}
		if t.others = after.othersSince(before); c.pid != 0 {
			t.cpu = after.process - before.process
		}
		if t.others <= maxOthers || l.patience <= 0 {
			return t, nil
		}
		l.patience -= now().Sub(start)
		l.report("%s: other programs used %.0f %% of the machine, repeating the turn", c.name, 100*t.others)
	}
}

// fastest runs one turn with each number of connections and returns the contender with the highest rate.
func (l *lab) fastest(
	ctx context.Context, connections []int, with func(connections int) contender,
) (best contender, err error) {
	length := min(2*time.Second, l.size.length)
	var highest float64
	for _, n := range connections {
		c := with(n)
		t, err := l.undisturbed(ctx, c, length)
		if err != nil {
			return best, err
		}
		l.report("%s: %.0f per second with %d connections", c.name, t.rate(), n)
		if t.rate() > highest {
			highest, best = t.rate(), c
		}
	}
	return best, nil
}

// during returns a contender that does the same as c while a background job runs. The job must not end
// before the turn does, unless size.shortJobs is set. Its result done is the amount of work that it did. The turn's
// quantity extra is this amount per second.
func (l *lab) during(c contender, name string, job func(context.Context) (done int64, err error)) contender {
	return contender{name: name, pid: c.pid, run: func(ctx context.Context, length time.Duration) (turn, error) {
		jobCtx, stop := context.WithCancel(ctx)
		defer stop()
		var done int64
		result := make(chan error, 1)
		start := now()
		go func() {
			var err error
			done, err = job(jobCtx)
			result <- err
		}()
		t, err := c.run(ctx, length)
		select {
		case jobErr := <-result:
			if !l.size.shortJobs {
				jobErr = errors.Join(errors.New("the background job ended too early"), jobErr)
			}
			err = errors.Join(err, jobErr)
		default:
			stop()
			<-result //nolint:errcheck // the job was interrupted
		}
		t.extra = float64(done) / now().Sub(start).Seconds()
		return t, err
	}}
}
