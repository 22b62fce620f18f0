package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/failurelog"
	"github.com/pingpost/pingpost/internal/base/filewatch"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
)

const (
	// secretsEvery is how often a node checks whether a file with a secret has changed.
	secretsEvery = time.Second
	// secretsTimeout limits how long the check of new keys against the database may take.
	secretsTimeout = 10 * time.Second
)

// secrets reads the secrets of a running node again.
type secrets struct {
	files  *filewatch.Files
	read   func() (*config.Config, error)
	hangup <-chan os.Signal
}

func newSecrets(o Options) *secrets {
	if o.ReadConfig == nil {
		return nil
	}
	return &secrets{filewatch.New(o.Config.SecretFiles()...), o.ReadConfig, o.Hangup}
}

// followSecrets reads the secrets again when one of their files changes, and when the node gets SIGHUP. If a secret
// cannot be used, the previous one stays in use, and all secrets are read again every second.
func (a *App) followSecrets(ctx context.Context) {
	if a.secrets == nil {
		return
	}
	tick := time.NewTicker(secretsEvery)
	defer tick.Stop()
	var failure failurelog.State
	due := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.secrets.hangup:
			due = true
		case <-tick.C:
		}
		due = a.secrets.files.Changed() || due
		if !due {
			continue
		}
		err := a.replaceSecrets(ctx)
		due = err != nil
		switch {
		case err == nil:
			failure.End()
			a.log.Info("secrets read again")
		case ctx.Err() == nil && failure.Due(err.Error(), clock.System{}.Now()):
			a.log.Error("cannot use the changed secrets, using the previous ones", "error", err)
		}
	}
}

// replaceSecrets reads the configuration and replaces the secrets. Platform keys are replaced only if they decrypt all
// signing secrets, and local keys only if the first one is registered.
func (a *App) replaceSecrets(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, secretsTimeout)
	defer cancel()
	next, err := a.secrets.read()
	if err != nil {
		return err
	}
	if err := a.db.ReplaceURL(next.Database.URL.Reveal()); err != nil {
		return err
	}
	a.keys.replaceLogins(next.Vault)
	journal.SetCredentials(a.journal, next.Privacy.JournalAccessKey, next.Privacy.JournalSecretKey.Reveal())
	if err := a.replacePlatformKeys(ctx, next.Keys.PlatformKeys()); err != nil {
		return err
	}
	if err := a.replaceLocalKeys(ctx, next); err != nil {
		return err
	}
	if others := config.ChangedSettings(a.cfg, next); len(others) > 0 {
		a.log.Warn("restart the node to use the other changed settings", "settings", strings.Join(others, ", "))
	}
	return nil
}

// replacePlatformKeys replaces the platform keys, unless a signing secret could then not be read.
func (a *App) replacePlatformKeys(ctx context.Context, platform [][]byte) error {
	next, err := keyring.NewKeys(platform)
	if err != nil || slices.Equal(next.IDs(), a.platformKeys.IDs()) {
		return err
	}
	directory, err := partners.NewService(a.db, next, a.clock).LoadDirectory(ctx)
	if err != nil {
		return err
	}
	if unread := directory.UnreadableSecrets(); len(unread) > 0 {
		return unreadableSecrets(unread)
	}
	if err := a.intake.Quotes.Replace(next.QuoteKeys()); err != nil {
		return err
	}
	a.platformKeys.Replace(next)
	a.directory.Expire()
	return nil
}

// replaceLocalKeys replaces the keys of the local key wrapper, unless the first one is not registered (decision 55).
func (a *App) replaceLocalKeys(ctx context.Context, next *config.Config) error {
	keks := next.Keys.LocalKEKs()
	if (a.keys.local == nil) != (len(keks) == 0) {
		return errors.New("keys.local_kek was added or removed: restart the node to use this setting")
	}
	if a.keys.local == nil {
		return nil
	}
	local, err := envelope.NewLocal(keks...)
	if err != nil {
		return err
	}
	if next.Wrapper() == config.WrapperLocal && local.Keys()[0] != a.keys.local.Keys()[0] {
		registered, err := a.leads.WrappingKeys(ctx)
		if err != nil {
			return err
		}
		if own := envelope.WrappingKeys(local)[0]; !slices.Contains(registered, own) {
			return fmt.Errorf("%s%s", own, unregisteredAdvice)
		}
	}
	a.keys.local.Replace(local)
	return nil
}
