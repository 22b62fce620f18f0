package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// functions are the benchmarks of functions, which are next to the code that they measure. If bare is true,
// the benchmark with the prefix Bare measures only the cryptography and encoding that the function needs.
var functions = []struct {
	name, pkg, benchmark string
	nanos                float64 // target
	bare                 bool
}{
	{"price a cell, without allocations", "pricing_rules", "Price", 30, false},
	{"seal a quote", "internal/protocol/quote", "Seal", 600, true},
	{"open a quote", "internal/protocol/quote", "Open", 600, true},
	{"verify a post of 2 KiB", "internal/protocol/signing", "Verify2KiB", 2000, true},
	{"envelope with the local key", "internal/platform/keys/envelope", "SealLocal", 1500, true},
	{"reject a post of 2 KiB that none of 100 partners signed", "internal/intake", "RejectUnknownSecret", 500_000, true},
	{"find the account that a post names among 10,000", "internal/partners", "FindAccount", 2000, false},
}

// compileCard is the name of another benchmark in pricing_rules.
const compileCard = "Compile50000"

func functionScenario() *scenario {
	s := &scenario{
		name: "functions", title: "Functions", rounds: 7, length: 100 * time.Millisecond, prepare: prepareFunctions,
		text: `These figures are from Go benchmarks next to the code that they measure, with the same setting of Go's
			garbage collector as in the service. A bare operation is the cryptography and encoding that no implementation can
			leave out, with Go's standard library and ¬golang.org/x/crypto¬. For quotes, it is XChaCha20-Poly1305 and base64
			of the token. For posts, it is SHA-256 over the body and then over the digest, once for each partner. For the
			envelope, it is random bytes, 8 compressions of SHA-256 and two encryptions with AES-256-GCM. On a processor
			without SHA-256 instructions, no implementation can reach the targets of the functions that compute hashes.`,
	}
	for _, f := range functions {
		s.figures = append(s.figures, absolute(f.name, f.benchmark, turn.extraValue, "ns").atMost(f.nanos))
		if f.bare {
			s.figures = append(s.figures, ratio(f.name+" / bare", f.benchmark, "Bare"+f.benchmark, turn.extraValue))
		}
	}
	millis := func(t turn) float64 { return t.extra / 1e6 }
	card := absolute("compile a rate card with 50,000 rules", compileCard, millis, "ms").atMost(200)
	s.figures = append(s.figures, card)
	return s
}

func prepareFunctions(ctx context.Context, l *lab) ([]contender, error) {
	programs := map[string]string{} // by package
	var all []contender
	for _, f := range functions {
		if programs[f.pkg] == "" {
			programs[f.pkg] = filepath.Join(l.folder, strings.ReplaceAll(f.pkg, "/", "_")+".test")
			path := "github.com/pingpost/pingpost/" + f.pkg
			build := exec.CommandContext(ctx, "go", "test", "-c", "-o", programs[f.pkg], path)
			if out, err := build.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("building the tests of %s: %w: %s", f.pkg, err, out)
			}
		}
		all = append(all, goBenchmark(programs[f.pkg], f.benchmark))
		if f.bare {
			all = append(all, goBenchmark(programs[f.pkg], "Bare"+f.benchmark))
		}
	}
	return append(all, goBenchmark(programs["pricing_rules"], compileCard)), nil
}

var benchmarkResult = regexp.MustCompile(`\nBenchmark\S+\s+\d+\s+([0-9.]+) ns/op`)

// goBenchmark returns a contender that runs one benchmark of a test program. A turn's quantity extra is the time that
// one call takes, in nanoseconds.
func goBenchmark(program, name string) contender {
	return contender{name: name, run: func(ctx context.Context, length time.Duration) (t turn, err error) {
		cmd := exec.CommandContext(ctx, program, "-test.run=^$", "-test.bench=^Benchmark"+name+"$",
			"-test.benchtime="+length.String())
		cmd.Env = append(cmd.Environ(), "GOGC=400") // as in the service
		out, err := cmd.CombinedOutput()
		result := benchmarkResult.FindSubmatch(out)
		if err != nil || result == nil {
			return t, fmt.Errorf("the benchmark failed (%w): %s", err, out)
		}
		t.extra, err = strconv.ParseFloat(string(result[1]), 64)
		return t, err
	}}
}
