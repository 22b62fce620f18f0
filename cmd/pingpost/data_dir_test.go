package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/devstack"
)

// TestDataFolder starts dev several times with the same data folder, searches its files for
// secrets, and then damages the files one by one.
func TestDataFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(folder(t), "data")
	first := startDev(t, nil, "--data-dir", dir)
	delivered := first.partner(0).deliver(t)
	t.Run("one at a time", func(t *testing.T) {
		tryDev(t, "--data-dir", dir).fails(t, 1, dir)
	})
	if code := first.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, first.stderr.String())
	}
	nothingRunsOn(t, dir)
	t.Run("no plaintext", func(t *testing.T) { noPlaintext(t, dir, first) })

	again := startDev(t, []string{"PINGPOST_DATA_DIR=" + dir})
	for i, p := range again.Partners {
		if p.Secret != first.Partners[i].Secret || p.Slug != first.Partners[i].Slug {
			t.Errorf("the secret of %s has changed", p.Slug)
		}
	}
	status, header, answer := again.partner(0).send(t, "post", delivered.body, true)
	if status != http.StatusOK || header.Get("Idempotent-Replayed") != "true" || member(t, answer, "leadId") != delivered.id {
		t.Errorf("replay of the first start's post: got %d %s", status, answer)
	}
	again.partner(0).deliver(t)
	if code := again.interrupt(t); code != 0 {
		t.Errorf("exit code %d: %s", code, again.stderr.String())
	}
	nothingRunsOn(t, dir)
	t.Run("damaged", func(t *testing.T) { damagedFolder(t, dir) })
}

// noPlaintext searches all files in a data folder (tables, write-ahead log, Postgres's log)
// for secrets and personal data. Only keys.json may contain secrets.
func noPlaintext(t *testing.T, dir string, d *development) {
	words := map[string]string{"the email address": personal, "the notes": "quillfeather"}
	for _, p := range d.Partners {
		words["the secret of "+p.Slug] = p.Secret
	}
	files, consents := 0, 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == "keys.json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		consents += bytes.Count(text, []byte("SW1A 1AA"))
		for what, word := range words {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s is in plaintext in %s", what, path)
			}
		}
		return nil
	})
	if err != nil || files < 500 || consents == 0 {
		t.Errorf("searched %d files and found the postcode, which is in plaintext, %d times (%v)", files, consents, err)
	}
}

// tryDev runs `pingpost dev`, which is expected to fail.
func tryDev(t *testing.T, args ...string) outcome {
	t.Helper()
	return pingpost(t,
		append([]string{"dev", "--api-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0"},
			args...)...)
}

// damagedFolder removes or overwrites single files in a data folder. The error message must contain
// the file's name, and dev must not delete any data.
func damagedFolder(t *testing.T, dir string) {
	before := contents(t, dir)
	for _, c := range []struct {
		name, file, content string // empty content removes the file
		says                []string
	}{
		{"no keys", "keys.json", "", []string{"keys.json", dir}},
		{"keys that are not JSON", "keys.json", "{", []string{"keys.json"}},
		{"a missing key", "keys.json", `{"platform_key":"x"}`, []string{"keys.json"}},
		{"another platform key", "keys.json", anotherKey(t, dir), []string{"platform_key", dir + "/keys.json"}},
		{"no version", "postgres/cluster/PG_VERSION", "", []string{dir, "PG_VERSION"}},
		{"an invalid version", "postgres/cluster/PG_VERSION", "nonsense\n", []string{dir, "PG_VERSION"}},
		{"no control file", "postgres/cluster/global/pg_control", "", []string{dir, "pg_control"}},
		{"an invalid control file", "postgres/cluster/global/pg_control", strings.Repeat("x", 8192),
			[]string{dir, "postgres.log"}},
		{"no password", "postgres/password", "", []string{dir, "password"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, c.file)
			aside := path + ".aside"
			if err := os.Rename(path, aside); err != nil {
				t.Fatal(err)
			}
			if c.content != "" {
				writeLike(t, aside, path, c.content)
			}
			tryDev(t, "--data-dir", dir).fails(t, 1, c.says...)
			if err := os.Rename(aside, path); err != nil {
				t.Fatal(err)
			}
			nothingRunsOn(t, dir)
		})
	}
	if after := contents(t, dir); after != before {
		t.Errorf("got %d files, want %d", after, before)
	}
}

// anotherKey returns the content of keys.json with a different platform key.
func anotherKey(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	var keys devstack.Keys
	if err := json.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(text), keys.PlatformKey, "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=", 1)
}

// writeLike writes content to path, with the same mode and owner as an existing file.
func writeLike(t *testing.T, like, path, content string) {
	t.Helper()
	info, err := os.Stat(like)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), info.Mode().Perm()); err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
		t.Fatal(err)
	}
}

// contents counts the files that contain the tables of the database cluster.
func contents(t *testing.T, dir string) (files int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "postgres", "cluster", "base"), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files++
		}
		return err
	})
	if err != nil || files < 500 {
		t.Fatalf("%d files: %v", files, err)
	}
	return files
}

// TestDevRejects checks errors that dev reports before it starts anything.
func TestDevRejects(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	dir := filepath.Join(folder(t), "data")
	file := filepath.Join(folder(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, listener := range []string{"api", "admin", "ops"} {
		flag := "--" + listener + "-addr"
		tryDev(t, "--data-dir", dir, flag, taken.Addr().String()).
			fails(t, 1, taken.Addr().String(), flag)
	}
	tryDev(t, "--data-dir", dir, "--api-addr", taken.Addr().String(), "--ops-addr", taken.Addr().String()).
		fails(t, 1, "--api-addr", "--ops-addr") // both in one message
	for _, nonsense := range []string{"foo", "127.0.0.1:99999", "203.0.113.7:0"} {
		tryDev(t, "--data-dir", dir, "--admin-addr", nonsense).fails(t, 1, nonsense, "--admin-addr")
	}
	for _, path := range []string{filepath.Join(dir, "ready.json"), filepath.Dir(file), filepath.Join(file, "ready.json")} {
		o := tryDev(t, "--data-dir", dir, "--ready-file", path)
		o.fails(t, 1, path, "--ready-file")
		if strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("want one line, got: %s", o.stderr)
		}
	}
	gone(t, dir) // Postgres was not started
	tryDev(t, "--data-dir", file).fails(t, 1, file, "--data-dir")
	tryDev(t, "--data-dir", dir, "--ephemeral").fails(t, 2, "--ephemeral", "--data-dir")
	tryDev(t, "--dat-dir", dir).fails(t, 2, "--dat-dir", "pingpost dev --help")
	tryDev(t, "--data-dir", dir, "--clock-offset", "soon").fails(t, 2, "--clock-offset")
	call(t, "", []string{"PINGPOST_HTTP_API_ADR=:1", "PINGPOST_LOG_LEVEL=loud"}, "dev", "--data-dir", dir).
		fails(t, 1, "PINGPOST_HTTP_API_ADR", "PINGPOST_HTTP_API_ADDR", "log.level")
	gone(t, dir)
}
