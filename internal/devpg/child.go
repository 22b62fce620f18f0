package devpg

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// marker in the environment makes a copy of this program a supervisor.
const marker = "PINGPOST_DEVPG_KEEPER"

// job is what a supervisor is told on its standard input, which then stays open
// until Postgres is to stop.
type job struct {
	Options
	Search search
	Parent int      // the process that the data folder is used by
	Sweep  bool     // only take down what a lost supervisor left running
	Proxy  []string // the caller's settings for reaching the network, for a download
}

// report is what a supervisor says on its standard output, one JSON object a line:
// at most maxReports, then a failure, if there is one, as its last word.
type report struct {
	Downloading bool   `json:",omitzero"`
	Ready       bool   `json:",omitzero"`
	Password    string `json:",omitzero"`
	Failure     string `json:",omitzero"`
	PortTaken   bool   `json:",omitzero"`
}

const maxReports = 2

// portTaken is the failure that another port mends.
type portTaken struct{ error }

func (r report) failure() error {
	if r.PortTaken {
		return portTaken{errors.New(r.Failure)}
	}
	return errors.New(r.Failure)
}

// RunIfChild does nothing in a program that a person or a system started. In
// the copy that Start makes of it, it keeps Postgres and ends the process. It
// must come first in main, before anything that speaks or reads the environment.
func RunIfChild() {
	if os.Getenv(marker) == "" {
		return
	}
	os.Exit(runSupervisor(os.Stdin, os.Stdout))
}

func runSupervisor(in io.Reader, out io.Writer) (code int) {
	// Caught and dropped: the caller decides when Postgres stops, and says so by
	// closing the input. Ignoring them instead would pass on to Postgres.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	_ = os.Unsetenv(marker)

	say := json.NewEncoder(out)
	fail := func(err error) int {
		var taken portTaken
		_ = say.Encode(report{Failure: err.Error(), PortTaken: errors.As(err, &taken)})
		return 1
	}
	dec := json.NewDecoder(in)
	var j job
	if err := dec.Decode(&j); err != nil {
		return fail(fmt.Errorf("the process that keeps Postgres was not told what to do: %w", err))
	}
	leave := make(chan struct{})
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, in)
		close(leave)
	}()
	if err := j.run(leave, func(r report) { _ = say.Encode(r) }); err != nil {
		return fail(err)
	}
	return 0
}

// run keeps Postgres until leave is closed or Postgres ends.
func (j job) run(leave <-chan struct{}, say func(report)) error {
	l := layout(j.DataDir)
	lock, err := l.lock(j.Parent, j.StartTimeout/2)
	if err != nil {
		return err
	}
	defer lock.Close()
	if j.Temporary {
		defer os.RemoveAll(j.DataDir) //nolint:errcheck // the caller may be gone
	}
	if err := l.stopOrphan(); err != nil || j.Sweep {
		return err
	}
	password, err := j.start(l, leave, say)
	if err != nil {
		return errors.Join(err, l.stopOrphan()) // pg_ctl gives up on a slow start, Postgres does not
	}
	pid := l.postmaster()
	say(report{Ready: true, Password: password})
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	for {
		select {
		case <-leave:
			return terminate(pid, l)
		case <-look.C:
			if !alive(pid) {
				return fmt.Errorf("the private Postgres ended by itself; its log %s says why", l.log())
			}
		}
	}
}

// start brings Postgres up with the library, which must be shown nothing but a
// whole cluster or none: it empties a folder that it does not understand.
func (j job) start(l layout, leave <-chan struct{}, say func(report)) (string, error) {
	major, err := l.inspect()
	if err != nil {
		return "", err
	}
	found, err := j.Search.find(major)
	if err != nil && major != 0 {
		err = fmt.Errorf("the data folder %s cannot be opened: %w", l, err)
	}
	if err != nil {
		return "", err
	}
	if err := portFree(j.Port); err != nil {
		return "", err
	}
	if err := l.clearRun(); err != nil {
		return "", err
	}
	password, err := l.passwordFor(major)
	if err != nil {
		return "", err
	}
	config := j.config(l, password)
	if config, err = found.use(config, l, j, say); err != nil {
		return "", err
	}
	pg := embeddedpostgres.NewDatabase(config)
	started := make(chan error, 1)
	go func() { started <- pg.Start() }()
	select {
	case err = <-started:
	case <-leave:
		if found.download && !exists(filepath.Join(l.library(), "bin")) {
			// Still fetching: nothing runs yet, and it could take for ever.
			return "", errors.New("fetching Postgres was called off")
		}
		err = <-started // bounded by pg_ctl's own patience
	}
	if logErr := l.keepLog(); err == nil {
		err = logErr
	}
	if err != nil {
		return "", l.explain(err, j, found)
	}
	return password, l.complete()
}
