// Command bench measures the product and its baselines in the same run, and prints the figures as Markdown. After
// a complete run, it also writes docs/benchmarks.md. It exits with 1 if a target is missed.
//
//	go run ./bench                      all scenarios, in less than 30 minutes
//	go run ./bench -quick               short rounds and little data, for trying out changes
//	go run ./bench -only ping,post      some scenarios
//	go run ./bench fill -database NAME  add synthetic rows to a test database
package main

import (
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

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devpg"
)

const documentPath = "docs/benchmarks.md"

func main() {
	devpg.RunIfChild()
	runIfChild()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if args := os.Args[1:]; len(args) > 0 && args[0] == "fill" {
		err = fillCommand(ctx, args[1:], os.Environ(), os.Stderr)
	} else {
		err = run(ctx, args, os.Stdout, os.Stderr)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run runs the scenarios that the arguments select. It returns an error if a target was missed.
func run(ctx context.Context, args []string, output, progress io.Writer) error {
	l := &lab{size: size{rounds: 100, length: time.Hour, divisor: 1, postsPerSecond: 10_000}, progress: progress}
	only, document, err := l.parse(args)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(document)); err != nil {
		return fmt.Errorf("run bench in the repository's root, or set -o: %w", err)
	}
	r, err := l.run(ctx, only)
	if err != nil {
		return err
	}
	fmt.Fprint(output, r.document())
	if document != "" {
		if err := os.WriteFile(document, []byte(r.document()), 0o644); err != nil {
			return err
		}
	}
	if missed := r.missed(); len(missed) > 0 {
		return fmt.Errorf("missed targets:\n  %s", strings.Join(missed, "\n  "))
	}
	return nil
}

// parse parses the arguments. The result only contains the selected scenarios, and document the path of the file to
// write, or "".
func (l *lab) parse(args []string) (only []string, document string, err error) {
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(l.progress)
	quick := flags.Bool("quick", false, "two short rounds and a twentieth of the data, for trying out changes")
	list := flags.String("only", strings.Join(names, ","), "`SCENARIOS` to run, separated by commas")
	flags.StringVar(&document, "o", "", "`FILE` for the document (default "+documentPath+" after a complete run)")
	flags.DurationVar(&l.patience, "patience", 3*time.Minute, "time for repeating turns that other programs disturbed")
	if err := flags.Parse(args); err != nil {
		return nil, "", err
	}
	only = strings.Split(*list, ",")
	for _, name := range only {
		if !slices.Contains(names, name) {
			return nil, "", fmt.Errorf("unknown scenario %q: use some of %s", name, strings.Join(names, ", "))
		}
	}
	if flags.NArg() > 0 {
		return nil, "", fmt.Errorf("unexpected argument %q: see -help", flags.Arg(0))
	}
	if *quick {
		l.size = size{rounds: 2, length: time.Second, divisor: 20, postsPerSecond: 10_000}
	} else if document == "" && len(only) == len(names) {
		document = documentPath
	}
	return only, document, nil
}

// run opens the lab, runs the scenarios with the given names, and closes the lab.
func (l *lab) run(ctx context.Context, only []string) (r report, err error) {
	defer func() { err = errors.Join(err, l.cleanUp(0)) }()
	if err := l.open(ctx); err != nil {
		return r, err
	}
	if r.machine, err = l.describeMachine(ctx); err != nil {
		return r, err
	}
	start := now()
	for _, s := range scenarios() {
		if !slices.Contains(only, s.name) {
			continue
		}
		if err := l.measure(ctx, s); err != nil {
			return r, fmt.Errorf("%s: %w", s.name, err)
		}
		r.scenarios = append(r.scenarios, s)
	}
	r.took = now().Sub(start)
	return r, nil
}

// scenarios returns the scenarios in the order in which they run.
func scenarios() []*scenario {
	return []*scenario{
		pingScenario(), postScenario(), rewrapScenario(), partitionScenario(), overloadScenario(), slowOverloadScenario(),
		growthScenario(), retentionScenario(), capScenario(),
		pricingScenario(), functionScenario(),
	}
}

func now() time.Time { return clock.System{}.Now() }
