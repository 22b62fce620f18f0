// Package soak kills parts of a running platform while clients deliver leads and
// write down every answer, and then judges what they wrote down: nothing that was
// acknowledged is missing, nothing is there twice.
//
// `go test ./soak` is the short form; `make soak` the long one.
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

	"github.com/pingpost/pingpost/internal/devpg"
)

// How often what goes wrong.
var (
	nodeKills     = flag.Int("node-kills", 4, "how often a node is killed")
	postgresKills = flag.Int("postgres-kills", 3, "how often Postgres is killed")
	disturbances  = flag.Int("disturbances", 1, "how often the way to Postgres is disturbed, in each of five ways")
	hold          = flag.Duration("hold", 15*time.Second, "how long a node serves before its memory is judged")
	seed          = flag.Uint64("seed", 0, "of the random choices; 0 for a new one")
)

// binary is the service as it is shipped, built once for the tests.
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
