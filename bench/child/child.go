// Package child runs copies of this program in other roles. Each server, load generator and baseline has
// its own process, so that its processor time and memory can be measured separately.
//
// The parent and a child exchange JSON values over the child's standard input and output. A child exits
// when its input is closed. The kernel closes it even if the parent crashes, so no child keeps running.
package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// roleVariable is the environment variable that tells a copy of this program which role to run.
const roleVariable = "PINGPOST_BENCH_ROLE"

// stopTimeout is how long a child may take to stop before it is killed. It is longer than any role
// needs.
const stopTimeout = 45 * time.Second

// Role is the function that a child process runs. Its context is cancelled when the parent closes the
// link.
type Role func(ctx context.Context, l *Link) error

// RunIfChild does nothing in the parent. In a child, it runs the child's role and then exits the
// process. Call it at the start of main.
func RunIfChild(roles map[string]Role) {
	name, ok := os.LookupEnv(roleVariable)
	if !ok {
		return
	}
	// Ctrl-C sends the signal to every process in the terminal. Children ignore it, because the parent
	// stops them.
	signal.Ignore(os.Interrupt, syscall.SIGHUP)
	if err := play(roles, name, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func play(roles map[string]Role, name string, in io.Reader, out io.Writer) error {
	_ = os.Unsetenv(roleVariable) // otherwise this child's children would inherit the role
	role, ok := roles[name]
	if !ok {
		return errors.New("unknown role")
	}
	ctx, gone := context.WithCancel(context.Background())
	defer gone()
	l := &Link{said: make(chan json.RawMessage, 1), out: json.NewEncoder(out)}
	go func() { // runs until the process exits
		defer close(l.said)
		defer gone()
		for dec := json.NewDecoder(in); ; {
			var value json.RawMessage
			if dec.Decode(&value) != nil {
				return
			}
			l.said <- value
		}
	}()
	return role(ctx, l)
}

// Link is a child process's end of the connection to its parent.
type Link struct {
	said chan json.RawMessage
	out  *json.Encoder
}

// Next waits for the parent's next value and decodes it. It returns io.EOF when the parent closes the
// link.
func (l *Link) Next(into any) error {
	value, ok := <-l.said
	if !ok {
		return io.EOF
	}
	return json.Unmarshal(value, into)
}

// Say sends a value to the parent.
func (l *Link) Say(value any) error { return l.out.Encode(value) }

// Process is the parent's end of the connection to a child process.
type Process struct {
	role string
	cmd  *exec.Cmd
	in   io.WriteCloser
	say  *json.Encoder
	said *json.Decoder
}

// Start starts a child with the given role and sends the job to it. The child runs until Stop is called
// or ctx is done.
func Start(ctx context.Context, role string, job any) (*Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program)
	// By default, the race detector delays a program's exit by a second.
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Cancel = in.Close
	cmd.WaitDelay = stopTimeout
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the %s process: %w", role, err)
	}
	p := &Process{role: role, cmd: cmd, in: in, say: json.NewEncoder(in), said: json.NewDecoder(out)}
	if err := p.say.Encode(job); err != nil {
		return nil, errors.Join(p.failed(err), p.Stop())
	}
	return p, nil
}

// Receive waits for the child's next value and decodes it.
func (p *Process) Receive(into any) error {
	if err := p.said.Decode(into); err != nil {
		return p.failed(err)
	}
	return nil
}

// Ask sends a value to the child, waits for the reply and decodes it.
func (p *Process) Ask(question, into any) error {
	if err := p.say.Encode(question); err != nil {
		return p.failed(err)
	}
	return p.Receive(into)
}

func (p *Process) failed(err error) error {
	return fmt.Errorf("the %s process ended unexpectedly; see its output above (%w)", p.role, err)
}

// Stop closes the link and waits for the child to exit.
func (p *Process) Stop() error {
	_ = p.in.Close()
	kill := time.AfterFunc(stopTimeout, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the %s process: %w", p.role, err)
	}
	return nil
}
