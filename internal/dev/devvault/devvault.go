// Package devvault runs a Vault server for development and tests. The server is unsealed and stores its
// data in memory. On Linux, it ends when the process that started it ends.
package devvault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devprogram"
)

const (
	startTimeout = 30 * time.Second
	// starts is the number of attempts to start Vault. An attempt fails if another process takes the
	// port first.
	starts = 3
)

// Server is a running Vault server. If it is stopped, its data is lost.
type Server struct {
	*devprogram.Process
	Address   string // http://127.0.0.1:…
	RootToken string
	UnsealKey string // base64; this key alone unseals the server
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
	address, err := devprogram.FreeAddress()
	if err != nil {
		return nil, err
	}
	// Do not pass on the environment, because it may contain secrets and the address of
	// another Vault.
	cmd := exec.Command(program, "server", "-dev", "-dev-listen-address="+address)
	cmd.Env = []string{"HOME=/nonexistent", "VAULT_DISABLE_MLOCK=true", "SKIP_SETCAP=true"}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s := &Server{Address: "http://" + address}
	if s.Process, err = devprogram.Run(cmd); err != nil {
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
