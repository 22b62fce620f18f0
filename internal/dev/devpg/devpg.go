// Package devpg runs a private Postgres for `pingpost dev` and for tests.
//
// Postgres detaches from the process that starts it. So the program starts a copy of itself as a
// supervisor. The supervisor locks the data folder, starts Postgres, and stops Postgres when the
// supervisor's standard input is closed. The kernel closes this input whenever the program ends, for any
// reason, so Postgres does not outlive the program.
//
// Postgres refuses to run as root. If the program runs as root, the supervisor and Postgres
// run as an unprivileged user.
//
// A program that calls Start must call RunIfChild first in main (in a test binary, in
// TestMain). The package works on Linux, macOS and other Unix systems. On Windows, Start returns an error.
package devpg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// superuser is the database role that owns the cluster.
const superuser = "postgres"

// portAttempts is the number of free ports to try. Another program may take a free port before
// Postgres does.
const portAttempts = 5

// Options configures Start.
type Options struct {
	// DataDir is the folder for the cluster, its password and its log (postgres.log, and
	// postgres.log.old from the previous run). It is created if it is missing, and the next start
	// reuses its data.
	DataDir string
	// Port is the port on 127.0.0.1. If it is 0, a free port is chosen.
	Port int
	// Prefer is the port to try first if Port is 0. If Prefer is also 0, any free port is chosen.
	Prefer int
	// Durable makes commits survive a crash of the machine. Without it, Postgres is several times
	// faster, which is useful for tests.
	Durable bool
	// Temporary removes DataDir when Postgres has stopped, even if the caller was killed.
	// If the parent folder is not writable, only the contents are removed.
	Temporary bool
	// ExtraSettings are Postgres settings that override this package's settings.
	ExtraSettings map[string]string
	// StartTimeout limits how long a start may take, not including a download of Postgres. 0 means one
	// minute.
	StartTimeout time.Duration
}

// Server is a running Postgres. The caller must stop it.
type Server struct {
	supervisor *supervisor
	port       int
	password   string
}

// Start starts Postgres and returns when it accepts connections. Postgres keeps running when ctx ends.
// The errors of Start tell the user at the terminal what to do.
func Start(ctx context.Context, o Options) (*Server, error) {
	return start(ctx, o, job{Search: systemSearch()})
}

func start(ctx context.Context, o Options, j job) (*Server, error) {
	if os.Getenv(marker) != "" {
		// This process is a copy of a program that does not call RunIfChild. Without this error, it
		// would start another copy, and so on without end.
		return nil, errors.New("this program starts Postgres without calling devpg.RunIfChild first in main (in a test: in TestMain)")
	}
	if runtime.GOOS == "windows" {
		return nil, errors.New("the private Postgres of `pingpost dev` runs only on Linux and macOS: use the Windows " +
			"Subsystem for Linux, or your own Postgres with `pingpost serve`")
	}
	if o.StartTimeout <= 0 {
		o.StartTimeout = time.Minute
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	runAs, err := unprivileged()
	if err != nil {
		return nil, err
	}
	if o.DataDir, err = prepare(o.DataDir, runAs); err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		j.Options, j.Proxy, j.Parent = o, proxySettings(), os.Getpid()
		if j.Port, err = o.pick(attempt); err != nil {
			return nil, err
		}
		k, password, err := startSupervisor(ctx, j, runAs)
		if err == nil {
			return &Server{supervisor: k, port: j.Port, password: password}, nil
		}
		var taken portTaken
		if o.Port != 0 || attempt == portAttempts || !errors.As(err, &taken) {
			return nil, err
		}
	}
}

// Port returns Postgres's port on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// URL returns the URL that a role uses to connect to a database.
func (s *Server) URL(user, password, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(user, password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// SuperuserURL returns the URL that the superuser uses to connect to a database.
func (s *Server) SuperuserURL(database string) string {
	return s.URL(superuser, s.password, database)
}

// Stop stops Postgres and waits until it has exited. It can be called more than once, even after
// Postgres has exited unexpectedly.
func (s *Server) Stop() error { return s.supervisor.stop() }

// Done returns a channel that is closed if Postgres or its supervisor exits before Stop is called. After
// that, Err returns the reason.
func (s *Server) Done() <-chan struct{} { return s.supervisor.lost }

// Err returns the reason why Postgres or its supervisor exited before Stop was called. It returns nil if
// neither has exited.
func (s *Server) Err() error { return s.supervisor.lostErr() }

// unsafeInShell contains the characters that pg_ctl cannot pass to Postgres, because it starts
// Postgres through a shell and puts arguments in double quotes.
const unsafeInShell = "\"$`\\\r\n"

var settingName = regexp.MustCompile(`^[a-z_][a-z0-9_.]*$`)

func (o Options) validate() error {
	if o.DataDir == "" {
		return errors.New("no data folder: set --data-dir")
	}
	if strings.ContainsAny(o.DataDir, unsafeInShell) {
		return fmt.Errorf("the name of the data folder %q has a quote, a dollar sign, a backslash or a line break, which pg_ctl does not support: choose another --data-dir",
			o.DataDir)
	}
	if o.Port < 0 || o.Port > 65535 {
		return fmt.Errorf("port %d is not between 1 and 65535 (0 picks a free one)", o.Port)
	}
	for name, value := range o.ExtraSettings {
		if !settingName.MatchString(name) || strings.ContainsAny(value, unsafeInShell) {
			return fmt.Errorf("the Postgres setting %q has an invalid name, or a value with a quote, a dollar sign, a backslash or a line break",
				name)
		}
	}
	return nil
}

// pick returns the port for an attempt to start. It returns the preferred port only for the first
// attempt, because Postgres may fail to use that port even if it looks free.
func (o Options) pick(attempt int) (int, error) {
	switch {
	case o.Port != 0:
		return o.Port, nil
	case attempt == 1 && o.Prefer > 0 && o.Prefer <= 65535 && portFree(o.Prefer) == nil:
		return o.Prefer, nil
	}
	return freePort()
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("no free port on 127.0.0.1 for Postgres: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
