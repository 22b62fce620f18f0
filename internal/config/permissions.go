package config

import "os"

// readableByOthers are the permission bits with which the group of a file, or all users, can read it.
const readableByOthers = 0o044

// warnReadable adds a warning for each secret in a file that other users of this machine can read.
func (c *Config) warnReadable(ps *Problems) {
	for path, file := range c.secretFiles {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm()&readableByOthers == 0 {
			continue
		}
		ps.add(path, "other users can read the file that contains this secret (mode %04o); run chmod 600 on it", info.Mode().Perm())
	}
}
