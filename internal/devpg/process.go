package devpg

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// command is a copy of this program that does the job. Its environment holds
// nothing of the caller's but PATH: Postgres inherits it, and the caller's may
// hold secrets.
func command(j job, runAs *account) (*exec.Cmd, error) {
	program := "/proc/self/exe"
	if runtime.GOOS != "linux" {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	// On Linux the link opens the program also for a user who may not enter the
	// folder that it lies in, such as root's home or the go tool's own.
	cmd := exec.Command(program)
	cmd.Args = []string{"pingpost: postgres supervisor"}
	cmd.Dir = j.DataDir
	cmd.Env = []string{
		marker + "=1",
		"PATH=" + os.Getenv("PATH"),
		"LANG=C.UTF-8",
		"LC_ALL=" + locale(),
		"HOME=" + j.DataDir,
		"TMPDIR=" + layout(j.DataDir).run(),
		"GORACE=atexit_sleep_ms=0", // a test binary with the race detector would end a second late
		"PGCTLTIMEOUT=" + strconv.Itoa(max(1, int(j.StartTimeout/time.Second))),
	}
	// A session of its own: Ctrl-C in a terminal goes to the caller alone, who
	// decides when Postgres stops.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if runAs != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: runAs.uid, Gid: runAs.gid}
	}
	cmd.WaitDelay = 5 * time.Second
	return cmd, nil
}

// notRunnable explains why the copy did not start. The data folder was found
// reachable before, so a permission that is missing is the program's own.
func notRunnable(err error, runAs *account) error {
	if os.IsPermission(err) && runAs != nil {
		return fmt.Errorf("user %s, whom Postgres runs as here, may not run this program: make it executable for everyone (chmod 755, or build it under umask 022)",
			runAs.name)
	}
	return fmt.Errorf("this program cannot start the copy of itself that keeps Postgres: %w", err)
}
