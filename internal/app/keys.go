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

// Keys are the configured key wrappers (decision 23). One writes, every one reads.
type Keys struct {
	Wrappers *envelope.Wrappers
	Vault    *transit.Wrapper // nil when it is not configured
	readers  []envelope.KeyWrapper
	pool     *envelope.Pool // nil unless a node writes with Vault
}

// OpenKeys prepares the key wrappers of a node. It calls none yet.
func OpenKeys(cfg *config.Config, attempts *transit.Attempts, c clock.Clock) (*Keys, error) {
	k, err := OpenKeysUnpooled(cfg, attempts, c)
	if err == nil && cfg.Wrapper() == config.WrapperVault {
		k.pool = envelope.NewPool(k.Vault, c)
		k.Wrappers = envelope.NewPooledWrappers(k.pool, k.readers...)
	}
	return k, err
}

// OpenKeysUnpooled is OpenKeys for who makes no data keys, or few: none are held ready.
func OpenKeysUnpooled(cfg *config.Config, attempts *transit.Attempts, c clock.Clock) (*Keys, error) {
	k := &Keys{}
	var local *envelope.Local
	if kek := cfg.Keys.LocalKEK(); kek != nil {
		var err error
		if local, err = envelope.NewLocal(kek); err != nil {
			return nil, err
		}
		k.readers = append(k.readers, local)
	}
	if v := cfg.Vault; v.Address != "" {
		var err error
		k.Vault, err = transit.New(transit.Options{
			Address: v.Address, Namespace: v.Namespace, CAFile: v.CAFile, Mount: v.Mount, Key: v.Key,
			Timeout: v.Timeout, Attempts: attempts, Clock: c,
			Login: transit.Login{
				Method: string(v.Auth), Mount: v.LoginMount(), RoleID: v.RoleID, SecretID: v.SecretID.Reveal(),
				Role: v.Role, JWTFile: v.JWTFile, Token: v.Token.Reveal(),
			},
		})
		if err != nil {
			return nil, err
		}
		k.readers = append(k.readers, k.Vault)
	}
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

// Run keeps data keys ready, where they come from across a network.
func (k *Keys) Run(ctx context.Context) {
	if k.pool != nil {
		k.pool.Run(ctx)
	}
}

// vaultRightsEvery is the pause before Vault is asked again for a node's rights.
const vaultRightsEvery = 10 * time.Second

// reportVaultRights logs a warning if the node, which only encrypts, may also decrypt
// leads. It asks until Vault has answered once.
func (a *App) reportVaultRights(ctx context.Context) {
	if a.keys.pool == nil {
		return
	}
	for {
		may, err := a.keys.Vault.MayDecrypt(ctx)
		if may {
			a.log.Warn("this node may decrypt leads in Vault, but only needs to encrypt: use an identity with the policy pingpost-serve (docs/vault.md)",
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

// state is "ok", or why new leads get no data key.
func (k *Keys) state() string {
	if !k.Wrappers.Configured() {
		return "not configured: posts are answered with 503"
	}
	if k.pool == nil {
		return stateOK
	}
	switch s := k.pool.Stats(); {
	case s.Failure != nil:
		return fmt.Sprintf("%s; %d data keys are ready", s.Failure, s.Ready)
	case s.Ready == 0:
		return "no data key is ready yet"
	}
	return stateOK
}

const (
	// leadKeysEvery is how old the answer about stored leads' keys may be.
	leadKeysEvery   = 2 * time.Second
	leadKeysTimeout = 500 * time.Millisecond
)

// leadKeys remembers which key versions the stored leads are under: the answer
// seldom changes, and a table that is locked for a moment must not change it.
type leadKeys struct {
	mu    sync.Mutex
	asked time.Time
	state string
}

// leadKeysState is "ok", or which stored leads no configured wrapper can read.
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
	return "there are leads under " + firstFew(lost) + ", which is not configured: `pingpost keys status` counts them"
}

// registerKeyMetrics exposes the key wrapper's calls and the data keys held ready.
func (a *App) registerKeyMetrics() {
	if a.keys.Vault != nil {
		a.registry.MustRegister(vaultMetrics{a.keys.Vault})
	}
	if a.keys.pool != nil {
		a.registry.MustRegister(poolMetrics{a.keys.pool})
	}
}

type vaultMetrics struct{ vault *transit.Wrapper }

// Describe implements prometheus.Collector. It names nothing: which calls there
// will be, and whether the token ends, is not known beforehand.
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
			"How long the Vault token in use still lasts.", nil, nil),
			prometheus.GaugeValue, life.Seconds())
	}
}

type poolMetrics struct{ pool *envelope.Pool }

// Describe implements prometheus.Collector.
func (m poolMetrics) Describe(d chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, d) }

// Collect implements prometheus.Collector.
func (m poolMetrics) Collect(out chan<- prometheus.Metric) {
	s := m.pool.Stats()
	tell := func(name, help string, kind prometheus.ValueType, v float64) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), kind, v)
	}
	tell("pingpost_data_keys_ready", "Data keys held ready.", prometheus.GaugeValue, float64(s.Ready))
	tell("pingpost_data_keys_taken_total", "Data keys taken by posts.", prometheus.CounterValue, float64(s.Taken))
	tell("pingpost_data_keys_waited_total", "Posts that found no data key ready.", prometheus.CounterValue, float64(s.Waited))
	tell("pingpost_data_keys_expired_total", "Data keys dropped unused for their age.", prometheus.CounterValue,
		float64(s.Expired))
	tell("pingpost_data_keys_purged_total", "Data keys dropped unused for their key version.", prometheus.CounterValue,
		float64(s.Purged))
	tell("pingpost_data_key_version", "The key version of the data keys held ready.", prometheus.GaugeValue,
		float64(transit.Version(s.Version)))
}
