package devpg

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"
)

// command returns the command that starts this program again as a supervisor. It passes on only the
// environment variable PATH, because other variables may contain secrets, which Postgres would inherit.
func command(j job, runAs *account) (*exec.Cmd, error) {
	program := "/proc/self/exe"
	if runtime.GOOS != "linux" {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	// On Linux, /proc/self/exe works even for a user that cannot access the program's
	// folder, such as root's home or the go command's build folder.
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
		"GORACE=atexit_sleep_ms=0", // otherwise a test binary with the race detector takes another second to exit
		"PGCTLTIMEOUT=" + strconv.Itoa(max(1, int(j.StartTimeout/time.Second))),
	}
	// Use a new session, so that Ctrl-C in a terminal only reaches the caller, which
	// decides when Postgres stops.
	cmd.SysProcAttr = processAttributes(runAs, true)
	cmd.WaitDelay = 5 * time.Second
	return cmd, nil
}

// notRunnable returns an error that says why the supervisor did not start. Access to the data folder has
// already been checked. A permission error therefore means that the user runAs is not allowed to run
// this program.
func notRunnable(err error, runAs *account) error {
	if os.IsPermission(err) && runAs != nil {
		return fmt.Errorf("user %s, which runs Postgres, is not allowed to run this program: make it executable for everyone (chmod 755, or build it with umask 022)",
			runAs.name)
	}
	return fmt.Errorf("starting the supervisor of Postgres: %w", err)
}
