//go:build linux

// Package image tests the container image. It needs no container runtime.
package image

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// TestImage builds the last stage of deploy/Dockerfile, and runs the tests of the program in its file system.
func TestImage(t *testing.T) {
	context, storage := t.TempDir(), t.TempDir()
	run(t, root, "deploy/image/root", filepath.Join(context, "root-folder"))
	buildah := func(args ...string) string {
		t.Helper()
		return run(t, root, "buildah", append([]string{
			"--storage-driver", "vfs", "--root", storage + "/root", "--runroot", storage + "/run",
		}, args...)...)
	}
	image := buildah("build", "--quiet", "--isolation", "chroot", "--format", "docker",
		"--build-context", "build="+context, "--file", "deploy/Dockerfile", context)
	container := buildah("from", image)
	checkSettings(t, buildah("inspect", "--type", "image", image))
	files := buildah("mount", container)
	t.Cleanup(func() { buildah("umount", container) })
	checkFiles(t, files)

	program := filepath.Join(context, "pingpost")
	if err := os.WriteFile(program, []byte(strings.ReplaceAll(inImage, "FILES", files)), 0o755); err != nil {
		t.Fatal(err)
	}
	test := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", "^(TestOperator|TestUsage|TestSign)$",
		"./cmd/pingpost")
	test.Dir, test.Env = root, append(os.Environ(), "PINGPOST_TEST_PROGRAM="+program)
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("the program's tests in the image: %v\n%s", err, out)
	}
}

// inImage runs the program in the image's file system, which is read-only except for its two working folders, as the
// image's user. Dev runs outside, because it starts Postgres.
const inImage = `#!/bin/sh
[ "$1" != dev ] || exec FILES/pingpost "$@"
exec unshare --mount sh -c '
	mount --bind FILES FILES && mount -o remount,bind,ro FILES &&
	mount --bind /tmp FILES/tmp && mount -t tmpfs tmpfs FILES/var/lib/pingpost &&
	exec unshare --user --map-user=65532 --map-group=65532 --root=FILES --wd=/var/lib/pingpost /pingpost "$@"' sh "$@"
`

func run(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	command := exec.Command(name, args...) // also used for cleaning up, when the test's context has ended
	command.Dir = folder
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func checkSettings(t *testing.T, text string) {
	t.Helper()
	var image struct {
		Docker struct {
			Config struct {
				User            string
				Entrypoint, Cmd []string
				Healthcheck     struct{ Test []string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &image); err != nil {
		t.Fatal(err)
	}
	settings := image.Docker.Config
	if settings.User != "65532:65532" ||
		strings.Join(append(settings.Entrypoint, settings.Cmd...), " ") != "/pingpost serve" ||
		strings.Join(settings.Healthcheck.Test, " ") != "CMD /pingpost health" {
		t.Errorf("got %+v", settings)
	}
}

// checkFiles checks that the image contains exactly what the program needs.
func checkFiles(t *testing.T, files string) {
	t.Helper()
	for name, mode := range map[string]os.FileMode{
		"pingpost": 0o755, "etc/passwd": 0o644, "etc/group": 0o644, "etc/ssl/certs/ca-certificates.crt": 0o644,
		"usr/share/zoneinfo.zip": 0o644, "var/lib/pingpost": 0o700 | os.ModeDir,
		"usr/share/doc/pingpost/LICENSE": 0o644, "usr/share/doc/pingpost/licenses/go/LICENSE": 0o644,
		"tmp": 0o777 | os.ModeSticky | os.ModeDir,
	} {
		info, err := os.Stat(filepath.Join(files, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode() != mode || info.Mode().IsRegular() && info.Size() == 0 {
			t.Errorf("%s: got mode %s and %d bytes", name, info.Mode(), info.Size())
		}
	}
	count := 0
	licenses := filepath.Join(files, "usr/share/doc/pingpost/licenses")
	err := filepath.WalkDir(files, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.HasPrefix(path, licenses) {
			count++
		}
		return err
	})
	if err != nil || count != 6 {
		t.Errorf("got %d files and %v, want 6", count, err)
	}
	modules := run(t, root, "go", "list", "-deps", "-tags", "nomsgpack", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./cmd/pingpost")
	for _, module := range strings.Fields(modules) {
		if found, err := os.ReadDir(filepath.Join(licenses, module)); err != nil || len(found) == 0 {
			t.Errorf("no license of %s: %v", module, err)
		}
	}
}
