package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestCheckFiles(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing")
	wrong := filepath.Join(dir, "letters")
	if err := errors.Join(os.Mkdir(wrong, 0o700), os.WriteFile(filepath.Join(wrong, "done.txt"), []byte("{{x}}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change            func(*Config)
		failures, warning string
	}{
		"no files":           {change: func(*Config) {}},
		"missing CA":         {func(c *Config) { c.Vault.CAFile = missing }, "vault.ca_file: file not found", ""},
		"unreadable CA":      {func(c *Config) { c.Vault.CAFile = dir }, "vault.ca_file: not readable (is a directory)", ""},
		"CA is not PEM":      {func(c *Config) { c.Vault.CAFile = text }, "vault.ca_file: not a PEM certificate", ""},
		"Vault not used":     {func(c *Config) { c.Vault.Address, c.Vault.CAFile = "", missing }, "", ""},
		"missing JWT":        {func(c *Config) { c.Vault.Auth, c.Vault.JWTFile = LoginKubernetes, missing }, "vault.jwt_file: file not found", ""},
		"JWT not used":       {func(c *Config) { c.Vault.JWTFile = missing }, "", ""},
		"journal":            {func(c *Config) { c.Privacy.ErasureJournal = dir }, "", ""},
		"missing journal":    {func(c *Config) { c.Privacy.ErasureJournal = missing }, "privacy.erasure_journal: folder not found", ""},
		"journal is a file":  {func(c *Config) { c.Privacy.ErasureJournal = text }, "privacy.erasure_journal: not a folder", ""},
		"journal in bucket":  {func(c *Config) { c.Privacy.ErasureJournal = "s3://missing" }, "", ""},
		"no letters":         {func(c *Config) { c.Privacy.Letters = missing }, "privacy.letters: no such file or directory", ""},
		"wrong letter":       {func(c *Config) { c.Privacy.Letters = wrong }, `privacy.letters: template: done.txt:1: function "x" not defined`, ""},
		"new snapshot":       {func(c *Config) { c.Database.SnapshotFile = filepath.Join(missing, "folder", "snapshot") }, "", ""},
		"snapshot in a file": {func(c *Config) { c.Database.SnapshotFile = filepath.Join(text, "snapshot") }, "", "database.snapshot_file: not a folder"},
	} {
		cfg := Defaults(Serve)
		cfg.Database.SnapshotFile, cfg.Vault.Address = "", "https://vault.example.com"
		c.change(cfg)
		failures, warnings := cfg.CheckFiles()
		for _, list := range []struct {
			got  Problems
			want string
		}{{failures, c.failures}, {warnings, c.warning}} {
			if list.want == "" && len(list.got) > 0 || list.want != "" && (len(list.got) != 1 || list.got[0].String() != list.want) {
				t.Errorf("%s: got %v, want %q", name, list.got, list.want)
			}
		}
	}
}
