package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// area is a part of the product's work, such as logging, identified by the names of its functions. A
// sample of the profile counts towards the area of the innermost function that belongs to any area.
type area struct {
	name  string
	marks []string // prefixes of the functions' names
}

// areas lists the areas. A function that matches several areas belongs to the first of them.
var areas = []area{
	{"system calls (sockets and files)", []string{"internal/runtime/syscall.", "syscall.", "internal/poll."}},
	{"garbage collection",
		[]string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.gcAssistAlloc", "runtime.gcStart"}},
	{"scheduling goroutines", []string{"runtime.schedule", "runtime.findRunnable", "runtime.mcall",
		"runtime.park_m", "runtime.ready", "runtime.sysmon", "runtime.mstart"}},
	{"checking signatures", []string{"github.com/pingpost/pingpost/internal/protocol/signing."}},
	{"sealing and opening quotes", []string{"github.com/pingpost/pingpost/internal/protocol/quote."}},
	{"encrypting contact records", []string{
		"github.com/pingpost/pingpost/internal/platform/keys/envelope.",
		"github.com/pingpost/pingpost/internal/platform/keys/keyring.",
	}},
	{"parsing requests", []string{
		"github.com/pingpost/pingpost/internal/protocol/payload.", "github.com/go-json-experiment/", "github.com/nyaruka/",
	}},
	{"Postgres client", []string{"github.com/jackc/pgx", "github.com/pingpost/pingpost/internal/leads."}},
	{"ping recorder and counters", []string{"github.com/pingpost/pingpost/internal/intake.(*Recorder)",
		"github.com/pingpost/pingpost/internal/intake.(*Traffic)", "github.com/prometheus/"}},
	{"logging", []string{
		"log/slog.",
		"github.com/pingpost/pingpost/internal/platform/httpserver.(*AccessLog",
		"github.com/pingpost/pingpost/internal/app.(*lineBuffer",
	}},
	{"serving HTTP", []string{"net/http.", "net/textproto.", "bufio.", "github.com/gin-gonic/gin.",
		"github.com/pingpost/pingpost/api.", "github.com/pingpost/pingpost/internal/platform/httpserver."}},
	{"intake, partners and prices",
		[]string{"github.com/pingpost/pingpost/internal/", "github.com/pingpost/pingpost/pricing_rules."}},
}

const otherArea = "other"

// share states which fraction of the product's processor time an area used, from 0 to 1.
type share struct {
	Area string
	Of   float64
}

// profile takes a processor profile and an allocation profile of the product during an extra turn. If
// -profile is set, it saves both profiles.
func (b *bench) profile(ctx context.Context, address, part string, c *subject) error {
	length := 2 * b.plan.PostRound
	kinds := []string{"profile", "allocs"}
	contents := make([][]byte, len(kinds))
	ended := make(chan error, len(kinds))
	for i, kind := range kinds {
		go func() {
			var err error
			contents[i], err = download(ctx, fmt.Sprintf("http://%s/debug/pprof/%s?seconds=%d", address, kind, seconds(length)))
			ended <- err
		}()
	}
	_, err := c.turn(ctx, max(length, time.Second))
	for range kinds {
		err = errors.Join(err, <-ended)
	}
	if err != nil {
		return err
	}
	parsed, err := profile.ParseData(contents[0])
	if err != nil {
		return fmt.Errorf("the product's profile cannot be read: %w", err)
	}
	b.report.costs = append(b.report.costs, cost{part, sharesOf(parsed)})
	if b.profiles == "" {
		return nil
	}
	for i, kind := range []string{"cpu", "allocs"} {
		err = errors.Join(err, os.WriteFile(filepath.Join(b.profiles, part+"."+kind+".pprof"), contents[i], 0o600))
	}
	return err
}

// sharesOf returns the share of each area in a profile, largest first.
func sharesOf(p *profile.Profile) []share {
	var total int64
	sums := map[string]int64{}
	for _, s := range p.Sample {
		spent := s.Value[len(s.Value)-1] // in nanoseconds; the value before it is the number of samples
		total += spent
		sums[areaOf(s)] += spent
	}
	var shares []share
	for name, spent := range sums {
		shares = append(shares, share{name, float64(spent) / float64(max(total, 1))})
	}
	slices.SortFunc(shares, func(a, b share) int { return cmp.Or(cmp.Compare(b.Of, a.Of), cmp.Compare(a.Area, b.Area)) })
	return shares
}

func areaOf(s *profile.Sample) string {
	for _, location := range s.Location { // innermost first
		for _, line := range location.Line {
			if line.Function == nil {
				continue
			}
			for _, a := range areas {
				if slices.ContainsFunc(a.marks, func(mark string) bool { return strings.HasPrefix(line.Function.Name, mark) }) {
					return a.name
				}
			}
		}
	}
	return otherArea
}

func download(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the product returned no profile: %s: %s", answer.Status, bytes.TrimSpace(content))
	}
	return content, err
}
