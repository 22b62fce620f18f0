// Package devstack starts the private Postgres of `pingpost dev`, and generates its keys, demo partners
// and demo users. It stores all data in one folder, which the next start uses again.
package devstack

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devpg"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/migrations"
)

const (
	databaseName   = "pingpost"
	keysFile       = "keys.json"
	runningFile    = "running.json"
	journalFolder  = "erasures"
	portFile       = "port" // Postgres's port at the last start
	connectTimeout = 10 * time.Second
)

// Keys contains the keys and passwords of a data folder. They are generated when the folder is created,
// and stored in it. This is acceptable only for development.
type Keys struct {
	PlatformKey   string            `json:"platform_key"`
	LeadVaultKEK  string            `json:"lead_vault_kek"`
	OwnerPassword string            `json:"owner_password"`
	AppPassword   string            `json:"app_password"`
	Secrets       map[string]string `json:"secrets"`   // of the demo partners, by slug
	Passwords     map[string]string `json:"passwords"` // of the demo users, by email address
}

// Running contains the settings that other commands need to use a running `pingpost dev`.
type Running struct {
	DatabaseURL     string           `json:"database_url"`
	OwnerURL        string           `json:"owner_url"`
	PlatformKeys    string           `json:"platform_keys"`
	LeadVaultKEK    string           `json:"lead_vault_kek"`
	ErasureJournal  string           `json:"erasure_journal"`  // the path of its folder
	PricingApproval bool             `json:"pricing_approval"` // pricing.require_approval
	PrivacyApproval bool             `json:"privacy_approval"` // privacy.require_approval
	PrivacyLaw      string           `json:"privacy_law"`      // privacy.law
	Retention       config.Retention `json:"retention"`
	ClockOffset     time.Duration    `json:"clock_offset"` // by which the service's clock is ahead
	Vault           *Vault           `json:"vault,omitempty"`
}

// Stack is a running private Postgres with its keys.
type Stack struct {
	Keys           Keys
	DatabaseURL    string // for the role pingpost_app
	ErasureJournal string // the path of its folder
	Postgres       *devpg.Server
	Vault          *Vault // nil unless Options.Vault is set
	dir            string
	ephemeral      bool
}

// Options configures Start.
type Options struct {
	DataDir   string
	Ephemeral bool // remove the folder in Stop
	Vault     bool // also start Vault
	// These are saved in Running.
	PricingApproval, PrivacyApproval bool
	PrivacyLaw                       string
	Retention                        config.Retention
	ClockOffset                      time.Duration
	OnProgress                       func(string)
}

// DefaultDataDir returns .pingpost in the working folder. If the program runs as root and the
// user that runs Postgres cannot access that folder, it returns a folder in /var/lib/pingpost.
func DefaultDataDir() (string, error) {
	dir, err := filepath.Abs(".pingpost")
	if err != nil || devpg.Reachable(dir) == nil {
		return dir, err
	}
	return filepath.Join("/var/lib/pingpost", "dev-"+nameOf(dir)), nil
}

// Start creates the data folder if it is missing, starts Postgres in it, and migrates the schema. The
// errors of Start are meant for the user at the terminal.
func Start(ctx context.Context, o Options) (_ *Stack, err error) {
	// Postgres may run as another user, so other users may access subfolders but not list the
	// folder. Only the owner can read the files in it.
	if err := os.MkdirAll(o.DataDir, 0o711); err != nil {
		return nil, fmt.Errorf("cannot create the data folder %s: %w; choose another with --data-dir", o.DataDir, cause(err))
	}
	defer func() {
		if err != nil && o.Ephemeral {
			err = errors.Join(err, os.RemoveAll(o.DataDir))
		}
	}()
	cluster := filepath.Join(o.DataDir, "postgres")
	keys, err := loadKeys(o.DataDir, cluster)
	if err != nil {
		return nil, err
	}
	erasures, err := filepath.Abs(filepath.Join(o.DataDir, journalFolder))
	if err != nil {
		return nil, err
	}
	s := &Stack{Keys: keys, ErasureJournal: erasures, dir: o.DataDir, ephemeral: o.Ephemeral}
	if err := os.MkdirAll(s.ErasureJournal, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create the folder %s: %w", s.ErasureJournal, cause(err))
	}
	s.Postgres, err = devpg.Start(ctx, devpg.Options{
		DataDir: cluster, Durable: true, Temporary: o.Ephemeral, Prefer: readPort(o.DataDir),
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if err := s.Postgres.Provision(ctx, databaseName, devpg.Passwords{Owner: keys.OwnerPassword, App: keys.AppPassword}); err != nil {
		return nil, fmt.Errorf("preparing the database: %w", err)
	}
	ownerURL := s.Postgres.URL(devpg.OwnerRole, keys.OwnerPassword, databaseName)
	s.DatabaseURL = s.Postgres.URL(devpg.AppRole, keys.AppPassword, databaseName)
	owner, err := postgres.OpenOwner(ownerURL, connectTimeout)
	if err != nil {
		return nil, err
	}
	defer owner.Close()
	if _, err := migrations.Up(ctx, owner); err != nil {
		return nil, err
	}
	// The next start uses the same port, so that saved database URLs still work.
	if err := WriteFile(filepath.Join(s.dir, portFile), fmt.Appendln(nil, s.Postgres.Port())); err != nil {
		return nil, err
	}
	if o.Vault {
		if s.Vault, err = startVault(ctx, o.DataDir, o.OnProgress); err != nil {
			return nil, err
		}
	}
	return s, writeJSON(filepath.Join(s.dir, runningFile), Running{
		DatabaseURL: s.DatabaseURL, OwnerURL: ownerURL,
		PlatformKeys: keys.PlatformKey, LeadVaultKEK: keys.LeadVaultKEK, ErasureJournal: s.ErasureJournal,
		PricingApproval: o.PricingApproval, PrivacyApproval: o.PrivacyApproval, PrivacyLaw: o.PrivacyLaw, Retention: o.Retention,
		ClockOffset: o.ClockOffset, Vault: s.Vault,
	})
}

func readPort(dir string) int {
	text, _ := os.ReadFile(filepath.Join(dir, portFile))
	port, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return port
}

// Stop stops Vault and Postgres, waits until they have exited, and removes an ephemeral folder. The
// context ctx must not have ended yet.
func (s *Stack) Stop(ctx context.Context) error {
	err := s.Postgres.Stop()
	if s.Vault != nil {
		err = errors.Join(err, s.Vault.stop(ctx))
	}
	if s.ephemeral {
		return errors.Join(err, os.RemoveAll(s.dir))
	}
	if removed := os.Remove(filepath.Join(s.dir, runningFile)); !errors.Is(removed, os.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// ReadRunning returns the settings of the `pingpost dev` that is running in a data folder.
func ReadRunning(dir string) (Running, error) {
	var r Running
	text, err := os.ReadFile(filepath.Join(dir, runningFile))
	if errors.Is(err, os.ErrNotExist) {
		return r, fmt.Errorf("no `pingpost dev` is running in %s: start it, or set PINGPOST_DATABASE_URL and PINGPOST_PLATFORM_KEYS",
			dir)
	}
	if err != nil {
		return r, fmt.Errorf("cannot read %s: %w", filepath.Join(dir, runningFile), cause(err))
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s is damaged: restart `pingpost dev`", filepath.Join(dir, runningFile))
	}
	return r, nil
}

func loadKeys(dir, cluster string) (Keys, error) {
	path := filepath.Join(dir, keysFile)
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		var k Keys
		k.Secrets = map[string]string{}
		if json.Unmarshal(text, &k) != nil || k.Secrets == nil || !isKey(k.PlatformKey) || !isKey(k.LeadVaultKEK) ||
			k.AppPassword == "" || k.OwnerPassword == "" {
			return k, fmt.Errorf("%s is damaged, and the leads in this folder cannot be read without its keys: restore it from a copy, or remove %s to start over without its data",
				path, dir)
		}
		return k, nil
	case !errors.Is(err, os.ErrNotExist):
		return Keys{}, fmt.Errorf("cannot read %s: %w", path, cause(err))
	}
	if _, err := os.Stat(cluster); err == nil {
		return Keys{}, fmt.Errorf("%s is missing, and the leads in this folder cannot be read without its keys: restore it from a copy, or remove %s to start over without its data",
			path, dir)
	}
	k := Keys{
		PlatformKey:   key(),
		LeadVaultKEK:  key(),
		OwnerPassword: rand.Text(),
		AppPassword:   rand.Text(),
		Secrets:       map[string]string{},
	}
	return k, writeJSON(path, k)
}

func key() string {
	var raw [32]byte
	rand.Read(raw[:])
	return base64.StdEncoding.EncodeToString(raw[:])
}

func isKey(text string) bool {
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	return err == nil && len(raw) == keyring.KeySize
}

// writeJSON replaces a file atomically. The file may contain keys. If they were only half written, the
// data that they encrypt would be lost.
func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(path, append(text, '\n'))
}

// WriteFile replaces a file atomically. Only the owner can read the file.
func WriteFile(path string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, cause(err))
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // it does not exist after the rename
	_, err = temp.Write(content)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path)) // so that the rename survives a power failure
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, cause(err))
	}
	return nil
}

func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// cause returns the operating system's error without the path, which the caller's message already
// contains.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
