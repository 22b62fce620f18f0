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

// parentMarker is an environment variable that contains options. If it is set, a copy of the test
// binary starts Postgres with these options, prints a parentReport, and waits to be killed.
const parentMarker = "DEVPG_TEST_PARENT"

type parentReport struct {
	Supervisor int
	URL        string
	Error      string
}

func runParent() {
	var o Options
	var report parentReport
	if err := json.Unmarshal([]byte(os.Getenv(parentMarker)), &o); err != nil {
		report.Error = err.Error()
	} else if s, err := Start(context.Background(), o); err != nil {
		report.Error = err.Error()
	} else {
		report.Supervisor, report.URL = s.supervisor.cmd.Process.Pid, s.SuperuserURL("postgres")
	}
	_ = json.NewEncoder(os.Stdout).Encode(report)
	select {}
}

// startParent runs a program that starts Postgres and that the test can kill.
func startParent(t *testing.T, o Options) (*exec.Cmd, parentReport) {
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
	var report parentReport
	if err := json.Unmarshal(line, &report); err != nil || report.Error != "" {
		t.Fatalf("%v %s", err, report.Error)
	}
	return cmd, report
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
		t.Fatalf("%s was not running", what)
	}
	if !waitFor(time.Minute, func() bool { return !alive(pid) }) {
		t.Errorf("%s (process %d) is still running", what, pid)
	}
}

func mustBeLost(t *testing.T, s *Server, parts ...string) {
	t.Helper()
	select {
	case <-s.Done():
	case <-time.After(time.Minute):
		t.Fatal("Done was not closed")
	}
	wantParts(t, s.Err(), parts...)
	mustStop(t, s) // no error, because Err returned it
}

// TestKilledProcesses kills each of the processes. The folder must keep its data.
func TestKilledProcesses(t *testing.T) {
	o := stopped(t)
	for _, c := range []struct {
		name string
		kill func(*testing.T, Options)
	}{
		{"parent", testKilledParent},
		{"parent, with an immediate restart", testKilledParentAndAgain},
		{"supervisor", testKilledSupervisor},
		{"postgres", testKilledPostgres},
		{"parent and supervisor", testOrphan},
		{"the machine", testReusedProcessID},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.kill(t, o)
			mustContainData(t, o)
		})
	}
}

func testKilledParent(t *testing.T, o Options) {
	parent, report := startParent(t, o)
	postgres := layout(o.DataDir).postmaster()
	if !alive(postgres) {
		t.Fatal("Postgres is not running")
	}
	kill(t, parent)
	mustEnd(t, postgres, "Postgres")
	mustEnd(t, report.Supervisor, "the supervisor")
}

// A start right after the parent was killed waits until the old supervisor has stopped Postgres.
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

// If the parent and the supervisor are both killed, Postgres keeps running. The next start
// in the folder stops it.
func testOrphan(t *testing.T, o Options) {
	parent, report := startParent(t, o)
	orphan := layout(o.DataDir).postmaster()
	// Pause the parent, so that it cannot clean up after its supervisor.
	if err := parent.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(report.Supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	kill(t, parent)
	mustEnd(t, report.Supervisor, "the supervisor")
	if !alive(orphan) {
		t.Fatal("Postgres is not running")
	}
	mustContainData(t, o)
	mustEnd(t, orphan, "the orphan")
}

// After a container has been restarted, the id in the pid file may belong to another program. The
// program must not be killed, and must not prevent Postgres from starting.
func testReusedProcessID(t *testing.T, o Options) {
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
	mustContainData(t, o)
	if !alive(bystander.Process.Pid) {
		t.Error("another program was killed")
	}
}

func TestTemporaryFolderIsRemovedWhenParentIsKilled(t *testing.T) {
	o := Options{DataDir: newFolder(t), Temporary: true}
	parent, report := startParent(t, o)
	kill(t, parent)
	mustEnd(t, report.Supervisor, "the supervisor")
	// The parent folder belongs to root, so only the contents can be removed.
	if entries, err := os.ReadDir(o.DataDir); err == nil && len(entries) > 0 {
		t.Errorf("the folder still contains %v", entries)
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
		t.Errorf("got %q before a write", end.String())
	}
	for range 1000 {
		_, _ = end.Write([]byte("0123456789"))
	}
	_, _ = end.Write([]byte("last"))
	if got := end.String(); len(got) != 4097 || !strings.HasSuffix(got, "789last") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-8:])
	}
}
