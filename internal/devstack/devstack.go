// Package devstack is the embedded default behind `pingpost dev`: a private
// Postgres, generated keys, and demonstration partners, all in one data folder
// that the next start finds again.
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

	"github.com/pingpost/pingpost/internal/devpg"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/migrations"
)

const (
	databaseName   = "pingpost"
	keysFile       = "keys.json"
	runningFile    = "running.json"
	portFile       = "port" // of Postgres at the last start
	connectTimeout = 10 * time.Second
)

// Keys are what a data folder cannot be read without. They are made with the
// folder and stay in it: this is for development.
type Keys struct {
	PlatformKey   string            `json:"platform_key"`
	LeadVaultKEK  string            `json:"lead_vault_kek"`
	OwnerPassword string            `json:"owner_password"`
	AppPassword   string            `json:"app_password"`
	Secrets       map[string]string `json:"secrets"`   // of the demonstration partners, by slug
	Passwords     map[string]string `json:"passwords"` // of the demonstration staff, by e-mail address
}

// Running is what another command needs to work on a dev that runs.
type Running struct {
	DatabaseURL  string `json:"database_url"`
	OwnerURL     string `json:"owner_url"`
	PlatformKeys string `json:"platform_keys"`
	LeadVaultKEK string `json:"lead_vault_kek"`
	SecondPerson bool   `json:"second_person"` // publishing prices takes two
	Vault        *Vault `json:"vault,omitempty"`
}

// Stack is a running private Postgres with its keys.
type Stack struct {
	Keys        Keys
	DatabaseURL string // as pingpost_app
	Postgres    *devpg.Server
	Vault       *Vault // nil unless asked for
	dir         string
	ephemeral   bool
}

// Options say where the data are.
type Options struct {
	DataDir      string
	Ephemeral    bool // remove the folder at the end
	Vault        bool // start a Vault too
	SecondPerson bool // what other commands are to know of the configuration
	OnProgress   func(string)
}

// DefaultDataDir is .pingpost in the working folder. Postgres does not run as
// root; where root's working folder is closed to the user that Postgres runs as
// instead, it is a folder of its own below /var/lib/pingpost.
func DefaultDataDir() (string, error) {
	dir, err := filepath.Abs(".pingpost")
	if err != nil || devpg.Reachable(dir) == nil {
		return dir, err
	}
	return filepath.Join("/var/lib/pingpost", "dev-"+nameOf(dir)), nil
}

// Start makes or finds the data folder, starts Postgres on it, and brings the
// schema up to date. Its errors are for the person at the terminal.
func Start(ctx context.Context, o Options) (_ *Stack, err error) {
	// Others may pass through, since Postgres may run as another user; each file
	// in it is closed to them.
	if err := os.MkdirAll(o.DataDir, 0o711); err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be made: %w; name another with --data-dir", o.DataDir, cause(err))
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
	s := &Stack{Keys: keys, dir: o.DataDir, ephemeral: o.Ephemeral}
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
	// The next start takes the same port, so that a URL that somebody saved holds.
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
		PlatformKeys: keys.PlatformKey, LeadVaultKEK: keys.LeadVaultKEK,
		SecondPerson: o.SecondPerson, Vault: s.Vault,
	})
}

// readPort is 0, any port, where none was written down.
func readPort(dir string) int {
	text, _ := os.ReadFile(filepath.Join(dir, portFile))
	port, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return port
}

// Stop stops Vault and Postgres and waits for them; an ephemeral folder goes with
// them. ctx must not have ended.
func (s *Stack) Stop(ctx context.Context) error {
	err := s.Postgres.Stop()
	if s.Vault != nil {
		err = errors.Join(err, s.Vault.stop(ctx))
	}
	if s.ephemeral {
		return errors.Join(err, os.RemoveAll(s.dir))
	}
	if gone := os.Remove(filepath.Join(s.dir, runningFile)); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// ReadRunning finds the dev that runs on a data folder.
func ReadRunning(dir string) (Running, error) {
	var r Running
	text, err := os.ReadFile(filepath.Join(dir, runningFile))
	if errors.Is(err, os.ErrNotExist) {
		return r, fmt.Errorf("no `pingpost dev` runs on %s: start it, or give PINGPOST_DATABASE_URL and PINGPOST_PLATFORM_KEYS",
			dir)
	}
	if err != nil {
		return r, fmt.Errorf("%s cannot be read: %w", filepath.Join(dir, runningFile), cause(err))
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
			return k, fmt.Errorf("%s is damaged, and without its keys the leads in this folder cannot be read: put it back from a copy, or remove %s to begin anew",
				path, dir)
		}
		return k, nil
	case !errors.Is(err, os.ErrNotExist):
		return Keys{}, fmt.Errorf("%s cannot be read: %w", path, cause(err))
	}
	if _, err := os.Stat(cluster); err == nil {
		return Keys{}, fmt.Errorf("%s is missing, and without its keys the leads in this folder cannot be read: put it back from a copy, or remove %s to begin anew",
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

// writeJSON replaces a file whole: one that is half-written would lock its
// owner out of the data.
func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(path, append(text, '\n'))
}

// WriteFile writes a file that only its owner may read, whole or not at all.
func WriteFile(path string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, cause(err))
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // after the rename there is none
	_, err = temp.Write(content)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path)) // else a power cut may take the new name back
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, cause(err))
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

// cause is the system's word without the path, which the message names already.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
