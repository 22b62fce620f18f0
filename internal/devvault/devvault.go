// Package devvault runs a real Vault server for development and tests: in
// memory, unsealed, and gone with the process that started it.
package devvault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
	// starts are tried at most: another process may take the port in between.
	starts = 3
)

// Server is a Vault that runs.
type Server struct {
	Address   string // http://127.0.0.1:…
	RootToken string
	UnsealKey string // base64; one key is enough

	cmd   *exec.Cmd
	ended chan struct{}
	err   error // of the process, once ended is closed
}

// Start runs the program that Find found, on a free port of the loopback
// interface. Its log goes to log.
func Start(ctx context.Context, program string, log io.Writer) (s *Server, err error) {
	for range starts {
		if s, err = start(ctx, program, log); err == nil || ctx.Err() != nil {
			return s, err
		}
	}
	return nil, fmt.Errorf("the Vault program %s does not start: %w", program, err)
}

func start(ctx context.Context, program string, log io.Writer) (*Server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	// The environment holds nothing of the caller's, which may hold secrets and
	// another Vault's address.
	cmd := exec.Command(program, "server", "-dev", "-dev-listen-address="+address)
	cmd.Env = []string{"HOME=/nonexistent", "VAULT_DISABLE_MLOCK=true", "SKIP_SETCAP=true"}
	cmd.Stderr = log
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = ownProcess()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s := &Server{Address: "http://" + address, cmd: cmd, ended: make(chan struct{})}
	if err := s.launch(); err != nil {
		return nil, err
	}
	said := make(chan error, 1)
	go func() { said <- s.listen(out) }()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case err = <-said:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// launch starts the process from a thread that lives as long as it does: the
// system ends a child with the thread that started it (ownProcess).
func (s *Server) launch() error {
	launched := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := s.cmd.Start()
		launched <- err
		if err == nil {
			s.err = s.cmd.Wait()
			close(s.ended)
		}
	}()
	return <-launched
}

// listen reads the keys that a development server prints once it answers, and
// then lets it talk on.
func (s *Server) listen(out io.Reader) error {
	in := bufio.NewScanner(out)
	for in.Scan() {
		name, value, _ := strings.Cut(in.Text(), ": ")
		switch strings.TrimSpace(name) {
		case "Unseal Key":
			s.UnsealKey = strings.TrimSpace(value)
		case "Root Token":
			s.RootToken = strings.TrimSpace(value)
		}
		if s.UnsealKey != "" && s.RootToken != "" {
			go io.Copy(io.Discard, out) //nolint:errcheck // until the process ends
			return nil
		}
	}
	return errors.New("it ended before it printed its keys")
}

// Process is the server's process id.
func (s *Server) Process() int { return s.cmd.Process.Pid }

// Ended is closed when the process has ended, by Stop or by itself.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Stop ends the server and waits for it. Everything in it is gone.
func (s *Server) Stop() error {
	s.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // fails only for one that has ended
	select {
	case <-s.ended:
	case <-time.After(stopTimeout):
		s.cmd.Process.Kill() //nolint:errcheck // fails only for one that has ended
		<-s.ended
	}
	var exit *exec.ExitError
	if s.err != nil && !errors.As(s.err, &exit) {
		return s.err
	}
	return nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
