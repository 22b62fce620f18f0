package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pingpost/pingpost/internal/dev/devvault"
)

const (
	vaultKeyFile = "vault-key" // a copy of the key in Vault, with all its versions
	vaultLogFile = "vault.log"
)

// Vault is the private Vault server of `pingpost dev`, with the identities of the Vault roles.
type Vault struct {
	Address string                       `json:"address"`
	Roles   map[string]devvault.Identity `json:"roles"` // by role: devvault.Serve, Read, Rewrap, Rotate, Expire

	server *devvault.Server
	dir    string
}

// startVault starts a Vault server that stores its data in memory. The server gets the key that is saved
// in the data folder or, if none is saved, a new key.
func startVault(ctx context.Context, dir string, onProgress func(string)) (_ *Vault, err error) {
	program, err := devvault.Find(ctx, onProgress)
	if err != nil {
		return nil, err
	}
	backup, err := os.ReadFile(filepath.Join(dir, vaultKeyFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot read %s: %w", filepath.Join(dir, vaultKeyFile), cause(err))
	}
	log, err := os.OpenFile(filepath.Join(dir, vaultLogFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", filepath.Join(dir, vaultLogFile), cause(err))
	}
	defer log.Close() // the process has its own descriptor
	v := &Vault{dir: dir}
	if v.server, err = devvault.Start(ctx, program, log); err != nil {
		return nil, err
	}
	v.Address = v.server.Address
	if v.Roles, err = v.server.Provision(ctx, string(backup)); err == nil {
		err = v.save(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, v.server.Stop())
	}
	return v, nil
}

// save saves Vault's key in the data folder, because Vault stores the key only in memory.
func (v *Vault) save(ctx context.Context) error {
	backup, err := v.server.Backup(ctx)
	if err != nil {
		return fmt.Errorf("saving Vault's key in the data folder: %w", err)
	}
	return WriteFile(filepath.Join(v.dir, vaultKeyFile), []byte(backup))
}

func (v *Vault) stop(ctx context.Context) error {
	select {
	case <-v.server.Ended():
		return errors.New("the private Vault stopped unexpectedly; see " + filepath.Join(v.dir, vaultLogFile))
	default:
	}
	return errors.Join(v.save(ctx), v.server.Stop())
}
