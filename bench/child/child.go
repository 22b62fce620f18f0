// Package child runs copies of this program in other roles: servers, load, and
// baselines each get a process of their own, so that the processor time and
// memory of each can be told apart.
//
// Parent and child exchange JSON values over the child's standard input and
// output. A child ends when its input closes, which the kernel does when the
// parent dies, however it dies: none is ever left behind.
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

// roleVariable in the environment makes a copy of this program a child.
const roleVariable = "PINGPOST_BENCH_ROLE"

// stopTimeout is past every wait of a role that ends in order.
const stopTimeout = 45 * time.Second

// Role is what a child does. Its context ends when the parent has let go of it.
type Role func(ctx context.Context, l *Link) error

// RunIfChild does nothing in the program that a person started. In a copy that
// Start made it plays its role and ends the process. It comes first in main.
func RunIfChild(roles map[string]Role) {
	name, ok := os.LookupEnv(roleVariable)
	if !ok {
		return
	}
	// Ctrl-C reaches every process of a terminal: the parent decides what ends.
	signal.Ignore(os.Interrupt, syscall.SIGHUP)
	if err := play(roles, name, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func play(roles map[string]Role, name string, in io.Reader, out io.Writer) error {
	_ = os.Unsetenv(roleVariable) // the copy's own children are not copies
	role, ok := roles[name]
	if !ok {
		return errors.New("there is no such role")
	}
	ctx, gone := context.WithCancel(context.Background())
	defer gone()
	l := &Link{said: make(chan json.RawMessage, 1), out: json.NewEncoder(out)}
	go func() { // ends with the process
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

// Link is the child's end.
type Link struct {
	said chan json.RawMessage
	out  *json.Encoder
}

// Next waits for the parent's next value; io.EOF when it has let go.
func (l *Link) Next(into any) error {
	value, ok := <-l.said
	if !ok {
		return io.EOF
	}
	return json.Unmarshal(value, into)
}

// Say sends a value to the parent.
func (l *Link) Say(value any) error { return l.out.Encode(value) }

// Process is the parent's end of a child.
type Process struct {
	role string
	cmd  *exec.Cmd
	in   io.WriteCloser
	say  *json.Encoder
	said *json.Decoder
}

// Start starts a copy in a role and sends it its job. The caller stops it; the
// end of ctx stops it too.
func Start(ctx context.Context, role string, job any) (*Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program)
	// A copy built with the race detector would end a second late.
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

// Receive waits for the child's next value.
func (p *Process) Receive(into any) error {
	if err := p.said.Decode(into); err != nil {
		return p.failed(err)
	}
	return nil
}

// Ask sends a value and waits for the answer.
func (p *Process) Ask(question, into any) error {
	if err := p.say.Encode(question); err != nil {
		return p.failed(err)
	}
	return p.Receive(into)
}

func (p *Process) failed(err error) error {
	return fmt.Errorf("the %s process ended before it was asked to, and said above why (%w)", p.role, err)
}

// Stop lets go of the child and waits until it has ended.
func (p *Process) Stop() error {
	_ = p.in.Close()
	kill := time.AfterFunc(stopTimeout, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the %s process: %w", p.role, err)
	}
	return nil
}
