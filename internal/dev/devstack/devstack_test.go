package devstack

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// newFolder returns a folder that the user that runs Postgres can access.
func newFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "devstack")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run starts a stack, creates the demo partners, calls work, and stops the stack. It returns the
// error from creating the partners.
func run(t *testing.T, dir string, work func(*Stack, *partners.Service, []Partner)) error {
	t.Helper()
	s, err := Start(t.Context(), Options{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	key, err := base64.StdEncoding.DecodeString(s.Keys.PlatformKey)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keyring.NewKeys([][]byte{key})
	if err != nil {
		t.Fatal(err)
	}
	limits := config.Defaults(config.Dev).Database
	db, err := postgres.Open(t.Context(), postgres.Options{
		URL:              s.DatabaseURL,
		MaxConnections:   2,
		ConnectTimeout:   limits.ConnectTimeout,
		StatementTimeout: limits.StatementTimeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	service := partners.NewService(db, keys, clock.System{})
	made, err := s.SeedPartners(t.Context(), service, keys)
	if err == nil {
		work(s, service, made)
	}
	return err
}

// TestFolderIsReused starts several times with one folder. Each start must keep an operator's
// changes, and must replace a revoked secret.
func TestFolderIsReused(t *testing.T) {
	dir := newFolder(t)
	const suspended, revoked, interrupted = 0, 1, 2
	var first []Partner
	var port int
	err := run(t, dir, func(s *Stack, service *partners.Service, made []Partner) {
		first, port = made, s.Postgres.Port()
		rows := make([]models.Partner, len(made))
		for i, p := range made {
			if p.Status != models.PartnerApproved || p.Secret == "" {
				t.Errorf("got the partner %+v", p)
			}
			var err error
			if rows[i], err = service.Find(t.Context(), scope.System, p.Slug); err != nil {
				t.Fatal(err)
			}
		}
		secrets, err := service.Secrets(t.Context(), scope.System, rows[revoked])
		if err != nil || len(secrets) != 1 {
			t.Fatalf("got %d secrets, want 1: %v", len(secrets), err)
		}
		if err := errors.Join(
			service.SetStatus(t.Context(), scope.System, rows[suspended].ID, models.PartnerSuspended),
			service.RevokeSecret(t.Context(), scope.System, rows[revoked], secrets[0].ID),
			// The state after a start that was interrupted before the approval.
			service.SetStatus(t.Context(), scope.System, rows[interrupted].ID, models.PartnerPending),
		); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	err = run(t, dir, func(s *Stack, service *partners.Service, made []Partner) {
		if got := s.Postgres.Port(); got != port && free(port) {
			t.Errorf("got port %d, want the previous port %d, which is free", got, port)
		}
		for i, p := range made {
			row, err := service.Find(t.Context(), scope.System, p.Slug)
			if err != nil {
				t.Fatal(err)
			}
			want := models.PartnerApproved
			if i == suspended {
				want = models.PartnerSuspended
			}
			if row.Status != want || p.Status != want {
				t.Errorf("%s is %s and returned as %s, want %s", p.Slug, row.Status, p.Status, want)
			}
			if renewed := p.Secret != first[i].Secret; renewed != (i == revoked) {
				t.Errorf("%s: the secret changed: %t", p.Slug, renewed)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Run("another port", func(t *testing.T) { portTaken(t, dir) })
	t.Run("another platform key", func(t *testing.T) { anotherPlatformKey(t, dir) })
}

func free(port int) bool {
	l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
	if err == nil {
		l.Close()
	}
	return err == nil
}

// portTaken starts while another program uses the port that is saved in the folder.
func portTaken(t *testing.T, dir string) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	if err := WriteFile(filepath.Join(dir, portFile), []byte(strconv.Itoa(taken))); err != nil {
		t.Fatal(err)
	}
	err = run(t, dir, func(s *Stack, _ *partners.Service, _ []Partner) {
		if got := s.Postgres.Port(); got == taken || readPort(dir) != got {
			t.Errorf("got port %d with %d taken and %d saved", got, taken, readPort(dir))
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// anotherPlatformKey starts with a valid key that is not the folder's. The start must fail, because
// this key cannot decrypt the existing secrets.
func anotherPlatformKey(t *testing.T, dir string) {
	path := filepath.Join(dir, keysFile)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var k Keys
	if err := json.Unmarshal(before, &k); err != nil {
		t.Fatal(err)
	}
	k.PlatformKey = key()
	if err := writeJSON(path, k); err != nil {
		t.Fatal(err)
	}
	err = run(t, dir, func(*Stack, *partners.Service, []Partner) { t.Error("the stack started") })
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"platform_key", path, dir} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in the message: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), "PINGPOST_PLATFORM_KEYS") || strings.Contains(err.Error(), k.PlatformKey) {
		t.Errorf("got the message %v", err)
	}
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t, dir, func(*Stack, *partners.Service, []Partner) {}); err != nil {
		t.Errorf("with the restored key: %v", err)
	}
}

func TestDamagedKeys(t *testing.T) {
	good := Keys{
		PlatformKey:   key(),
		LeadVaultKEK:  key(),
		OwnerPassword: "o",
		AppPassword:   "a",
		Secrets:       map[string]string{},
	}
	for name, change := range map[string]func(*Keys){
		"":                                  func(*Keys) {},
		"no platform key":                   func(k *Keys) { k.PlatformKey = "" },
		"a platform key that is not base64": func(k *Keys) { k.PlatformKey = "secret word" },
		"a platform key that is too short":  func(k *Keys) { k.PlatformKey = k.PlatformKey[:40] },
		"an invalid key for leads":          func(k *Keys) { k.LeadVaultKEK = "secret word" },
		"no password":                       func(k *Keys) { k.AppPassword = "" },
		"no secrets":                        func(k *Keys) { k.Secrets = nil },
	} {
		dir, k := newFolder(t), good
		change(&k)
		if err := writeJSON(filepath.Join(dir, keysFile), k); err != nil {
			t.Fatal(err)
		}
		_, err := loadKeys(dir, filepath.Join(dir, "postgres"))
		if name == "" && err != nil {
			t.Errorf("undamaged keys: %v", err)
		}
		if name != "" && (err == nil || !strings.Contains(err.Error(), "keys.json") ||
			strings.Contains(err.Error(), "secret word")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadPort(t *testing.T) {
	dir := newFolder(t)
	if got := readPort(dir); got != 0 {
		t.Errorf("got port %d without a file, want 0", got)
	}
	for text, want := range map[string]int{"5433\n": 5433, "": 0, "nonsense": 0} {
		if err := WriteFile(filepath.Join(dir, portFile), []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := readPort(dir); got != want {
			t.Errorf("%q: got port %d, want %d", text, got, want)
		}
	}
}

func TestWriteFileReplacesAndIsPrivate(t *testing.T) {
	path := filepath.Join(newFolder(t), "file")
	for _, text := range []string{"first", "second"} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v (%v)", info, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("got %q, want %q (%v)", got, text, err)
		}
	}
	if err := WriteFile(filepath.Join(path, "below a file"), nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
}
