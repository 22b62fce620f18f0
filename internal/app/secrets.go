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
	// secretsRetryMax is the longest pause between two attempts to use the changed secrets.
	secretsRetryMax = time.Minute
	// secretsTimeout limits how long the check of new keys against the database may take.
	secretsTimeout = 10 * time.Second
)

// secrets reads the secrets of a running node again.
type secrets struct {
	readConfig func() (*config.Config, error)
	hangup     <-chan os.Signal
	files      *filewatch.Files
}

func newSecrets(o Options) *secrets {
	if o.ReadConfig == nil {
		return nil
	}
	return &secrets{o.ReadConfig, o.Hangup, filewatch.New(o.Config.SecretFiles()...)}
}

// read reads the configuration, and watches the files that it names from then on.
func (s *secrets) read() (*config.Config, error) {
	for {
		cfg, err := s.readConfig()
		if err != nil || slices.Equal(cfg.SecretFiles(), s.files.Names()) {
			return cfg, err
		}
		s.files = filewatch.New(cfg.SecretFiles()...) // read again, in case one has changed in between
	}
}

// followSecrets reads the secrets again when one of their files changes, and when the node gets SIGHUP. If a secret
// cannot be used, the previous one stays in use, and all secrets are read again after a pause.
func (a *App) followSecrets(ctx context.Context) {
	if a.secrets == nil {
		return
	}
	tick := time.NewTicker(secretsEvery)
	defer tick.Stop()
	var failure failurelog.State
	due, pause := clock.System{}.Now(), secretsEvery // a file may have changed while the node was starting
	changed := false
	replaceAfter := func(delay time.Duration) {
		due, pause, changed = clock.System{}.Now().Add(delay), secretsEvery, true
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.secrets.hangup:
			a.secrets.files.Changed() // files that have changed are read now, too
			replaceAfter(0)
		case <-tick.C:
			if a.secrets.files.Changed() { // at the next tick, in case a file is still being written
				replaceAfter(secretsEvery / 2)
			}
		}
		now := clock.System{}.Now()
		if due.IsZero() || now.Before(due) {
			continue
		}
		due = time.Time{}
		switch err := a.replaceSecrets(ctx); {
		case err == nil:
			if changed || failure.End() {
				a.log.Info("secrets read again")
			}
			changed, failure = false, failurelog.State{}
		case ctx.Err() == nil:
			due, pause = now.Add(pause), min(2*pause, secretsRetryMax)
			if failure.Due(err.Error(), now) {
				a.log.Error("cannot use some of the changed secrets, retrying", "error", err)
			}
		}
	}
}

// replaceSecrets reads the configuration and replaces the secrets that can be used. Platform keys are replaced only if
// they decrypt all signing secrets, and local keys only if the first one is registered.
func (a *App) replaceSecrets(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, secretsTimeout)
	defer cancel()
	next, err := a.secrets.read()
	if err != nil {
		return err
	}
	if others := config.ChangedSettings(a.cfg, next); len(others) > 0 {
		a.log.Warn("restart the node to use the other changed settings", "settings", strings.Join(others, ", "))
	}
	a.keys.replaceLogins(withSecrets(a.cfg.Vault, next.Vault))
	if a.tracer != nil {
		a.tracer.SetHeader(traceHeader(next.Tracing))
	}
	journal.SetCredentials(a.journal, next.Privacy.JournalAccessKey, next.Privacy.JournalSecretKey.Reveal())
	return errors.Join(
		a.db.ReplaceURL(next.Database.URL.Reveal()),
		a.replacePlatformKeys(ctx, next.Keys.PlatformKeys()),
		a.replaceLocalKeys(ctx, next.Keys.LocalKEKs()),
	)
}

// withSecrets returns the current settings with the secrets of the next ones.
func withSecrets(current, next config.Vault) config.Vault {
	current.SecretID, current.ReadSecretID = next.SecretID, next.ReadSecretID
	current.Token, current.ReadToken = next.Token, next.ReadToken
	return current
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
func (a *App) replaceLocalKeys(ctx context.Context, keks [][]byte) error {
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
	if a.cfg.Wrapper() == config.WrapperLocal && local.Keys()[0] != a.keys.local.Keys()[0] {
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
