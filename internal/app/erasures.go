package app

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/letters"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

const (
	erasuresEvery   = time.Minute
	erasuresTimeout = 50 * time.Second
)

// erasures contains the state of the erasure journal. If the state is not "ok", staff cannot erase personal
// data, and may not be able to read it. The node still serves pings and posts.
type erasures struct {
	state atomic.Pointer[checkState]
	gauge prometheus.Gauge
	at    prometheus.Gauge // when the journal was last checked
}

func newErasures(registry *prometheus.Registry) *erasures {
	e := &erasures{gauge: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pingpost_erasure_journal_ok",
		Help: "1 if the erasure journal can be read and written and matches the database, otherwise 0. While it is 0, staff cannot erase personal data, and may not be able to read it.",
	}), at: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pingpost_erasure_journal_checked_timestamp_seconds",
		Help: "Unix time at which the erasure journal was last compared with the database; 0 until this node has done so.",
	})}
	registry.MustRegister(e.gauge, e.at)
	e.set(stateUnknown)
	return e
}

func (e *erasures) set(state checkState) {
	e.state.Store(&state)
	value := 0.0
	if state == stateOK {
		value = 1
	}
	e.gauge.Set(value)
}

// finishErasures carries out pending erasures every minute. Each time, it also compares the erasure
// journal with the database, and checks that the journal can be written.
func (a *App) finishErasures(ctx context.Context) {
	tick := time.NewTicker(erasuresEvery)
	defer tick.Stop()
	for {
		if state, known := a.checkErasures(ctx); known && ctx.Err() == nil {
			before := *a.erasures.state.Load()
			a.erasures.set(state)
			a.erasures.at.Set(float64(clock.System{}.Now().Unix()))
			switch {
			case state == before:
			case state != stateOK:
				a.log.Error("erasure journal unusable", "why", state.text)
			case before != stateUnknown:
				a.log.Info("erasure journal usable again")
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// checkErasures returns the state of the erasure journal. The result known is false if the check itself failed, for
// example because the database does not respond.
func (a *App) checkErasures(ctx context.Context) (state checkState, known bool) {
	ctx, cancel := context.WithTimeout(ctx, erasuresTimeout)
	defer cancel()
	err := errors.Join(a.privacy.Erasures.Finish(ctx), a.privacy.Erasures.CheckJournal(ctx))
	if err == nil {
		err = a.privacy.Erasures.CheckJournalWrite(ctx)
	}
	if err == nil {
		return stateOK, true
	}
	if apperr.As(err) == nil {
		a.log.Error("cannot check the erasure journal, retrying", "error", postgres.Translate(err))
		return checkState{}, false
	}
	return checkState{"unusable", reason(err)}, true
}

// reason returns the text of an error for operators, with its cause.
func reason(err error) string {
	if vault := (*transit.Error)(nil); errors.As(err, &vault) {
		return vault.Error()
	}
	f := apperr.As(err)
	if f == nil {
		return postgres.Translate(err).Error()
	}
	if cause := f.Unwrap(); cause != nil {
		return f.Message + " (" + cause.Error() + ")"
	}
	return f.Message
}

// OpenJournal returns the configured erasure journal, or nil if none is configured. It does not access the
// journal.
func OpenJournal(p config.Privacy) (journal.Store, error) {
	return journal.Open(journal.Options{
		Location: p.ErasureJournal, Endpoint: p.JournalEndpoint, Region: p.JournalRegion,
		AccessKey: p.JournalAccessKey, SecretKey: p.JournalSecretKey.Reveal(),
	})
}

// CheckSettings checks whether this machine can use what the settings name. It connects to nothing but the erasure
// journal.
func CheckSettings(ctx context.Context, cfg *config.Config) (failures, warnings config.Problems) {
	failures, warnings = cfg.CheckFiles()
	if err := postgres.CheckURL(cfg.Database.URL.Reveal()); err != nil {
		failures = append(failures, config.Problem{Text: err.Error()})
	}
	return failures, append(Warnings(ctx, cfg), warnings...)
}

// Warnings returns the warnings that depend on more than the settings: on the erasure journal, and on the files that
// other settings name.
func Warnings(ctx context.Context, cfg *config.Config) config.Problems {
	warnings := append(cfg.Warnings(), journalWarning(ctx, cfg)...)
	if mode, readable := config.ReadableByOthers(postgres.ClientKey(cfg.Database.URL.Reveal())); readable {
		warnings = append(warnings, config.Problem{
			Path: "database.url",
			Text: fmt.Sprintf("other users can read the file sslkey (mode %04o); run chmod 600 on it", mode),
		})
	}
	return warnings
}

// journalWarning returns a warning if an erasure journal is configured without the fingerprint of the key with
// which it begins. It reads the first entry of the journal.
func journalWarning(ctx context.Context, cfg *config.Config) (warning config.Problems) {
	if cfg.Privacy.ErasureJournal == "" || cfg.Privacy.ErasureJournalFingerprint != "" {
		return nil
	}
	fingerprint, err := firstFingerprint(ctx, cfg)
	if err != nil {
		return nil //nolint:nilerr // other checks report that the journal cannot be read
	}
	text := "is not set, so a backup from before the first erasure may not be usable after the platform key was replaced; "
	if fingerprint != "" {
		text += "set it to " + fingerprint
	} else {
		text += "set it to the fingerprint that `pingpost erasures verify` shows"
	}
	return config.Problems{{Path: "privacy.erasure_journal_fingerprint", Text: text}}
}

// firstFingerprint returns the fingerprint of the key with which the journal begins, or with which it will begin
// if it is empty. It returns "" if the journal begins with a key that is not derived from a configured platform
// key, and an error if the journal cannot be read.
func firstFingerprint(ctx context.Context, cfg *config.Config) (string, error) {
	platform, err := keyring.NewKeys(cfg.Keys.PlatformKeys())
	if err != nil {
		return "", err
	}
	j, err := OpenJournal(cfg.Privacy)
	if err != nil {
		return "", err
	}
	keys := platform.JournalKeys()
	text, err := j.Read(ctx, 1)
	if errors.Is(err, journal.ErrNotFound) {
		return journal.Fingerprint(keys[0].Public().(ed25519.PublicKey)), nil //nolint:forcetypeassert // always this type
	}
	if err != nil {
		return "", err
	}
	var first journal.Entry
	if err := json.Unmarshal(text, &first); err != nil {
		return "", err
	}
	for _, key := range keys {
		if first.Key.Equal(key.Public()) {
			return journal.Fingerprint(first.Key), nil
		}
	}
	return "", nil
}

func (a *App) newPrivacy(platform *keyring.Keys) (err error) {
	if a.journal, err = OpenJournal(a.cfg.Privacy); err != nil {
		return err
	}
	texts, err := letters.Load(a.cfg.Privacy.Letters)
	if err != nil {
		return fmt.Errorf("privacy.letters: %w", err)
	}
	a.erasures = newErasures(a.registry)
	a.privacy = NewPrivacy(a.cfg, a.db, a.queue, a.keys.Readers, platform, a.journal, texts, a.clock)
	return nil
}
