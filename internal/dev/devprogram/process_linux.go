package devprogram

import "syscall"

// ownProcess returns attributes that put the program in its own process group, so that Ctrl-C does not
// reach it. They also make the kernel kill the program when the process that started it ends.
func ownProcess() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
