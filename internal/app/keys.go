package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/config"
	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/transit"
)

// Keys contains the configured key wrappers, which encrypt the data keys of leads (decision 23).
type Keys struct {
	Wrappers *envelope.Wrappers
	// Readers decrypts contact records for the console. With Vault, it uses a second login, which has
	// permission to decrypt.
	Readers *envelope.Wrappers
	Vault   *transit.Wrapper // nil if Vault is not configured
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
	var local *envelope.Local
	var decrypting []envelope.KeyWrapper
	if kek := cfg.Keys.LocalKEK(); kek != nil {
		var err error
		if local, err = envelope.NewLocal(kek); err != nil {
			return nil, err
		}
		k.readers, decrypting = append(k.readers, local), append(decrypting, local)
	}
	if v := cfg.Vault; v.Address != "" {
		o := transit.Options{
			Address: v.Address, Namespace: v.Namespace, CAFile: v.CAFile, Mount: v.Mount, Key: v.Key,
			Timeout: v.Timeout, Attempts: attempts, Clock: c,
			Login: transit.Login{
				Method: string(v.Auth), Mount: v.LoginMount(), RoleID: v.RoleID, SecretID: v.SecretID.Reveal(),
				Role: v.Role, JWTFile: v.JWTFile, Token: v.Token.Reveal(),
			},
		}
		var err error
		if k.Vault, err = transit.New(o); err != nil {
			return nil, err
		}
		k.readers = append(k.readers, k.Vault)
		if v.Reads() {
			o.Login.RoleID, o.Login.SecretID, o.Login.Role, o.Login.Token = v.ReadRoleID, v.ReadSecretID.Reveal(), v.ReadRole, v.ReadToken.Reveal()
			reader, err := transit.New(o)
			if err != nil {
				return nil, err
			}
			decrypting = append(decrypting, reader)
		}
	}
	k.Readers = envelope.NewWrappers(nil, decrypting...)
	switch cfg.Wrapper() {
	case config.WrapperLocal:
		k.Wrappers = envelope.NewWrappers(local, k.readers...)
	case config.WrapperVault:
		k.Wrappers = envelope.NewWrappers(k.Vault, k.readers...)
	default:
		k.Wrappers = envelope.NewWrappers(nil, k.readers...)
	}
	return k, nil
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

// state returns "ok", or the reason why there are no data keys for new leads. Until the first call to
// Vault has ended, the state is unknown.
func (k *Keys) state() string {
	if !k.Wrappers.Configured() {
		return "not configured, so posts get 503"
	}
	if k.pool == nil {
		return stateOK
	}
	switch s := k.pool.Stats(); {
	case !s.Called:
		return stateUnknown
	case s.Failure != nil:
		return fmt.Sprintf("%s; %d data keys left", s.Failure, s.Ready)
	case s.Ready == 0:
		return "posts use data keys faster than Vault wraps them"
	}
	return stateOK
}

const (
	// leadKeysEvery is how long the result of leadKeysState is cached.
	leadKeysEvery   = 2 * time.Second
	leadKeysTimeout = 500 * time.Millisecond
)

// leadKeys caches the result of leadKeysState, which rarely changes. While the table of leads cannot be
// read, the last result stays in use.
type leadKeys struct {
	mu    sync.Mutex
	asked time.Time
	state string
}

// leadKeysState returns "ok", or a message that lists missing keys. A wrapping key is missing if it
// encrypts the keys of stored leads but is not configured.
func (a *App) leadKeysState(ctx context.Context) string {
	k := &a.leadKeys
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := (clock.System{}).Now(); now.Sub(k.asked) >= leadKeysEvery {
		ctx, cancel := context.WithTimeout(ctx, leadKeysTimeout)
		defer cancel()
		if uses, err := a.leads.Keys(ctx); err == nil {
			k.asked, k.state = now, a.unreadLeads(uses)
		}
	}
	if k.state == "" {
		return stateUnknown
	}
	return k.state
}

func (a *App) unreadLeads(uses []leads.KeyUse) string {
	var lost []string
	for _, use := range uses {
		if !a.keys.Wrappers.Reads(use.Wrapper, use.Version) {
			lost = append(lost, use.Wrapper+" "+use.Version)
		}
	}
	if len(lost) == 0 {
		return stateOK
	}
	return "some leads use keys that are not configured: " + firstFew(lost) + "; count them with `pingpost keys status`"
}

func (a *App) registerKeyMetrics() {
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
	emit("pingpost_data_keys_waited_total", "Posts that waited because the pool was empty.", prometheus.CounterValue, float64(s.Waited))
	emit("pingpost_data_keys_expired_total", "Unused data keys dropped because they were too old or were replaced.", prometheus.CounterValue,
		float64(s.Expired))
	emit("pingpost_data_keys_purged_total", "Unused data keys dropped because the key version changed.", prometheus.CounterValue,
		float64(s.Purged))
	emit("pingpost_data_key_version", "Version of the Vault key that wrapped the data keys in the pool.", prometheus.GaugeValue,
		float64(transit.Version(s.Version)))
}
