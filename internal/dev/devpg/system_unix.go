//go:build unix

package devpg

import (
	"io/fs"
	"os"
	"syscall"
)

// owner returns the user and the group that a file belongs to.
func owner(info fs.FileInfo) (uid, gid uint32) {
	stat := info.Sys().(*syscall.Stat_t)
	return stat.Uid, stat.Gid
}

// tryLock locks a file. It returns an error if another process has locked it.
func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// sendSignal sends a signal to a process. Signal 0 only checks whether the process exists.
func sendSignal(pid int, signal syscall.Signal) error { return syscall.Kill(pid, signal) }

// processAttributes returns the attributes of a process that runs as an account, or as the current user if the account
// is nil. In a session of its own, the process does not receive a Ctrl-C from the terminal.
func processAttributes(runAs *account, ownSession bool) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setsid: ownSession}
	if runAs != nil {
		attributes.Credential = &syscall.Credential{Uid: runAs.uid, Gid: runAs.gid}
	}
	return attributes
}

// Credential returns the user for programs that, like Postgres, cannot run as root. It returns nil if this
// program is not running as root.
func Credential() (*syscall.Credential, error) {
	runAs, err := unprivileged()
	return processAttributes(runAs, false).Credential, err
}
