package leadkit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/models"
)

// Task is what another process does until it ends or is killed.
type Task struct {
	Database, Journal string // URL and folder
	Now               time.Time
	Retention         retention.Periods // carry out a retention run, if it is set
	Lead, Request     uuid.UUID         // erase this lead, or the leads of this request
	StopBefore        int64             // stop before this entry is written to the journal
	StopAfter         int64             // stop after this entry was written to the journal
}

// processTask is the variable that contains the task of this test binary in JSON.
const processTask = "PRIVACY_TEST_TASK"

// Main runs the tests of a package, or carries out the task of this process. A package that calls Begin must call it.
func Main(m *testing.M) {
	if text := os.Getenv(processTask); text != "" {
		var work Task
		err := json.Unmarshal([]byte(text), &work)
		if err == nil {
			err = work.run(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	testkit.Main(m)
}

func (w Task) run(ctx context.Context) error {
	db, err := postgres.Open(ctx, postgres.Options{
		URL: w.Database, MaxConnections: 5, ConnectTimeout: 5 * time.Second, StatementTimeout: 30 * time.Second,
	})
	if err != nil {
		return err
	}
	keys, err := keyring.NewKeys([][]byte{bytes.Repeat([]byte{1}, keyring.KeySize)})
	if err != nil {
		return err
	}
	j := &stoppingJournal{journal.Folder(w.Journal), w}
	s := NewServices(db, nil, keys, j, clock.NewManual(w.Now), Settings{Retention: w.Retention}).By(audit.Operator)
	switch {
	case w.Lead != uuid.Nil:
		_, err = s.Erasures.Erase(ctx, scope.System, erasure.NewErasure{Lead: w.Lead, Reason: models.EraseForRequest})
	case w.Request != uuid.Nil:
		err = s.Requests.Erase(ctx, w.Request)
	default:
		_, err = s.Retention.Run(ctx)
	}
	return err
}

// stoppingJournal stops the process at a step, so that it can be killed there.
type stoppingJournal struct {
	journal.Store
	Task
}

// Write implements journal.Store.
func (j *stoppingJournal) Write(ctx context.Context, sequence int64, text []byte) error {
	if sequence == j.StopBefore {
		stopHere()
	}
	err := j.Store.Write(ctx, sequence, text)
	if sequence == j.StopAfter {
		stopHere()
	}
	return err
}

const stopped = "stopped"

func stopHere() {
	fmt.Println(stopped)
	select {}
}

// Process is another process that carries out a task.
type Process struct {
	*exec.Cmd
	output io.Reader
}

// Begin starts a process.
func (k Kit) Begin(t *testing.T, w Task) Process {
	t.Helper()
	w.Database, w.Journal, w.Now = k.DB.AppURL, k.Folder, k.Time.Now()
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	p := Process{Cmd: exec.Command(os.Args[0])}
	p.Env, p.Stderr = append(os.Environ(), processTask+"="+string(text)), os.Stderr
	p.output, err = p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill() // it has ended, unless the test failed
		_ = p.Wait()
	})
	return p
}

// AwaitStop waits until the process has stopped at a step.
func (p Process) AwaitStop(t *testing.T) {
	t.Helper()
	if line, err := bufio.NewReader(p.output).ReadString('\n'); line != stopped+"\n" {
		t.Fatalf("the process did not stop: %q, %v", line, err)
	}
}

// Kill kills the process.
func (p Process) Kill(t *testing.T) {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); p.ProcessState.ExitCode() != -1 {
		t.Fatalf("the process ended before it was killed: %v", err)
	}
}

// Succeed waits until the process has carried out its task.
func (p Process) Succeed(t *testing.T) {
	t.Helper()
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
}
