//go:build !linux

package devprogram

import "syscall"

// ownProcess returns attributes that put the program in its own process group, so that Ctrl-C does not
// reach it.
func ownProcess() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
