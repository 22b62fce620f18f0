package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pingpost/pingpost/internal/base/letters"
	"github.com/pingpost/pingpost/internal/base/pemfile"
)

// CheckFiles checks whether the current user can use the files and folders that the settings name. If there are
// failures, a node cannot work as configured. If there are only warnings, it can start. The texts do not contain file
// names, because a user may have entered a secret there by mistake. CheckFiles does not check the files that contain
// secrets, because Load has already read them.
func (c *Config) CheckFiles() (failures, warnings Problems) {
	add := func(ps *Problems, path string, err error) {
		if err != nil {
			ps.add(path, "%s", err)
		}
	}
	if v := c.Vault; c.needs(SectionVault) && v.Address != "" {
		if v.CAFile != "" {
			add(&failures, "vault.ca_file", pemfile.CheckCertificates(v.CAFile))
		}
		if v.Auth == LoginKubernetes {
			add(&failures, "vault.jwt_file", checkReadable(v.JWTFile))
		}
	}
	if h := c.HTTP; c.needs(SectionHTTP) && h.TLSCertFile != "" {
		certificate, key := pemfile.CheckCertificates(h.TLSCertFile), pemfile.CheckPrivateKey(h.TLSKeyFile)
		add(&failures, "http.tls_cert_file", certificate)
		add(&failures, "http.tls_key_file", key)
		if _, err := tls.LoadX509KeyPair(h.TLSCertFile, h.TLSKeyFile); certificate == nil && key == nil {
			add(&failures, "http.tls_cert_file", err)
		}
		if mode, readable := ReadableByOthers(h.TLSKeyFile); readable {
			warnings.add("http.tls_key_file", "other users can read this file (mode %04o); run chmod 600 on it", mode)
		}
	}
	if journal := c.Privacy.ErasureJournal; c.needs(SectionPrivacy) && filepath.IsAbs(journal) {
		add(&failures, "privacy.erasure_journal", checkFolder(journal))
	}
	if c.needs(SectionPrivacy) {
		_, err := letters.Load(c.Privacy.Letters)
		add(&failures, "privacy.letters", err)
	}
	if file := c.Database.SnapshotFile; c.needs(SectionDatabase) && file != "" {
		add(&warnings, "database.snapshot_file", checkFolder(existing(filepath.Dir(file))))
	}
	failures.sort()
	return failures, warnings
}

func checkReadable(path string) error {
	_, err := os.ReadFile(path) //nolint:gosec // the operator chose the file
	if err != nil {
		return pemfile.Reason(err)
	}
	return nil
}

// checkFolder returns an error if files cannot be added to a folder.
func checkFolder(path string) error {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return errors.New("folder not found")
	case err != nil:
		return pemfile.Reason(err)
	case !info.IsDir():
		return errors.New("not a folder")
	}
	if err := checkWritable(path); err != nil {
		return fmt.Errorf("not writable (%w)", err)
	}
	return nil
}

// existing returns the folder, or the nearest folder above it that exists, because missing folders are
// created.
func existing(folder string) string {
	for {
		if _, err := os.Stat(folder); !os.IsNotExist(err) || folder == filepath.Dir(folder) {
			return folder
		}
		folder = filepath.Dir(folder)
	}
}
