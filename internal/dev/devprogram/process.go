package devprogram

import (
	"errors"
	"net"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

const stopTimeout = 10 * time.Second

// Process is a running program. On Linux, it ends when the process that started it ends.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // the error with which the process ended; set before the channel ended is closed
}

// Run starts a program. It changes the attributes of cmd, but keeps its credential.
func Run(cmd *exec.Cmd) (*Process, error) {
	cmd.WaitDelay = time.Second
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	separate(cmd.SysProcAttr)
	p := &Process{cmd: cmd, ended: make(chan struct{})}
	launched := make(chan error)
	go func() {
		// The thread must live as long as the process. Otherwise the kernel would kill the process when
		// the thread ends; see separate.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		launched <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.ended)
		}
	}()
	return p, <-launched
}

// ID returns the process id.
func (p *Process) ID() int { return p.cmd.Process.Pid }

// Ended returns a channel that is closed when the process has ended, for any reason.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Stop stops the program and waits until it has exited.
func (p *Process) Stop() error {
	p.cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // fails only if it has ended
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		p.cmd.Process.Kill() //nolint:errcheck // fails only if it has ended
		<-p.ended
	}
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		return p.err
	}
	return nil
}

// FreeAddress returns an address on the loopback interface that no program listens on.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
