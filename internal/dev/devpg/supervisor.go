package devpg

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

const (
	downloadLimit = 10 * time.Minute
	// stopLimit is longer than a supervisor needs to stop Postgres. A supervisor that takes longer
	// has hung and is killed.
	stopLimit = 2 * time.Minute
)

// supervisor controls a supervisor process, which runs Postgres.
type supervisor struct {
	job   job
	runAs *account
	cmd   *exec.Cmd
	stdin io.WriteCloser

	gone chan struct{} // closed when the process and its Postgres have ended
	lost chan struct{} // closed before gone if the process ends without a call to stop

	mu       sync.Mutex
	stopping bool
	err      error // how the process ended
}

// startSupervisor starts a supervisor and waits until its Postgres accepts connections.
func startSupervisor(ctx context.Context, j job, runAs *account) (k *supervisor, password string, err error) {
	k = &supervisor{job: j, runAs: runAs, gone: make(chan struct{}), lost: make(chan struct{})}
	reports, err := k.launch()
	if err != nil {
		return nil, "", err
	}
	limit := time.NewTimer(j.StartTimeout)
	defer limit.Stop()
	for {
		select {
		case r := <-reports:
			switch {
			case r.Ready:
				return k, r.Password, nil
			case r.Downloading:
				limit.Reset(downloadLimit + j.StartTimeout)
			}
		case <-k.lost:
			<-k.gone
			return nil, "", k.err
		case <-limit.C:
			err = fmt.Errorf("the private Postgres did not start within %s: if the machine is busy, try again; otherwise see its log %s",
				j.StartTimeout, layout(j.DataDir).log())
			return nil, "", errors.Join(err, k.stop())
		case <-ctx.Done():
			err = fmt.Errorf("starting Postgres was cancelled: %w", context.Cause(ctx))
			return nil, "", errors.Join(err, k.stop())
		}
	}
}

func (k *supervisor) launch() (<-chan report, error) {
	var err error
	if k.cmd, err = command(k.job, k.runAs); err != nil {
		return nil, err
	}
	stderr := &tail{}
	k.cmd.Stderr = stderr
	if k.stdin, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := k.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := k.cmd.Start(); err != nil {
		return nil, notRunnable(err, k.runAs)
	}
	reports := make(chan report, maxReports)
	go k.watch(stdout, stderr, reports)
	// If writing fails, the process has ended, and watch reports the reason.
	_ = json.NewEncoder(k.stdin).Encode(k.job)
	return reports, nil
}

// watch reads the reports of the supervisor process until the process ends. The method stop waits until
// watch returns.
func (k *supervisor) watch(stdout io.Reader, stderr *tail, reports chan<- report) {
	defer close(k.gone)
	var failure error
	dec := json.NewDecoder(stdout)
	for {
		var r report
		err := dec.Decode(&r)
		if err == io.EOF {
			break
		}
		if err != nil {
			failure = errors.New("the supervisor of Postgres printed unexpected output: call devpg.RunIfChild first in main (in a test: in TestMain)")
			_ = k.cmd.Process.Kill()
			break
		}
		if r.Failure != "" {
			failure = r.failure()
			continue
		}
		select {
		case reports <- r:
		default: // more than maxReports, so not from a supervisor
		}
	}
	_, _ = io.Copy(io.Discard, stdout) // read the rest before calling Wait
	if err := k.cmd.Wait(); err != nil && failure == nil {
		// The supervisor was killed or crashed, so stop its Postgres.
		failure = errors.Join(fmt.Errorf("the supervisor of Postgres ended: %w%s", err, stderr), k.sweep())
	}
	k.end(failure)
}

func (k *supervisor) end(failure error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = failure
	if k.stopping {
		return
	}
	if k.err == nil {
		k.err = errors.New("the supervisor of Postgres ended")
	}
	close(k.lost)
}

func (k *supervisor) stop() error {
	k.mu.Lock()
	k.stopping = true
	k.mu.Unlock()
	_ = k.stdin.Close()
	hung := time.AfterFunc(stopLimit, func() { _ = k.cmd.Process.Kill() })
	defer hung.Stop()
	<-k.gone
	if k.lostErr() != nil {
		return nil // already stopped; Err returns the reason
	}
	return k.err
}

func (k *supervisor) lostErr() error {
	select {
	case <-k.lost:
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.err
	default:
		return nil
	}
}

// sweep stops Postgres if its supervisor has ended without stopping it. To do this, it starts another
// supervisor as the same unprivileged user. A process that runs as root must not stop Postgres itself,
// because the unprivileged user can write any process id to the pid file.
func (k *supervisor) sweep() error {
	j := k.job
	j.Sweep = true
	cmd, err := command(j, k.runAs)
	if err != nil {
		return err
	}
	in, err := json.Marshal(j)
	if err != nil {
		return err
	}
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err == nil {
		return nil
	}
	var r report
	if json.Unmarshal(out, &r) == nil && r.Failure != "" {
		return r.failure()
	}
	return fmt.Errorf("a Postgres may still be running in %s: %w", j.DataDir, err)
}

// tail keeps the last part of what a process writes to standard error, so that messages can quote it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 4096
	t.text = append(t.text, p...)
	if over := len(t.text) - most; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	if len(t.text) == 0 {
		return ""
	}
	return "\n" + string(t.text)
}
