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

// marker is the environment variable that makes a copy of this program run as a supervisor.
const marker = "PINGPOST_DEVPG_KEEPER"

// job tells a supervisor what to do. The supervisor reads the job as JSON from its standard input, and
// stops Postgres when its standard input is closed.
type job struct {
	Options
	Search search
	Parent int      // process id of the caller
	Sweep  bool     // do nothing except stop a Postgres whose supervisor is dead
	Backup bool     // the cluster is a copy of a base backup
	Proxy  []string // the caller's proxy settings, for downloads
}

// report is one line of a supervisor's output, as JSON. A supervisor prints at most maxReports reports
// and, if it fails, one more report with the failure.
type report struct {
	Downloading bool   `json:",omitzero"`
	Ready       bool   `json:",omitzero"`
	Password    string `json:",omitzero"`
	Failure     string `json:",omitzero"`
	PortTaken   bool   `json:",omitzero"`
}

const maxReports = 2

// portTaken is an error that was caused by a port that is already in use. A start with another port may
// succeed.
type portTaken struct{ error }

func (r report) failure() error {
	if r.PortTaken {
		return portTaken{errors.New(r.Failure)}
	}
	return errors.New(r.Failure)
}

// RunIfChild checks whether this process is the copy of the program that Start started. If so, it
// runs the supervisor and then exits. Otherwise it does nothing. Call it first in main, before any
// code that prints or reads the environment.
func RunIfChild() {
	if os.Getenv(marker) == "" {
		return
	}
	os.Exit(runSupervisor(os.Stdin, os.Stdout))
}

func runSupervisor(in io.Reader, out io.Writer) (code int) {
	// Discard signals, because the caller decides when Postgres stops. They must not be ignored,
	// because Postgres would inherit the ignored signals.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	_ = os.Unsetenv(marker)

	reports := json.NewEncoder(out)
	fail := func(err error) int {
		var taken portTaken
		_ = reports.Encode(report{Failure: err.Error(), PortTaken: errors.As(err, &taken)})
		return 1
	}
	dec := json.NewDecoder(in)
	var j job
	if err := dec.Decode(&j); err != nil {
		return fail(fmt.Errorf("reading the supervisor's job: %w", err))
	}
	leave := make(chan struct{})
	go func() { // runs until the process ends
		_, _ = io.Copy(io.Discard, in)
		close(leave)
	}()
	if err := j.run(leave, func(r report) { _ = reports.Encode(r) }); err != nil {
		return fail(err)
	}
	return 0
}

// run runs Postgres until the channel leave is closed or Postgres exits.
func (j job) run(leave <-chan struct{}, say func(report)) error {
	l := layout(j.DataDir)
	lock, err := l.lock(j.Parent, j.StartTimeout/2)
	if err != nil {
		return err
	}
	defer lock.Close()
	if j.Temporary {
		defer os.RemoveAll(j.DataDir) //nolint:errcheck // the caller may have ended
	}
	if err := l.stopOrphan(); err != nil || j.Sweep {
		return err
	}
	password, err := j.start(l, leave, say)
	if err != nil {
		return errors.Join(err, l.stopOrphan()) // Postgres may still be starting after pg_ctl gave up
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
				return fmt.Errorf("the private Postgres stopped unexpectedly; see its log %s", l.log())
			}
		}
	}
}

// start starts Postgres with the embedded-postgres library. It first checks that the cluster is complete
// or does not exist, because the library empties a folder that it does not recognise.
func (j job) start(l layout, leave <-chan struct{}, say func(report)) (string, error) {
	major, err := l.inspect()
	if err != nil {
		return "", err
	}
	found, err := j.Search.find(major)
	if err != nil && major != 0 {
		err = fmt.Errorf("cannot open the data folder %s: %w", l, err)
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
	if j.Backup {
		return j.startBackup(l, found, leave)
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
			// The download is not finished, so Postgres is not running.
			return "", errors.New("downloading Postgres was cancelled")
		}
		err = <-started // waits no longer than pg_ctl's timeout
	}
	if logErr := l.keepLog(); err == nil {
		err = logErr
	}
	if err != nil {
		return "", l.explain(err, j, found)
	}
	return password, l.complete()
}
