package devvault

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// owner is an environment variable. If it is set, a copy of this test binary starts a Vault, prints
// its process id, and waits to be killed.
const owner = "PINGPOST_TEST_VAULT_OWNER"

func TestMain(m *testing.M) {
	if program := os.Getenv(owner); program != "" {
		s, err := Start(context.Background(), program, io.Discard)
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString(strconv.Itoa(s.ID()) + "\n")
		select {}
	}
	os.Exit(m.Run())
}

func find(t *testing.T) string {
	t.Helper()
	program, err := Find(t.Context(), func(text string) { t.Log(text) })
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func TestFind(t *testing.T) {
	built := find(t)
	t.Run("in the variable", func(t *testing.T) {
		t.Setenv(BinaryVariable, built)
		if got := find(t); got != built {
			t.Errorf("found %s", got)
		}
		t.Setenv(BinaryVariable, filepath.Join(t.TempDir(), "nothing"))
		if _, err := Find(t.Context(), nil); err == nil || !strings.Contains(err.Error(), BinaryVariable) {
			t.Errorf("a program that does not exist: %v", err)
		}
	})
	t.Run("on PATH", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Symlink(built, filepath.Join(dir, "vault")); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		if got := find(t); got != filepath.Join(dir, "vault") {
			t.Errorf("found %s", got)
		}
	})
	t.Run("not found", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		t.Chdir(t.TempDir())
		if _, err := Find(t.Context(), nil); err == nil || !strings.Contains(err.Error(), BinaryVariable) {
			t.Errorf("%v", err)
		}
	})
}

func TestStartProvisionStop(t *testing.T) {
	t.Parallel()
	s, err := Start(t.Context(), find(t), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	roles, err := s.Provision(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Serve, Rewrap, Rotate} {
		if roles[name].RoleID == "" || roles[name].SecretID == "" {
			t.Errorf("%s has no identity", name)
		}
	}
	root, err := s.Root()
	if err != nil {
		t.Fatal(err)
	}
	health, err := root.Sys().HealthWithContext(t.Context())
	if err != nil || health.Sealed || !health.Initialized {
		t.Errorf("%+v, %v", health, err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	<-s.Ended()
	if _, err := root.Sys().HealthWithContext(t.Context()); err == nil {
		t.Error("the server still responds after Stop")
	}
	if err := s.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]string{"ends at once": "/bin/true", "not there": "/nonexistent/vault"} {
		if s, err := Start(t.Context(), program, io.Discard); err == nil || !strings.Contains(err.Error(), program) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// A Vault ends if the process that started it is killed.
func TestVaultEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	program, self := find(t), exec.Command(os.Args[0])
	self.Env = append(os.Environ(), owner+"="+program)
	out, err := self.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("Vault is not running: %v", err)
	}
	self.Process.Kill()
	self.Wait()
	deadline, tick := time.After(time.Minute), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !gone(pid) {
		select {
		case <-deadline:
			t.Fatal("Vault is still running after its owner was killed")
		case <-tick.C:
		}
	}
}

// gone reports whether a process has ended. A zombie counts as ended.
func gone(pid int) bool {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}
