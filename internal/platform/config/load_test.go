package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Keys for tests. Each consists of one letter, repeated 32 times.
const (
	keyA = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="
	keyB = "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI="
	keyC = "Q0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0M="
)

const databaseURL = "postgres://app:pw@localhost:5432/pingpost"

// sufficient returns all settings that serve requires.
func sufficient() []string {
	return []string{
		"PINGPOST_HTTP_API_ADDR=:8080",
		"PINGPOST_HTTP_ADMIN_ADDR=:8081",
		"PINGPOST_HTTP_OPS_ADDR=127.0.0.1:8082",
		"PINGPOST_HTTP_PUBLIC_URL=https://leads.example.com",
		"PINGPOST_HTTP_ADMIN_URL=https://console.example.com",
		"PINGPOST_DATABASE_URL=" + databaseURL,
		"PINGPOST_PLATFORM_KEYS=" + keyA,
		"LEAD_VAULT_KEK=" + keyC,
	}
}

// files is a file system, with the contents of files by name.
type files map[string]string

func (f files) read(name string) ([]byte, error) {
	content, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(content), nil
}

// loadText loads the text as pingpost.yaml, with these environment variables.
func loadText(text string, environ ...string) (*Config, error) {
	return load(Source{File: "pingpost.yaml", Environ: environ}, files{"pingpost.yaml": text}.read)
}

func mustLoad(t *testing.T, text string, environ ...string) *Config {
	t.Helper()
	cfg, err := loadText(text, environ...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// checkProblems compares the essence of an error's problems with want.
func checkProblems(t *testing.T, err error, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), essence(problemsOf(err))); diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

var (
	names = regexp.MustCompile(`PINGPOST_\w+|LEAD_VAULT_KEK|\b(?:http|database|keys|vault|signing|limits|retention|console|pricing|payouts|privacy|log|tracing|node)\.[a-z_]+(?:\[\d+\])?|\b[a-z]+_[a-z_]+\b`)
	urls  = regexp.MustCompile(`\b[a-z]+://\S+`)
)

// essence formats problems without prose, one per line. Each line has the problem's origin and path,
// and the settings that its text mentions.
func essence(ps Problems) string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		named := names.FindAllString(urls.ReplaceAllString(p.Text, ""), -1)
		p.Text = ""
		lines[i] = strings.Join(append([]string{p.String()}, named...), " ")
	}
	return strings.Join(lines, "\n")
}

func TestLoadUsesDefaults(t *testing.T) {
	got, err := Load(Source{Environ: sufficient()})
	if err != nil {
		t.Fatal(err)
	}
	want := Defaults(Serve)
	want.HTTP.APIAddr, want.HTTP.AdminAddr, want.HTTP.OpsAddr = ":8080", ":8081", "127.0.0.1:8082"
	want.HTTP.PublicURL, want.HTTP.AdminURL = "https://leads.example.com", "https://console.example.com"
	want.Database.URL = databaseURL
	want.Keys = Keys{Platform: []Secret{keyA}, Local: []Secret{keyC}, WriteWith: WrapperLocal}
	want.Node.useHostName()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got.Redacted(), want.Redacted())
	}
}

func TestLoadReadsEveryKindOfValue(t *testing.T) {
	cfg := mustLoad(t, `
# Comments and order do not matter.
log:
  access: false
  level: "debug"
http:
  api_addr: :9000
  trusted_proxies: [10.0.0.0/8, "2001:db8::/32"]
  read_timeout: 1m30s
database:
  max_connections: "40"
signing:
limits:
  post_concurrency:
keys:
  platform_keys:
    - `+keyA+`
    - `+keyB+`
`, slices.DeleteFunc(sufficient(), func(v string) bool {
		return strings.HasPrefix(v, "PINGPOST_PLATFORM") || strings.Contains(v, "API_ADDR")
	})...)

	for _, c := range []struct{ what, got, want string }{
		{"level", cfg.Log.Level, "debug"},
		{"api_addr", cfg.HTTP.APIAddr, ":9000"},
		{"trusted_proxies", strings.Join(cfg.HTTP.TrustedProxies, " "), "10.0.0.0/8 2001:db8::/32"},
		{"first key", cfg.Keys.Platform[0].Reveal(), keyA},
		{"second key", cfg.Keys.Platform[1].Reveal(), keyB},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	if cfg.Log.Access || cfg.HTTP.ReadTimeout != 90*time.Second || cfg.Database.MaxConnections != 40 {
		t.Errorf("access, read_timeout or max_connections not read:\n%s", cfg.Redacted())
	}
	if cfg.Limits.PostConcurrency != 256 {
		t.Errorf("a key without a value changed the default to %d", cfg.Limits.PostConcurrency)
	}
}

func TestEnvironmentOverridesFile(t *testing.T) {
	cfg := mustLoad(t, `
http:
  api_addr: ":1"
  trusted_proxies: [nonsense]
database: {url_file: /does/not/exist}
keys: {platform_keys: [nonsense, nonsense]}
log: {level: warn}
`, append(sufficient(), "PINGPOST_HTTP_TRUSTED_PROXIES=10.0.0.0/8, 192.0.2.7/32", "PINGPOST_LOG_LEVEL= ",
		"UNRELATED=x", "malformed")...)

	if cfg.HTTP.APIAddr != ":8080" || cfg.Database.URL.Reveal() != databaseURL || cfg.Keys.Platform[0].Reveal() != keyA {
		t.Errorf("the file overrode the environment:\n%s", cfg.Redacted())
	}
	if !slices.Equal(cfg.HTTP.TrustedProxies, []string{"10.0.0.0/8", "192.0.2.7/32"}) {
		t.Errorf("trusted proxies %q", cfg.HTTP.TrustedProxies)
	}
	if cfg.Log.Level != "warn" {
		t.Errorf("an empty variable overrode the file with %q", cfg.Log.Level)
	}
}

func TestSecretsFromFiles(t *testing.T) {
	disk := files{
		"pingpost.yaml": "database:\n  url:\n  url_file: /run/url\n",
		"/run/url":      "\n " + databaseURL + "\r\n",
		"/run/keys":     keyA + "\n" + keyB + "\n",
		"/run/kek":      keyC,
	}
	environ := append(sufficient()[:5], "PINGPOST_PLATFORM_KEYS_FILE=/run/keys", "LEAD_VAULT_KEK_FILE=/run/kek")
	cfg, err := load(Source{File: "pingpost.yaml", Environ: environ}, disk.read)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Database.URL.Reveal() != databaseURL || len(cfg.Keys.Local) != 1 || cfg.Keys.Local[0].Reveal() != keyC {
		t.Error("url or local_kek is not the trimmed content of its file")
	}
	if got := cfg.Keys.PlatformKeys(); len(got) != 2 || string(got[1]) != strings.Repeat("B", 32) {
		t.Errorf("got %d platform keys from the file, want 2", len(got))
	}
}

// If a key file cannot be read, the key is not also reported as missing.
func TestUnreadableKeyFileIsOneProblem(t *testing.T) {
	const text = "keys: {local_kek_file: /run/kek, write_with: local}\n"
	_, err := load(Source{File: "pingpost.yaml", Environ: sufficient()[:7]}, files{"pingpost.yaml": text}.read)
	checkProblems(t, err, "pingpost.yaml:1: keys.local_kek")
	_, err = loadText("keys: {write_with: local}\n", sufficient()[:7]...)
	checkProblems(t, err, "pingpost.yaml:1: keys.write_with keys.local_kek LEAD_VAULT_KEK")
}

func TestLoadReadsFromDisk(t *testing.T) {
	dir := t.TempDir()
	config, secret := filepath.Join(dir, "pingpost.yaml"), filepath.Join(dir, "url")
	if err := errors.Join(
		os.WriteFile(config, []byte("database: {url_file: "+secret+"}"), 0o600),
		os.WriteFile(secret, []byte(databaseURL), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(Source{File: config, Need: []Section{SectionDatabase}})
	if err != nil || cfg.Database.URL.Reveal() != databaseURL {
		t.Fatalf("url not read from the file: %v", err)
	}
	_, err = Load(Source{File: dir, Need: []Section{SectionLog}})
	checkProblems(t, err, dir)
}

func TestUnknownReadErrorIsNotRepeated(t *testing.T) {
	_, err := load(Source{File: "pingpost.yaml"}, func(string) ([]byte, error) { return nil, errors.New("hunter2") })
	checkProblems(t, err, "pingpost.yaml")
}

func TestNeedIgnoresOtherSections(t *testing.T) {
	disk := files{"pingpost.yaml": "http: {read_timeout: soon}\nkeys: {local_kek_file: /unreadable}\n"}
	src := Source{
		File:    "pingpost.yaml",
		Environ: []string{"PINGPOST_DATABASE_URL=" + databaseURL},
		Need:    []Section{SectionDatabase},
	}
	cfg, err := load(src, disk.read)
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Redacted(); !strings.HasPrefix(got, "database:\n") || strings.Contains(got, "http:") {
		t.Errorf("sections that are not needed are printed:\n%s", got)
	}
	if err := cfg.Validate(); err != nil {
		t.Errorf("Validate checked other sections: %v", err)
	}
	if got := cfg.Warnings(); len(got) > 0 {
		t.Errorf("got warnings about other sections: %q", got)
	}

	disk["pingpost.yaml"] += "log: {levle: debug}\n"
	_, err = load(src, disk.read)
	checkProblems(t, err, "pingpost.yaml:3: log.levle")
}

// A program can need a single setting of a section. The other settings in the section are neither required nor checked.
func TestNeedSingleSetting(t *testing.T) {
	need := []Section{SectionDatabase, SettingPublicURL}
	disk := files{"pingpost.yaml": "http: {read_timeout: soon, ops_addr: nonsense}\ndatabase: {url: " + databaseURL + "}\n"}
	load := func(url string) (*Config, error) {
		return load(Source{File: "pingpost.yaml", Environ: []string{"PINGPOST_HTTP_PUBLIC_URL=" + url}, Need: need}, disk.read)
	}
	cfg, err := load("https://leads.example.com")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.HTTP.PublicURL != "https://leads.example.com" || cfg.HTTP.OpsAddr != "" {
		t.Errorf("got the addresses %+v, want only the public URL", cfg.HTTP)
	}
	if got := cfg.Redacted(); !strings.HasPrefix(got, "http:\n  public_url: \"https://leads.example.com\"\ndatabase:\n") {
		t.Errorf("settings that are not needed are printed:\n%s", got)
	}
	if err := cfg.Validate(); err != nil {
		t.Errorf("Validate checked other settings: %v", err)
	}
	_, err = load("")
	checkProblems(t, err, "http.public_url PINGPOST_HTTP_PUBLIC_URL")
	_, err = load("leads.example.com")
	checkProblems(t, err, "PINGPOST_HTTP_PUBLIC_URL: http.public_url")
}

func TestDevIgnoresMissingSettings(t *testing.T) {
	cfg, err := Load(Source{Defaults: Dev, Environ: []string{"PINGPOST_KEYS_WRITE_WITH=local"}})
	if err != nil {
		t.Fatal(err)
	}
	checkProblems(t, cfg.Validate(),
		"database.url PINGPOST_DATABASE_URL",
		"http.admin_url PINGPOST_HTTP_ADMIN_URL",
		"http.public_url PINGPOST_HTTP_PUBLIC_URL",
		"keys.platform_keys PINGPOST_PLATFORM_KEYS",
		"keys.write_with keys.local_kek LEAD_VAULT_KEK",
	)
	cfg.Database.URL = databaseURL
	cfg.HTTP.PublicURL, cfg.HTTP.AdminURL = "http://127.0.0.1:8080", "http://127.0.0.1:8081"
	cfg.Keys.Platform, cfg.Keys.Local = []Secret{keyA}, []Secret{keyC}
	if err := cfg.Validate(); err != nil {
		t.Errorf("complete configuration: %v", err)
	}

	_, err = Load(Source{Defaults: Dev, Environ: []string{"PINGPOST_DATABASE_URL=mysql://x"}})
	checkProblems(t, err, "PINGPOST_DATABASE_URL: database.url")
}

func TestLoadReportsAllProblems(t *testing.T) {
	_, err := loadText("http:\n  api_adr: x\nlog:\n  format: xml\n", "PINGPOST_LOG_LEVEL=loud", "PINGPOST_LOG_LEVLE=info")
	want := []string{
		"PINGPOST_LOG_LEVLE PINGPOST_LOG_LEVEL",
		"database.url PINGPOST_DATABASE_URL",
		"http.admin_addr PINGPOST_HTTP_ADMIN_ADDR",
		"http.api_addr PINGPOST_HTTP_API_ADDR",
		"pingpost.yaml:2: http.api_adr api_addr",
		"http.ops_addr PINGPOST_HTTP_OPS_ADDR",
		"http.public_url PINGPOST_HTTP_PUBLIC_URL",
		"keys.platform_keys PINGPOST_PLATFORM_KEYS",
		"pingpost.yaml:4: log.format",
		"PINGPOST_LOG_LEVEL: log.level",
	}
	checkProblems(t, err, want...)
	text := strings.Split(err.Error(), "\n")
	if len(text) != 1+len(want) || !strings.HasPrefix(text[0], "10 ") {
		t.Errorf("%d lines: %v", len(text), err)
	}
}

func TestOneProblemIsOneLine(t *testing.T) {
	_, err := loadText("log: {level: loud}", sufficient()...)
	checkProblems(t, err, "pingpost.yaml:1: log.level")
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %v", err)
	}
}
