// Package devpg runs a private Postgres for `pingpost dev` and for tests.
//
// Postgres refuses to run as root and detaches itself from whoever starts it,
// so this program starts a second copy of itself, the supervisor, which runs as an
// unprivileged user when the program is root. The supervisor starts Postgres on the
// data folder, holds the folder's lock, and stops Postgres as soon as its
// standard input closes. The kernel closes it when the program dies, however it
// dies, so no Postgres is ever left behind.
//
// A program that calls Start calls RunIfChild first thing in main (in TestMain,
// for a test binary). Linux, macOS and other Unix systems only.
package devpg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// superuser is the cluster's first role, which owns it.
const superuser = "postgres"

// portAttempts is how many free ports are tried: between choosing one and
// Postgres taking it, another program may.
const portAttempts = 5

// Options say which Postgres to run.
type Options struct {
	// DataDir is the folder of the cluster, its password and its log
	// (postgres.log; the run before is in postgres.log.old). It is made when it
	// is missing, and its data are found again on the next start.
	DataDir string
	// Port on 127.0.0.1; 0 picks a free one.
	Port int
	// Prefer is the port to pick where Port is 0 and this one is free; 0 for any.
	Prefer int
	// Durable keeps what was committed through a crash of the machine. Without
	// it Postgres is several times as quick, for tests.
	Durable bool
	// Temporary removes DataDir (or all that is in it, where the folder above is
	// closed) when Postgres has stopped, even when the caller was killed and cannot.
	Temporary bool
	// ExtraSettings are Postgres settings that win over this package's own.
	ExtraSettings map[string]string
	// StartTimeout bounds the start, a download of Postgres apart; 0 means a minute.
	StartTimeout time.Duration
}

// Server is a running Postgres. The caller stops it.
type Server struct {
	supervisor *supervisor
	port       int
	password   string
}

// Start starts Postgres and returns when it answers. ctx bounds the start only.
// Its errors are for the person at the terminal: what is wrong, and the mend.
func Start(ctx context.Context, o Options) (*Server, error) {
	return start(ctx, o, systemSearch())
}

func start(ctx context.Context, o Options, where search) (*Server, error) {
	if os.Getenv(marker) != "" {
		// A copy of a program that does not call RunIfChild would come here again
		// and start a copy of itself, without end.
		return nil, errors.New("this program starts Postgres without calling devpg.RunIfChild first in main (in a test: in TestMain)")
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
		j := job{Options: o, Search: where, Proxy: proxySettings(), Parent: os.Getpid()}
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

// Port is where Postgres listens on 127.0.0.1.
func (s *Server) Port() int { return s.port }

// URL is how a role reaches one of the databases.
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

// SuperuserURL reaches one of the databases as the role that may do everything.
func (s *Server) SuperuserURL(database string) string {
	return s.URL(superuser, s.password, database)
}

// Stop stops Postgres and waits until it has ended. Calling it again, or after
// Postgres has ended by itself, is harmless.
func (s *Server) Stop() error { return s.supervisor.stop() }

// Done is closed when Postgres, or the process that keeps it, ends without
// Stop having been called. Err then says why.
func (s *Server) Done() <-chan struct{} { return s.supervisor.lost }

// Err is why Done was closed; nil before that.
func (s *Server) Err() error { return s.supervisor.lostErr() }

// unsafeInShell are the characters that pg_ctl, which starts Postgres through a
// shell and quotes with double quotes, cannot pass on.
const unsafeInShell = "\"$`\\\r\n"

var settingName = regexp.MustCompile(`^[a-z_][a-z0-9_.]*$`)

func (o Options) validate() error {
	if o.DataDir == "" {
		return errors.New("no data folder was given: pass --data-dir")
	}
	if strings.ContainsAny(o.DataDir, unsafeInShell) {
		return fmt.Errorf("the data folder %q has a quote, a dollar sign, a backslash or a line break in its name, which Postgres's own start program does not bear: give another --data-dir",
			o.DataDir)
	}
	if o.Port < 0 || o.Port > 65535 {
		return fmt.Errorf("port %d is not between 1 and 65535 (0 picks a free one)", o.Port)
	}
	for name, value := range o.ExtraSettings {
		if !settingName.MatchString(name) || strings.ContainsAny(value, unsafeInShell) {
			return fmt.Errorf("the Postgres setting %q has a name that is none, or a value with a quote, a dollar sign, a backslash or a line break",
				name)
		}
	}
	return nil
}

// pick is the port for an attempt to start. The preferred one gets the first
// only: it may look free and be refused to Postgres all the same.
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
