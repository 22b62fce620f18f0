package devvault

import "syscall"

// ownProcess keeps Ctrl-C in a terminal from the server, which its owner stops,
// and ends it when its owner is killed.
func ownProcess() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
