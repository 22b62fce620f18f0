//go:build unix && !linux

package devprogram

import "syscall"

// separate puts a program in its own process group, so that Ctrl-C does not reach it.
func separate(a *syscall.SysProcAttr) { a.Setpgid = true }
