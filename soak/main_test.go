// Package soak kills and disturbs parts of a running platform while clients deliver leads and record
// every response. It then checks that each acknowledged lead is stored exactly once.
//
// `go test ./soak` takes minutes. `make soak` runs more faults and takes more than an hour.
package soak

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devpg"
)

var (
	nodeKills     = flag.Int("node-kills", 4, "how many times a node is killed")
	postgresKills = flag.Int("postgres-kills", 3, "how many times Postgres is killed")
	disturbances  = flag.Int("disturbances", 1, "how many times the network to Postgres is disturbed in each of five ways")
	primaryLosses = flag.Int("primary-losses", 1, "how many times Patroni loses the primary")
	maxOutage     = flag.Duration("max-outage", 30*time.Second, "how long posts may fail after the primary is lost")
	hold          = flag.Duration("hold", 15*time.Second, "how long requests are sent while memory is measured")
	seed          = flag.Uint64("seed", 0, "seed for random choices; 0 for a new one")
)

// binary is the path of the service's executable, which is built once for all tests.
var binary string

func TestMain(m *testing.M) {
	devpg.RunIfChild()
	flag.Parse()
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "pingpost-soak-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary = filepath.Join(dir, "pingpost")
	if out, err := exec.Command("go", "build", "-o", binary, "../cmd/pingpost").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building pingpost: %w\n%s", err, out)
	}
	return m.Run(), nil
}
