//go:build !linux

package devvault

import "syscall"

// ownProcess keeps Ctrl-C in a terminal from the server, which its owner stops.
func ownProcess() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
