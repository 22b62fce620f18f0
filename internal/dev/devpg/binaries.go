package devpg

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// overrideName is the environment variable for the folder that contains either Postgres's programs
// (postgres, initdb, pg_ctl) or a subfolder bin with the programs.
const overrideName = "PINGPOST_POSTGRES_BIN"

// oldest is the oldest major version of Postgres that the migrations work with.
const oldest = 15

const installHint = "install Postgres (Debian: apt-get install postgresql; macOS: brew install postgresql), or set " + overrideName + " to the folder with its programs"

type search struct {
	Override   string
	Folders    []string // glob patterns
	Path       string
	Cache      string // folder for downloads
	Repository string // URL for downloads; if empty, the default of the embedded-postgres library
}

func systemSearch() search {
	return search{
		Override: os.Getenv(overrideName),
		Folders: []string{
			"/usr/lib/postgresql/*/bin",                      // Debian, Ubuntu
			"/usr/pgsql-*/bin",                               // Red Hat, from the Postgres project
			"/usr/libexec/postgresql*",                       // Alpine
			"/opt/homebrew/opt/postgresql*/bin",              // Homebrew on Apple silicon
			"/usr/local/opt/postgresql*/bin",                 // Homebrew on Intel
			"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin", // Homebrew on Linux
		},
		Path:  os.Getenv("PATH"),
		Cache: cacheFolder(),
	}
}

// cacheFolder returns the folder for downloads of Postgres. For root, this is a temporary folder,
// because the user that runs Postgres cannot access root's cache.
func cacheFolder() string {
	if own, err := os.UserCacheDir(); err == nil && os.Geteuid() != 0 {
		return filepath.Join(own, "pingpost", "postgres")
	}
	return filepath.Join(os.TempDir(), "pingpost-postgres")
}

// binaries is an installation of Postgres, or a version to download.
type binaries struct {
	folder   string
	major    int
	download bool
}

// find returns the Postgres installation whose major version is want. If want is 0, it returns the
// newest installation. If Postgres is not installed, it returns a version to download.
func (s search) find(want int) (binaries, error) {
	if s.Override != "" {
		b, err := s.overridden()
		if err == nil && want != 0 && b.major != want {
			err = mismatch(want, []binaries{b})
		}
		return b, err
	}
	var found []binaries
	for _, folder := range s.candidates() {
		if major, err := majorVersion(folder); err == nil && major >= oldest {
			found = append(found, binaries{folder: folder, major: major})
		}
	}
	if len(found) == 0 {
		if want == 0 {
			want = newestDownload
		}
		if _, known := downloads(want); !known {
			return binaries{}, fmt.Errorf("it requires Postgres %d, which is not installed: %s", want, installHint)
		}
		return binaries{major: want, download: true}, nil
	}
	best := slices.MaxFunc(found, func(a, b binaries) int { return a.major - b.major })
	if want == 0 || best.major == want {
		return best, nil
	}
	if i := slices.IndexFunc(found, func(b binaries) bool { return b.major == want }); i >= 0 {
		return found[i], nil
	}
	return binaries{}, mismatch(want, found)
}

func (s search) overridden() (binaries, error) {
	var err error
	for _, folder := range []string{s.Override, filepath.Join(s.Override, "bin")} {
		var major int
		if major, err = majorVersion(folder); err != nil {
			continue
		}
		if major < oldest {
			return binaries{}, fmt.Errorf("%s is set to Postgres %d, but %d or newer is required", overrideName, major, oldest)
		}
		return binaries{folder: folder, major: major}, nil
	}
	return binaries{}, fmt.Errorf("%s is set to %s, which has no usable Postgres (%w): set it to a folder with postgres, initdb and pg_ctl that the user that runs Postgres can access",
		overrideName, s.Override, err)
}

func (s search) candidates() []string {
	var folders []string
	for _, pattern := range s.Folders {
		matches, _ := filepath.Glob(pattern) // the patterns are valid constants
		folders = append(folders, matches...)
	}
	return append(folders, filepath.SplitList(s.Path)...)
}

var versionText = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// majorVersion returns the major version of the Postgres installation in a folder. It returns an error
// if one of the programs is missing, for example because only the client is installed.
func majorVersion(folder string) (int, error) {
	if !filepath.IsAbs(folder) {
		return 0, fmt.Errorf("%s is not an absolute path", folder)
	}
	for _, program := range []string{"initdb", "pg_ctl", "postgres"} {
		if _, err := os.Stat(filepath.Join(folder, program)); err != nil {
			return 0, err
		}
	}
	out, err := exec.Command(filepath.Join(folder, "postgres"), "--version").Output()
	if err != nil {
		return 0, err
	}
	m := versionText.FindSubmatch(out)
	if m == nil {
		return 0, errors.New("postgres --version printed no version")
	}
	return strconv.Atoi(string(m[1]))
}

func mismatch(want int, found []binaries) error {
	var have []string
	for _, b := range found {
		have = append(have, fmt.Sprintf("%d in %s", b.major, b.folder))
	}
	return fmt.Errorf("it was created by Postgres %d, but this machine has %s: install Postgres %d, set %s to its folder, or start with an empty --data-dir",
		want, strings.Join(have, ", "), want, overrideName)
}

const newestDownload = 18

func downloads(major int) (v embeddedpostgres.PostgresVersion, ok bool) {
	v, ok = map[int]embeddedpostgres.PostgresVersion{
		15: embeddedpostgres.V15, 16: embeddedpostgres.V16,
		17: embeddedpostgres.V17, 18: embeddedpostgres.V18,
	}[major]
	return v, ok
}

// This method changes config so that the embedded-postgres library uses this installation or downloads
// Postgres.
func (b binaries) use(config embeddedpostgres.Config, l layout, j job, say func(report)) (embeddedpostgres.Config, error) {
	if !b.download {
		// The library requires a folder that contains bin, so make bin a link to the programs'
		// folder. Postgres's programs resolve the link.
		root := filepath.Join(l.run(), "postgres")
		if err := os.Mkdir(root, 0o700); err != nil {
			return config, err
		}
		if err := os.Symlink(b.folder, filepath.Join(root, "bin")); err != nil {
			return config, err
		}
		// The library only compares this major version with that of the cluster.
		return config.BinariesPath(root).Version(embeddedpostgres.PostgresVersion(fmt.Sprintf("%d.0", b.major))), nil
	}
	if err := ownFolder(j.Search.Cache); err != nil {
		return config, err
	}
	for _, setting := range j.Proxy {
		name, value, _ := strings.Cut(setting, "=")
		if err := os.Setenv(name, value); err != nil {
			return config, err
		}
	}
	say(report{Downloading: true})
	if j.Search.Repository != "" {
		config = config.BinaryRepositoryURL(j.Search.Repository)
	}
	version, _ := downloads(b.major)
	return config.CachePath(j.Search.Cache).Version(version), nil
}

// ownFolder creates the folder for downloaded programs. It returns an error if the folder belongs to
// another user, who could have created it first and could replace the programs.
func ownFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if uid, _ := owner(info); !info.IsDir() || uid != uint32(os.Geteuid()) {
		return fmt.Errorf("the folder %s for downloads of Postgres belongs to another user: remove it, or %s", path,
			installHint)
	}
	return os.Chmod(path, 0o700)
}

func proxySettings() []string {
	var settings []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
		"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			settings = append(settings, name+"="+value)
		}
	}
	return settings
}
