// Package devvault runs a Vault server for development and tests. The server is unsealed and stores its
// data in memory. On Linux, it ends when the process that started it ends.
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
	// starts is the number of attempts to start Vault. An attempt fails if another process takes the
	// port first.
	starts = 3
)

// Server is a running Vault server.
type Server struct {
	Address   string // http://127.0.0.1:…
	RootToken string
	UnsealKey string // base64; this key alone unseals the server

	cmd   *exec.Cmd
	ended chan struct{}
	err   error // the error with which the process ended; set before the channel ended is closed
}

// Start runs the Vault program, as returned by Find, on a free port of the loopback interface. It writes
// Vault's log to log.
func Start(ctx context.Context, program string, log io.Writer) (s *Server, err error) {
	for range starts {
		if s, err = start(ctx, program, log); err == nil || ctx.Err() != nil {
			return s, err
		}
	}
	return nil, fmt.Errorf("starting the Vault program %s: %w", program, err)
}

func start(ctx context.Context, program string, log io.Writer) (*Server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	// Do not pass on the environment, because it may contain secrets and the address of
	// another Vault.
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
	listening := make(chan error, 1)
	go func() { listening <- s.listen(out) }()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case err = <-listening:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// launch starts the process from a thread that lives as long as the process. Otherwise the kernel would
// kill the process when the thread ends.
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

// listen waits for the keys that the server prints when it is ready, and discards all later output.
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
			go io.Copy(io.Discard, out) //nolint:errcheck // runs until the process ends
			return nil
		}
	}
	return errors.New("the process ended before it printed its keys")
}

// Process returns the server's process id.
func (s *Server) Process() int { return s.cmd.Process.Pid }

// Ended returns a channel that is closed when the process has ended, for any reason.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Stop stops the server and waits until it has exited. The data is lost.
func (s *Server) Stop() error {
	s.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // fails only if it has ended
	select {
	case <-s.ended:
	case <-time.After(stopTimeout):
		s.cmd.Process.Kill() //nolint:errcheck // fails only if it has ended
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
