package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/pingpost/pingpost/bench/load"
	"github.com/pingpost/pingpost/internal/dev/devpg"
	"github.com/pingpost/pingpost/models"
)

//go:embed post.sql.tmpl
var postScript string

// The program pgbench counts the time for opening its connections towards its time limit, but not
// towards its rate. So each round gets extra seconds for connecting. If a round ends before the first
// transaction completes, it is repeated with twice as many extra seconds, up to maxConnecting.
const (
	connecting    = 1
	maxConnecting = 32
)

// pgbench returns a contender that uses Postgres's own benchmark tool to store the same rows as the
// product. It opens as many connections as the load generator.
func (b *bench) pgbench(ctx context.Context, d *database, rows rowSizes) (*subject, error) {
	return b.pgbenchWith(ctx, d, rows, "pgbench", load.Connections)
}

// bestPgbench returns pgbench as a contender, with the number of connections at which it is fastest.
func (b *bench) bestPgbench(ctx context.Context, d *database, rows rowSizes) (*subject, error) {
	return b.best(ctx, []int{4, 8, 16, 32, 64, 128}, func(clients int) (*subject, error) {
		return b.pgbenchWith(ctx, d, rows, pgbenchAtBest, clients)
	})
}

// best tries the given numbers of connections and returns the fastest contender.
func (b *bench) best(
	ctx context.Context, connections []int, with func(int) (*subject, error),
) (best *subject, err error) {
	var most float64
	var acknowledged int64
	if b.plan.Connections > 0 {
		connections = connections[:b.plan.Connections]
	}
	for _, n := range connections {
		c, err := with(n)
		if err != nil {
			return nil, err
		}
		r, err := b.measureWhenIdle(ctx, c, b.plan.PostRound)
		if err != nil {
			return nil, err
		}
		b.progress("post: %s, with %d connections: %.0f per second", c.name, n, r.rate())
		if acknowledged += c.acknowledged; r.rate() > most {
			most, best = r.rate(), c
		}
	}
	best.acknowledged = acknowledged // the database contains the leads from every attempt
	return best, nil
}

// pgbenchWith returns a contender that runs pgbench, which stores one lead per transaction with
// prepared statements. If pgbench is not installed, the error is exec.ErrNotFound.
func (b *bench) pgbenchWith(
	ctx context.Context, d *database, rows rowSizes, name string, clients int,
) (*subject, error) {
	program, err := d.find(ctx, "pgbench")
	if err != nil {
		return nil, err
	}
	script, err := b.stage.writeScript(rows)
	if err != nil {
		return nil, err
	}
	target := fmt.Sprintf("host=127.0.0.1 port=%d dbname=%s user=%s sslmode=disable", b.stage.server.Port(), d.name,
		devpg.AppRole)
	return &subject{name: name, run: func(ctx context.Context, length time.Duration) (round, error) {
		for connect := connecting; ; connect *= 2 {
			cmd := exec.CommandContext(ctx, program, "-n", "-M", "prepared", "-c", strconv.Itoa(clients), "-j", "2",
				"-T", strconv.Itoa(seconds(length)+connect), "-f", script, target)
			cmd.Env = append(os.Environ(), "PGPASSWORD="+passwords.App)
			r, err := runPgbench(cmd)
			if !errors.Is(err, errStoodStill) || connect == maxConnecting {
				return r, err
			}
		}
	}}, nil
}

// find looks for a Postgres program in the running server's program folder, and then on PATH.
func (d *database) find(ctx context.Context, name string) (string, error) {
	var folder string
	if err := d.root.QueryRow(ctx, `SELECT setting FROM pg_config WHERE name = 'BINDIR'`).Scan(&folder); err != nil {
		return "", err
	}
	if program, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
		return program, nil
	}
	program, err := exec.LookPath(name)
	if err != nil {
		return "", exec.ErrNotFound
	}
	return program, nil
}

func (s *stage) writeScript(rows rowSizes) (string, error) {
	parsed, err := template.New("post.sql").Funcs(template.FuncMap{
		"text": text,
		"hex":  func(n int) string { return fmt.Sprintf("%x", noise(n)) },
	}).Parse(postScript)
	if err != nil {
		return "", err
	}
	var script bytes.Buffer
	if err := parsed.Execute(&script, struct {
		rowSizes
		Partner, Account string
	}{rows, models.PlatformIDs.Partner.String(), models.PlatformIDs.Account.String()}); err != nil {
		return "", err
	}
	path := filepath.Join(s.folder, "post.sql")
	return path, os.WriteFile(path, script.Bytes(), 0o600)
}

var (
	processed = regexp.MustCompile(`number of transactions actually processed: (\d+)`)
	perSecond = regexp.MustCompile(`tps = ([0-9.]+) \(without initial connection time\)`)
)

const stoodStill = "number of transactions actually processed: 0\n"

// errStoodStill is returned if a run ends before the first transaction completes.
var errStoodStill = errors.New("pgbench completed no transactions, probably because the machine is busy")

// runPgbench runs pgbench and parses its output. The rate does not include the time for connecting.
func runPgbench(cmd *exec.Cmd) (round, error) {
	var said, failed strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &failed
	if err := cmd.Run(); err != nil {
		return round{}, fmt.Errorf("pgbench: %w: %s", err, strings.TrimSpace(failed.String()))
	}
	if strings.Contains(said.String(), stoodStill) {
		return round{}, errStoodStill
	}
	count, rate := processed.FindStringSubmatch(said.String()), perSecond.FindStringSubmatch(said.String())
	if count == nil || rate == nil {
		return round{}, fmt.Errorf("the output of pgbench does not contain its rate in the expected format: %s",
			strings.TrimSpace(said.String()+failed.String()))
	}
	n, err := strconv.ParseInt(count[1], 10, 64)
	if err != nil {
		return round{}, err
	}
	tps, err := strconv.ParseFloat(rate[1], 64)
	if err != nil || tps <= 0 || n == 0 {
		return round{}, fmt.Errorf("pgbench reports %d transactions at a rate of %s", n, rate[1])
	}
	return round{
		Count: n, Elapsed: time.Duration(float64(n) / tps * float64(time.Second)),
		CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
	}, nil
}
