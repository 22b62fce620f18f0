package devprogram

import "syscall"

// separate puts a program in its own process group, so that Ctrl-C does not reach it. It also makes the kernel kill the
// program when the process that started it ends.
func separate(a *syscall.SysProcAttr) { a.Setpgid, a.Pdeathsig = true, syscall.SIGKILL }
