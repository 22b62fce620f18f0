package devvault

import "syscall"

// ownProcess puts the server in its own process group, so that Ctrl-C does not reach it,
// and makes the kernel kill it when the process that started it ends.
func ownProcess() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
