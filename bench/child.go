package main

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
)

// The servers, the load generator and some baselines run in copies of this program, so that each has its
// own process. A child reads its job from standard input and writes its results to standard output, as JSON.

// roleVariable is the environment variable that contains the role of a child.
const roleVariable = "PINGPOST_BENCH_ROLE"

// link is a child's connection to its parent.
type link struct {
	*json.Decoder
	*json.Encoder
}

// wait waits until the parent closes the connection or ends.
func (l *link) wait() { _ = l.Decode(new(any)) }

// runIfChild runs the role of this process and exits, if this process is a child.
func runIfChild() {
	name := os.Getenv(roleVariable)
	if name == "" {
		return
	}
	os.Unsetenv(roleVariable) //nolint:errcheck // its name is valid
	// Ctrl-C reaches all processes in the terminal, but the parent ends its children itself.
	signal.Ignore(os.Interrupt, syscall.SIGHUP)
	role := map[string]func(*link) error{
		"product": serveProduct, "baseline": serveBaseline, "load": generateLoad,
	}[name]
	if err := role(&link{json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)}); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child is the parent's end of the connection to a child.
type child struct {
	role string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

// start starts a child and sends it its job. The child is killed when ctx ends.
func start(ctx context.Context, role string, job any) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{role: role, cmd: exec.CommandContext(ctx, program)}
	// By default, the race detector delays the end of a program by a second.
	c.cmd.Env = append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = json.NewDecoder(out)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	return c, json.NewEncoder(c.in).Encode(job)
}

func (c *child) receive(value any) error {
	if err := c.out.Decode(value); err != nil {
		return fmt.Errorf("the %s process has ended, see its output above: %w", c.role, err)
	}
	return nil
}

// stop closes the connection and waits until the child has ended.
func (c *child) stop() error {
	_ = c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("the %s process: %w", c.role, err)
	}
	return nil
}

// call runs a child until it ends, and receives its result.
func call(ctx context.Context, role string, job, result any) error {
	c, err := start(ctx, role, job)
	if err != nil {
		return err
	}
	err = c.receive(result)
	return errors.Join(err, c.stop())
}

// startServer starts a child that serves requests until the scenario has ended, and returns its address.
func (l *lab) startServer(ctx context.Context, role string, job any) (c *child, address string, err error) {
	if c, err = start(ctx, role, job); err != nil {
		return nil, "", err
	}
	l.cleanup(c.stop)
	err = c.receive(&address)
	return c, address, err
}
