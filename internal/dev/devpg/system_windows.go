package devpg

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Start returns an error on Windows, so none of these functions is called there.

func owner(fs.FileInfo) (uid, gid uint32) { return 0, 0 }

func tryLock(*os.File) error { return errors.ErrUnsupported }

func sendSignal(int, syscall.Signal) error { return errors.ErrUnsupported }

func processAttributes(*account, bool) *syscall.SysProcAttr { return nil }
