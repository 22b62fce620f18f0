package devpg

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parentMarker makes a copy of the test binary a program that starts Postgres on
// the options in the variable, says so, and waits to be killed.
const parentMarker = "DEVPG_TEST_PARENT"

type parentWord struct {
	Supervisor int
	URL        string
	Error      string
}

func runParent() {
	var o Options
	var word parentWord
	if err := json.Unmarshal([]byte(os.Getenv(parentMarker)), &o); err != nil {
		word.Error = err.Error()
	} else if s, err := Start(context.Background(), o); err != nil {
		word.Error = err.Error()
	} else {
		word.Supervisor, word.URL = s.supervisor.cmd.Process.Pid, s.SuperuserURL("postgres")
	}
	_ = json.NewEncoder(os.Stdout).Encode(word)
	select {}
}

// startParent is a program that started Postgres, for the test to kill.
func startParent(t *testing.T, o Options) (*exec.Cmd, parentWord) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	options, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), parentMarker+"="+string(options))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(t, cmd) })
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var word parentWord
	if err := json.Unmarshal(line, &word); err != nil || word.Error != "" {
		t.Fatalf("%v %s", err, word.Error)
	}
	return cmd, word
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if cmd.ProcessState != nil {
		return
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}

func mustEnd(t *testing.T, pid int, what string) {
	t.Helper()
	if pid <= 0 {
		t.Fatalf("%s was never there", what)
	}
	if !waitFor(time.Minute, func() bool { return !alive(pid) }) {
		t.Errorf("%s (process %d) still runs", what, pid)
	}
}

func mustBeLost(t *testing.T, s *Server, parts ...string) {
	t.Helper()
	select {
	case <-s.Done():
	case <-time.After(time.Minute):
		t.Fatal("the loss went unseen")
	}
	wantParts(t, s.Err(), parts...)
	mustStop(t, s) // and says nothing: Err has said it
}

// One folder goes through every death there is, and keeps its data.
func TestDeaths(t *testing.T) {
	o := stopped(t)
	for _, death := range []struct {
		name string
		of   func(*testing.T, Options)
	}{
		{"parent", testKilledParent},
		{"parent, started again at once", testKilledParentAndAgain},
		{"supervisor", testKilledSupervisor},
		{"postgres", testKilledPostgres},
		{"parent and supervisor", testOrphan},
		{"the machine", testNumberOfAnotherProgram},
	} {
		t.Run(death.name, func(t *testing.T) {
			death.of(t, o)
			mustHoldData(t, o)
		})
	}
}

func testKilledParent(t *testing.T, o Options) {
	parent, word := startParent(t, o)
	postgres := layout(o.DataDir).postmaster()
	if !alive(postgres) {
		t.Fatal("Postgres does not run")
	}
	kill(t, parent)
	mustEnd(t, postgres, "Postgres")
	mustEnd(t, word.Supervisor, "the supervisor")
}

// The start that follows at once waits for the old supervisor to stop its Postgres.
func testKilledParentAndAgain(t *testing.T, o Options) {
	parent, _ := startParent(t, o)
	kill(t, parent)
}

func testKilledSupervisor(t *testing.T, o Options) {
	s := mustStart(t, o)
	postgres := layout(o.DataDir).postmaster()
	if err := syscall.Kill(s.supervisor.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	mustBeLost(t, s, "killed")
	if alive(postgres) {
		t.Error("Postgres outlived its supervisor")
	}
}

func testKilledPostgres(t *testing.T, o Options) {
	s := mustStart(t, o)
	if err := syscall.Kill(layout(o.DataDir).postmaster(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	mustBeLost(t, s, layout(o.DataDir).log())
}

// What ends both leaves Postgres without anybody: the next start on the folder
// takes it down.
func testOrphan(t *testing.T, o Options) {
	parent, word := startParent(t, o)
	orphan := layout(o.DataDir).postmaster()
	// Held still, the parent cannot clean up after its supervisor.
	if err := parent.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(word.Supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	kill(t, parent)
	mustEnd(t, word.Supervisor, "the supervisor")
	if !alive(orphan) {
		t.Fatal("there is no orphan")
	}
	mustHoldData(t, o)
	mustEnd(t, orphan, "the orphan")
}

// After a container starts again the number in the pid file is often another
// program's, which must neither be killed nor keep Postgres from starting.
func testNumberOfAnotherProgram(t *testing.T, o Options) {
	bystander := exec.Command("sleep", "600")
	bystander.SysProcAttr = &syscall.SysProcAttr{}
	runAs, err := unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	if runAs != nil {
		bystander.SysProcAttr.Credential = &syscall.Credential{Uid: runAs.uid, Gid: runAs.gid}
	}
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(t, bystander) })
	l := layout(o.DataDir)
	write(t, l.postmasterFile(), fmt.Sprintf("%d\n%s\n", bystander.Process.Pid, l.cluster()))
	mustHoldData(t, o)
	if !alive(bystander.Process.Pid) {
		t.Error("another program was killed")
	}
}

func TestKilledParentTakesTemporaryFolderWithIt(t *testing.T) {
	o := Options{DataDir: newFolder(t), Temporary: true}
	parent, word := startParent(t, o)
	kill(t, parent)
	mustEnd(t, word.Supervisor, "the supervisor")
	// The folder itself lies in one of root's: what can go is what is inside.
	if entries, err := os.ReadDir(o.DataDir); err == nil && len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestProgramThatIsNotASupervisor(t *testing.T) {
	k := &supervisor{
		gone: make(chan struct{}),
		lost: make(chan struct{}),
		cmd:  exec.Command("sh", "-c", "echo ok; exec sleep 600"),
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go k.watch(out, &tail{}, make(chan report))
	<-k.gone
	wantParts(t, k.lostErr(), "RunIfChild")
}

func TestTailKeepsTheEnd(t *testing.T) {
	var end tail
	if end.String() != "" {
		t.Errorf("nothing written, yet %q", end.String())
	}
	for range 1000 {
		_, _ = end.Write([]byte("0123456789"))
	}
	_, _ = end.Write([]byte("last"))
	if got := end.String(); len(got) != 4097 || !strings.HasSuffix(got, "789last") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-8:])
	}
}
