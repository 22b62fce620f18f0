// Command bench measures the product and its baselines in one run, prints the ratios and their targets,
// and writes docs/benchmarks.md. It exits with 1 if the product misses a target that is within the
// machine's limits.
//
//	go run ./bench                 everything, with the document: about 55 minutes
//	go run ./bench -quick          short rounds, for trying out changes
//	go run ./bench -only ping,post some parts
//	go run ./bench -profile DIR    also save processor profiles of the product under load
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pingpost/pingpost/bench/benchdata"
	"github.com/pingpost/pingpost/bench/child"
	"github.com/pingpost/pingpost/internal/dev/devpg"
)

const documentPath = "docs/benchmarks.md"

// longest is the time limit of a whole run. The time set by -patience is added to it.
const longest = 80 * time.Minute

// fillTime returns the time that a slow machine needs to fill the tables. It is added to the run's
// time limit.
func fillTime(p benchdata.Plan) time.Duration {
	return time.Duration(p.Leads)*(time.Second/4_000) + time.Duration(p.Pings)*(time.Second/50_000)
}

func main() {
	devpg.RunIfChild()
	child.RunIfChild(roles())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	missed, err := command(ctx, os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	case len(missed) > 0:
		fmt.Fprintf(os.Stderr, "\nmissed:\n  %s\n", strings.Join(missed, "\n  "))
		os.Exit(1)
	}
}

type plan struct {
	PingRounds, PostRounds, MicroRounds int
	PingRound, PostRound, MicroTime     time.Duration
	Connections                         int // how many of the candidate connection counts to try; 0 for all
	FineRounds                          int // many short rounds, which reveal small differences
	FineRound                           time.Duration
	ManyPartners                        int // number of partners in the directory for lookups
	MemoryPings, ReplayPings            int64
	ReplayRounds                        int
	FinanceRows                         int64 // rows in a partner's file and in an export
	FinanceRounds                       int
	RewrapLeads, RewrapRounds           int
	RetentionLeads, RetentionRounds     int
	Growth                              benchdata.Plan
	CapLeads                            int // number of leads on one day
}

func fullPlan() plan {
	return plan{
		PingRounds: 7, PingRound: 4 * time.Second,
		PostRounds: 5, PostRound: 5 * time.Second,
		FineRounds: 21, FineRound: 2 * time.Second,
		MicroRounds: 4, MicroTime: 200 * time.Millisecond,
		ManyPartners: 10_000, MemoryPings: 1_000_000,
		ReplayPings: 1_000_000, ReplayRounds: 5,
		FinanceRows: 1_000_000, FinanceRounds: 3,
		RewrapLeads: 100_000, RewrapRounds: 12,
		RetentionLeads: 1_000_000, RetentionRounds: 12,
		Growth:   benchdata.Plan{Partners: 10_000, Leads: 1_000_000, Pings: 10_000_000, Months: 24},
		CapLeads: 3_000_000,
	}
}

func quickPlan() plan {
	return plan{
		PingRounds: 3, PingRound: time.Second,
		PostRounds: 3, PostRound: time.Second,
		FineRounds: 3, FineRound: time.Second,
		MicroRounds: 3, MicroTime: 50 * time.Millisecond,
		ManyPartners: 10_000, MemoryPings: 100_000,
		ReplayPings: 100_000, ReplayRounds: 3,
		FinanceRows: 100_000, FinanceRounds: 3,
		RewrapLeads: 10_000, RewrapRounds: 3,
		RetentionLeads: 50_000, RetentionRounds: 3,
		Growth:   benchdata.Plan{Partners: 1_000, Leads: 50_000, Pings: 500_000, Months: 6},
		CapLeads: 100_000,
	}
}

// bench is the state of a benchmark run.
type bench struct {
	plan         plan
	stage        *stage
	manyPartners *manyPartners // nil until it is first needed
	report       report
	profiles     string // folder for profiles; "" to save none
	patience     time.Duration
	output       io.Writer
}

func (b *bench) progress(format string, args ...any) { fmt.Fprintf(b.output, format+"\n", args...) }

// parts returns the names of the parts of a run, in the order in which they are measured. -only accepts
// these names.
func parts() []string {
	return []string{
		"ping", "post", "partitions", "overload", "growth", "retention", "caps", "memory", "pricing", "reconcile", "export",
		"micro",
	}
}

type choices struct {
	quick, write bool
	only         []string
	profiles     string
	patience     time.Duration
	growth       benchdata.Plan // a field that is 0 leaves the plan unchanged
}

func parse(args []string, output io.Writer) (choices, error) {
	var c choices
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.BoolVar(&c.quick, "quick", false, "short rounds, for trying out; nothing is written")
	flags.BoolVar(&c.write, "write", true, "write "+documentPath+" after a full run")
	flags.IntVar(&c.growth.Leads, "leads", 0, "number of leads in full tables (default 1,000,000)")
	flags.IntVar(&c.growth.Months, "months", 0,
		"number of monthly partitions that these leads are spread over (default 24)")
	flags.IntVar(&c.growth.Pings, "pings", 0, "number of pings in full tables (default 10,000,000)")
	flags.StringVar(&c.profiles, "profile", "", "folder for processor profiles of the product, taken after the rounds")
	flags.DurationVar(&c.patience, "patience", 3*time.Minute,
		"how long to wait, and repeat rounds, until the machine is idle")
	only := flags.String("only", "",
		"parts to measure, separated by commas: "+strings.Join(parts(), ",")+"; nothing is written")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q: see -help", flags.Arg(0))
	}
	if c.patience < 0 {
		return c, errors.New("-patience must be zero or more")
	}
	c.only = parts()
	if *only != "" {
		c.only = strings.Split(*only, ",")
		c.write = false
	}
	for _, part := range c.only {
		if !slices.Contains(parts(), part) {
			return c, fmt.Errorf("-only: unknown part %q, want one of %s", part, strings.Join(parts(), ", "))
		}
	}
	c.write = c.write && !c.quick
	return c, nil
}

// command runs the benchmarks that the arguments select and returns the targets that were missed.
func command(ctx context.Context, args []string, output io.Writer) ([]string, error) {
	c, err := parse(args, output)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Dir(documentPath)); c.write && err != nil {
		return nil, errors.New("no docs folder: run bench in the repository's root, or with -write=false")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, longest+c.patience+fillTime(c.growth),
		errors.New("the run exceeded its time limit"))
	defer cancel()
	b := &bench{plan: fullPlan(), profiles: c.profiles, patience: c.patience, output: output}
	if c.quick {
		b.plan = quickPlan()
	}
	g := &b.plan.Growth
	g.Leads, g.Pings, g.Months = cmp.Or(c.growth.Leads, g.Leads), cmp.Or(c.growth.Pings, g.Pings), cmp.Or(c.growth.Months,
		g.Months)
	m, err := b.run(ctx, c.only)
	if err != nil {
		return nil, err
	}
	if err := b.report.print(os.Stdout); err != nil || !c.write {
		return b.report.missed(), err
	}
	text, err := b.document(m)
	if err != nil {
		return nil, err
	}
	return b.report.missed(), os.WriteFile(documentPath, text, 0o644)
}

func (b *bench) run(ctx context.Context, only []string) (m machine, err error) {
	if b.stage, err = openStage(ctx); err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, b.stage.close()) }()
	if m, err = b.stage.machine(ctx); err != nil {
		return m, err
	}
	return m, b.measure(ctx, only)
}

func (b *bench) measure(ctx context.Context, only []string) error {
	measures := map[string]func(context.Context) error{
		"ping":       b.pings,
		"post":       b.posts,
		"partitions": b.partitions,
		"overload":   b.overload,
		"growth":     b.growth,
		"retention":  b.retention,
		"caps":       b.caps,
		"memory":     b.memory,
		"pricing":    b.pricing,
		"reconcile":  b.reconciliations,
		"export":     b.exports,
		"micro":      b.micros,
	}
	for _, part := range parts() {
		if !slices.Contains(only, part) {
			continue
		}
		if err := measures[part](ctx); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
		if part != "micro" && slices.Contains(only, "micro") {
			if err := b.micros(ctx); err != nil {
				return fmt.Errorf("micro: %w", err)
			}
		}
	}
	return nil
}
