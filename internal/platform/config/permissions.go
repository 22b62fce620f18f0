package config

import (
	"io/fs"
	"os"
)

// readableByOthers contains the permission bits that allow the group of a file, or all users, to read it.
const readableByOthers = 0o044

// warnReadable adds a warning for each secret in a file that other users of this machine can read.
func (c *Config) warnReadable(ps *Problems) {
	for path, file := range c.secretFiles {
		if mode, readable := ReadableByOthers(file); readable {
			ps.add(path, "other users can read the file that contains this secret (mode %04o); run chmod 600 on it", mode)
		}
	}
}

// ReadableByOthers returns the permissions of a file, and whether the group of the file or all users can read it.
func ReadableByOthers(file string) (mode fs.FileMode, readable bool) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, false
	}
	return info.Mode().Perm(), info.Mode().Perm()&readableByOthers != 0
}
