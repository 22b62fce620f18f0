//go:build linux

// Package packages tests the packages of a release on a copy of this machine that systemd has started.
package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

const root = "../.."

func TestPackages(t *testing.T) {
	first, second := build(t, "0.1.0"), build(t, "0.1.1")
	t.Run("deb", func(t *testing.T) {
		machine(t, map[string]string{
			"first.deb": find(t, first, "*.deb"), "second.deb": find(t, second, "*.deb"), "machine.sh": "machine.sh",
		})
	})
	t.Run("rpm", func(t *testing.T) { checkRPM(t, find(t, first, "*.rpm")) })
}

// TestOtherSystems compiles the program for the other systems of a release.
func TestOtherSystems(t *testing.T) {
	for _, system := range []string{"darwin", "windows"} {
		build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags=nomsgpack", "-o", os.DevNull,
			"./cmd/pingpost")
		build.Dir = root
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH=amd64")
		if out, err := build.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", system, err, out)
		}
	}
}

// build builds the packages of a version for this machine's architecture with the settings of a release, and returns
// their folder.
func build(t *testing.T, version string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var settings map[string]any
	if err := yaml.Unmarshal(text, &settings); err != nil {
		t.Fatal(err)
	}
	dist := t.TempDir()
	settings["dist"], settings["snapshot"] = dist, map[string]string{"version_template": version}
	program := settings["builds"].([]any)[0].(map[string]any)
	program["goos"], program["goarch"] = []string{"linux"}, []string{runtime.GOARCH}
	text, err = yaml.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "goreleaser.yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	release := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/release/go.mod", "goreleaser", "release",
		"--snapshot", "--clean", "--skip=archive,sbom", "--config", file)
	release.Dir = root
	if out, err := release.CombinedOutput(); err != nil {
		t.Fatalf("goreleaser: %v\n%s", err, out)
	}
	return dist
}

// find returns the only file in a folder whose name matches a pattern.
func find(t *testing.T, folder, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("got the files %q (%v), want one %s", found, err, pattern)
	}
	return found[0]
}

// machine starts a machine with a copy of this machine's file system, whose changes are dropped, and runs machine.sh on
// it. The parameter files contains the paths of files by the names that they have in the script's folder.
func machine(t *testing.T, files map[string]string) {
	t.Helper()
	shared := t.TempDir()
	files["package-test.service"] = "machine.service"
	for name, path := range files {
		content, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(filepath.Join(shared, name), content, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// The mounts exist only for this command.
	const start = `mount -t tmpfs tmpfs "$1" && mkdir "$1/upper" "$1/work" "$1/root" &&
		mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root" &&
		exec systemd-nspawn --quiet --directory="$1/root" --boot --register=no --keep-unit --link-journal=no --console=pipe \
			--bind="$2:/packages" --bind-ro="$2/package-test.service:/run/systemd/system/package-test.service" \
			-- systemd.unit=package-test.service`
	boot := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", start, "sh", t.TempDir(), shared)
	console, err := boot.CombinedOutput()
	if err != nil {
		output, _ := os.ReadFile(filepath.Join(shared, "output"))
		t.Fatalf("%v\n%s\nmachine.sh:\n%s", err, console, output)
	}
}

// checkRPM checks what the package contains. It is not installed.
func checkRPM(t *testing.T, file string) {
	list, err := exec.CommandContext(t.Context(), "bsdtar", "-tf", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"/usr/bin/pingpost", "/usr/lib/systemd/system/pingpost.service", "/usr/lib/sysusers.d/pingpost.conf",
		"/etc/pingpost/pingpost.yaml", "/usr/share/man/man1/pingpost-serve.1.gz",
	} {
		if !slices.Contains(strings.Split(string(list), "\n"), want) {
			t.Errorf("%s is missing", want)
		}
	}
}
