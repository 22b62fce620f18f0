package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
)

// Keys contains the configured key wrappers, which encrypt the data keys of leads (decision 23).
type Keys struct {
	Wrappers *envelope.Wrappers
	// Readers decrypts contact records for the console. With Vault, it uses a second login, which has
	// permission to decrypt.
	Readers *envelope.Wrappers
	Vault   *transit.Wrapper // nil if Vault is not configured
	local   *envelope.Local  // nil if no local key is configured
	reading *transit.Wrapper // the second login to Vault; nil if there is none
	readers []envelope.KeyWrapper
	pool    *envelope.Pool // nil unless Vault wraps the data keys of new leads
}

// OpenKeys creates a node's key wrappers. It does not call Vault.
func OpenKeys(cfg *config.Config, attempts *transit.Attempts, c clock.Clock) (*Keys, error) {
	k, err := OpenKeysUnpooled(cfg, attempts, c)
	if err == nil && cfg.Wrapper() == config.WrapperVault {
		k.pool = envelope.NewPool(k.Vault, c)
		k.Wrappers = envelope.NewPooledWrappers(k.pool, k.readers...)
	}
	return k, err
}

// OpenKeysUnpooled is like OpenKeys, but does not create a pool of data keys. It is meant for programs
// that need few data keys.
func OpenKeysUnpooled(cfg *config.Config, attempts *transit.Attempts, c clock.Clock) (*Keys, error) {
	k := &Keys{}
	var decrypting []envelope.KeyWrapper
	if keks := cfg.Keys.LocalKEKs(); len(keks) > 0 {
		var err error
		if k.local, err = envelope.NewLocal(keks...); err != nil {
			return nil, err
		}
		k.readers, decrypting = append(k.readers, k.local), append(decrypting, k.local)
	}
	if v := cfg.Vault; v.Address != "" {
		o := transit.Options{
			Address: v.Address, Namespace: v.Namespace, CAFile: v.CAFile, Mount: v.Mount, Key: v.Key,
			Timeout: v.Timeout, Attempts: attempts, Clock: c,
			Login: login(v),
		}
		var err error
		if k.Vault, err = transit.New(o); err != nil {
			return nil, err
		}
		k.readers = append(k.readers, k.Vault)
		if v.Reads() {
			o.Login = readingLogin(v)
			if k.reading, err = transit.New(o); err != nil {
				return nil, err
			}
			decrypting = append(decrypting, k.reading)
		}
	}
	k.Readers = envelope.NewWrappers(nil, decrypting...)
	switch cfg.Wrapper() {
	case config.WrapperLocal:
		k.Wrappers = envelope.NewWrappers(k.local, k.readers...)
	case config.WrapperVault:
		k.Wrappers = envelope.NewWrappers(k.Vault, k.readers...)
	default:
		k.Wrappers = envelope.NewWrappers(nil, k.readers...)
	}
	return k, nil
}

// login returns the node's login to Vault, which wraps data keys.
func login(v config.Vault) transit.Login {
	return transit.Login{
		Method: string(v.Auth), Mount: v.LoginMount(), RoleID: v.RoleID, SecretID: v.SecretID.Reveal(),
		Role: v.Role, JWTFile: v.JWTFile, Token: v.Token.Reveal(),
	}
}

// readingLogin returns the second login to Vault, which has permission to decrypt.
func readingLogin(v config.Vault) transit.Login {
	l := login(v)
	l.RoleID, l.SecretID, l.Role, l.Token = v.ReadRoleID, v.ReadSecretID.Reveal(), v.ReadRole, v.ReadToken.Reveal()
	return l
}

// replaceLogins uses other credentials for Vault from now on.
func (k *Keys) replaceLogins(v config.Vault) {
	if k.Vault != nil {
		k.Vault.SetLogin(login(v))
	}
	if k.reading != nil {
		k.reading.SetLogin(readingLogin(v))
	}
}

// Run fills the pool of data keys, if there is one, until ctx ends.
func (k *Keys) Run(ctx context.Context) {
	if k.pool != nil {
		k.pool.Run(ctx)
	}
}

const vaultRightsEvery = 10 * time.Second

// reportVaultRights logs a warning if Vault allows the node to decrypt leads, because a node only needs
// to encrypt them. It retries until Vault responds.
func (a *App) reportVaultRights(ctx context.Context) {
	if a.cfg.Wrapper() != config.WrapperVault {
		return
	}
	for {
		may, err := a.keys.Vault.MayDecrypt(ctx)
		if may {
			a.log.Warn("this node is allowed to decrypt leads in Vault, but only needs to encrypt: use an identity with the policy pingpost-serve (see docs/how-to/prepare-vault.md)",
				"right", "decrypt")
		}
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(vaultRightsEvery):
		}
	}
}

// state shows whether there are data keys for new leads. Until the first call to Vault has ended, it is unknown.
func (k *Keys) state() checkState {
	if !k.Wrappers.Configured() {
		return checkState{"not_configured", "not configured, so posts get 503"}
	}
	if k.pool == nil {
		return stateOK
	}
	switch s := k.pool.Stats(); {
	case !s.Called:
		return stateUnknown
	case s.Failure != nil:
		text := fmt.Sprintf("%s; %d data keys left", s.Failure, s.Ready)
		if vault := (*transit.Error)(nil); errors.As(s.Failure, &vault) {
			return checkState{vault.Reason, text}
		}
		return checkState{"failed", text}
	case s.Ready == 0:
		return checkState{"no_data_keys", "posts use data keys faster than Vault wraps them"}
	}
	return stateOK
}

// wrappingKeysEvery is how long the result of checkWrappingKeys is cached.
const wrappingKeysEvery = 2 * time.Second

// wrappingKeys contains the result of checkWrappingKeys. While another check is running, or the database
// cannot be read, the last result stays in use.
type wrappingKeys struct {
	mu      sync.Mutex // held during a check
	checked time.Time
	last    atomic.Pointer[wrappingKeysState]
	missing prometheus.Gauge
}

type wrappingKeysState struct {
	own     checkState // whether this node can store leads
	missing []string   // the keys that stored leads need but that are not configured
}

// checkWrappingKeys checks that the key for new leads is registered, and that all stored leads can be
// decrypted. If no key is registered yet, it registers the node's keys.
func (a *App) checkWrappingKeys(ctx context.Context) wrappingKeysState {
	k := &a.wrappingKeys
	if k.mu.TryLock() {
		defer k.mu.Unlock()
		if now := (clock.System{}).Now(); now.Sub(k.checked) >= wrappingKeysEvery && a.readWrappingKeys(ctx) == nil {
			k.checked = now
		}
	}
	return *k.last.Load()
}

// readWrappingKeys reads the registered keys and the keys of stored leads. If only the second query fails,
// the last list of missing keys stays in use.
func (a *App) readWrappingKeys(ctx context.Context) error {
	registered, err := a.leads.WrappingKeys(ctx)
	if err != nil {
		return err
	}
	missing := a.wrappingKeys.last.Load().missing
	uses, failed := a.leads.Keys(ctx)
	if failed == nil {
		missing = missingKeys(a.keys.Wrappers, uses)
	}
	if len(registered) == 0 && failed != nil {
		return failed // which keys may be registered first depends on the stored leads
	}
	own, err := a.ownKeyState(ctx, registered, len(missing) == 0)
	if err == nil {
		a.noteWrappingKeys(wrappingKeysState{own, missing})
	}
	return err
}

func (a *App) noteWrappingKeys(state wrappingKeysState) {
	k := &a.wrappingKeys
	if before := k.last.Swap(&state); len(state.missing) > 0 && !slices.Equal(state.missing, before.missing) {
		a.log.Warn("some stored leads cannot be decrypted", "why", state.warning())
	}
	k.missing.Set(float64(len(state.missing)))
}

// warning returns the warning about missing keys, or "".
func (s wrappingKeysState) warning() string {
	if len(s.missing) == 0 {
		return ""
	}
	return "some leads use keys that are not configured: " + firstFew(s.missing) +
		"; run `pingpost keys status` to count the leads"
}

func missingKeys(configured *envelope.Wrappers, uses []leads.KeyUse) (missing []string) {
	for _, use := range uses {
		if !configured.Reads(use.Wrapper, use.Version) {
			missing = append(missing, use.Wrapper+" "+use.Version)
		}
	}
	return missing
}

// unregisteredAdvice explains what to do about a wrapping key that is not registered.
const unregisteredAdvice = " is not registered, so posts get 503: configure the platform's key, or register this key " +
	"with `pingpost keys introduce`"

// ownKeyState shows whether leads with the node's wrapping key can be stored (decision 55). The first node of a platform
// registers its keys. If the platform already has leads, the node must be able to decrypt them, so that a node with a
// wrong key is never the first.
func (a *App) ownKeyState(ctx context.Context, registered []envelope.WrappingKey, readsAll bool) (checkState, error) {
	if a.api == nil || !a.keys.Wrappers.Configured() {
		return stateUnknown, nil
	}
	if len(registered) == 0 {
		problem, err := a.registerFirstKeys(ctx, readsAll)
		if problem != "" || err != nil {
			return checkState{"cannot_register", problem}, err
		}
		if registered, err = a.leads.WrappingKeys(ctx); err != nil {
			return checkState{}, err
		}
	}
	if own := a.keys.Wrappers.Keys()[0]; !slices.Contains(registered, own) {
		return checkState{"not_registered", own.String() + unregisteredAdvice}, nil
	}
	return stateOK, nil
}

// registerFirstKeys registers the node's keys, unless another node has registered its own. It returns a
// description of the problem if the node must not register them.
func (a *App) registerFirstKeys(ctx context.Context, readsAll bool) (problem string, err error) {
	const none = "no wrapping key is registered, and this node"
	if !readsAll {
		return none + " cannot decrypt all leads: run `pingpost keys introduce` with the settings of a node that can", nil
	}
	if _, _, err := a.keys.Wrappers.CurrentKeyVersion(ctx); err != nil {
		return none + "'s key does not work: " + err.Error(), nil //nolint:nilerr // it is the problem
	}
	added, err := a.leads.RegisterFirstKeys(ctx, a.keys.Wrappers.Keys())
	if len(added) > 0 {
		a.log.Info("registered the platform's first wrapping keys", "keys", joined(added))
	}
	return "", err
}

func joined(keys []envelope.WrappingKey) string {
	list := make([]string, len(keys))
	for i, key := range keys {
		list[i] = key.String()
	}
	return strings.Join(list, ", ")
}

func (a *App) registerKeyMetrics() {
	a.wrappingKeys.missing = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pingpost_lead_keys_missing",
		Help: "Number of wrapping keys that stored leads need but that are not configured on this node.",
	})
	a.registry.MustRegister(a.wrappingKeys.missing)
	if a.keys.Vault != nil {
		a.registry.MustRegister(vaultMetrics{a.keys.Vault})
	}
	if a.keys.pool != nil {
		a.registry.MustRegister(poolMetrics{a.keys.pool})
	}
}

type vaultMetrics struct{ vault *transit.Wrapper }

// Describe implements prometheus.Collector. It sends no descriptions, because the set of metrics changes
// over time.
func (m vaultMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m vaultMetrics) Collect(out chan<- prometheus.Metric) {
	calls := prometheus.NewDesc("pingpost_vault_calls_total", "Calls to Vault by operation and result.",
		[]string{"operation", "result"}, nil)
	for call, n := range m.vault.Calls() {
		out <- prometheus.MustNewConstMetric(calls, prometheus.CounterValue, float64(n), call.Operation, call.Reason)
	}
	if life, ends := m.vault.TokenLife(); ends {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("pingpost_vault_token_seconds",
			"Seconds until the current Vault token expires.", nil, nil),
			prometheus.GaugeValue, life.Seconds())
	}
}

type poolMetrics struct{ pool *envelope.Pool }

// Describe implements prometheus.Collector.
func (m poolMetrics) Describe(d chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, d) }

// Collect implements prometheus.Collector.
func (m poolMetrics) Collect(out chan<- prometheus.Metric) {
	s := m.pool.Stats()
	emit := func(name, help string, kind prometheus.ValueType, v float64) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), kind, v)
	}
	emit("pingpost_data_keys_ready", "Unused data keys in the pool.", prometheus.GaugeValue, float64(s.Ready))
	emit("pingpost_data_keys_taken_total", "Data keys used by posts.", prometheus.CounterValue, float64(s.Taken))
	emit("pingpost_data_keys_waited_total", "Posts that waited because the pool was empty.", prometheus.CounterValue,
		float64(s.Waited))
	emit("pingpost_data_keys_expired_total", "Unused data keys dropped because they were too old or were replaced.", prometheus.CounterValue,
		float64(s.Expired))
	emit("pingpost_data_keys_purged_total", "Unused data keys dropped because the key version changed.", prometheus.CounterValue,
		float64(s.Purged))
	emit("pingpost_data_key_version", "Version of the Vault key that wrapped the data keys in the pool.", prometheus.GaugeValue,
		float64(transit.Version(s.Version)))
}
