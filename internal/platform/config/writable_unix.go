//go:build unix

package config

import "syscall"

// checkWritable returns an error if the current user cannot add files to a folder.
func checkWritable(folder string) error {
	const writeAndEnter = 2 | 1 // W_OK and X_OK of access(2)
	return syscall.Access(folder, writeAndEnter)
}
