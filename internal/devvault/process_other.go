//go:build !linux

package devvault

import "syscall"

// ownProcess returns attributes that put the server in its own process group, so that Ctrl-C does not
// reach it.
func ownProcess() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
