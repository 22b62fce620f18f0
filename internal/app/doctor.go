package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// Finding is the result of one of Diagnose's checks.
type Finding struct {
	Check  string // such as database
	Status FindingStatus
	Text   string // what was found and, if there is a problem, what to do
}

// FindingStatus says how serious a finding is.
type FindingStatus string

const (
	FindingOK      FindingStatus = "ok"
	FindingWarning FindingStatus = "warning" // the node works
	FindingFailed  FindingStatus = "failed"  // the node does not work, or not completely
)

const (
	// diagnoseTimeout limits each connection that Diagnose makes.
	diagnoseTimeout = 5 * time.Second
	// skewWarning is the clock skew from which Diagnose warns.
	skewWarning = time.Second
	// partitionsAhead is how long partitions should last. Nodes create them for at least a week.
	partitionsAhead = 3 * day
	day             = 24 * time.Hour
)

type doctor struct {
	cfg      *config.Config
	clock    clock.Clock
	db       *postgres.DB
	platform *keyring.Keys
	keys     *Keys
	findings []Finding
}

// Diagnose connects to everything that a node with these settings connects to, and checks that the node would work. It
// writes to the database's table write_checks, and a probe to the erasure journal. If a check fails, checks that depend
// on it are left out.
func Diagnose(ctx context.Context, cfg *config.Config, c clock.Clock) []Finding {
	d := &doctor{cfg: cfg, clock: c}
	d.checkSettings(ctx)
	d.checkURL(ctx, "public_url", cfg.HTTP.PublicURL)
	d.checkURL(ctx, "admin_url", cfg.HTTP.AdminURL)
	d.checkCollector(ctx)
	if !d.openDatabase(ctx) {
		return d.findings
	}
	defer d.db.Close()
	if d.checkDatabase(ctx) {
		d.checkWrites(ctx)
		d.checkHorizons(ctx)
		d.checkPlatformKeys(ctx)
		if d.checkKeyWrapper(ctx) {
			d.checkWrappingKeys(ctx)
		}
		if d.keys != nil {
			d.checkJournal(ctx)
		}
	}
	return d.findings
}

func (d *doctor) add(check string, status FindingStatus, format string, arguments ...any) {
	d.findings = append(d.findings, Finding{check, status, fmt.Sprintf(format, arguments...)})
}

// fails adds a failed finding if err is not nil, and reports whether it did.
func (d *doctor) fails(check string, err error) bool {
	if err != nil {
		d.add(check, FindingFailed, "%s", reason(err))
	}
	return err != nil
}

func (d *doctor) checkSettings(ctx context.Context) {
	failures, warnings := CheckSettings(ctx, d.cfg)
	for _, p := range failures {
		d.add("settings", FindingFailed, "%s", p)
	}
	for _, p := range warnings {
		d.add("settings", FindingWarning, "%s", p)
	}
	if len(failures)+len(warnings) == 0 {
		d.add("settings", FindingOK, "the settings are valid, and the files that they name can be used")
	}
}

// checkURL checks that a node answers at a URL that partners or staff use. It only warns, because this machine may not
// be able to reach the proxy.
func (d *doctor) checkURL(ctx context.Context, check, url string) {
	if url == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if d.fails(check, err) {
		return
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		d.add(check, FindingWarning,
			"%s cannot be reached from here: %s. Check that the proxy is running and forwards to a running node", url, cause(err))
		return
	}
	answer.Body.Close() //nolint:errcheck // nothing was read
	if _, err := id.Parse(id.Request, answer.Header.Get("X-Request-Id")); err != nil {
		d.add(check, FindingWarning,
			"%s was answered, but not by pingpost: check to which address the proxy forwards, and that a node is running", url)
		return
	}
	d.add(check, FindingOK, "%s reaches a node", url)
}

// checkCollector only warns, because a node works without traces.
func (d *doctor) checkCollector(ctx context.Context) {
	tracer := newTracer(d.cfg, "", "", nil)
	if tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	defer tracer.Shutdown(ctx) //nolint:errcheck // there are no spans
	if err := tracer.Check(ctx); err != nil {
		d.add("tracing", FindingWarning, "%s", err)
		return
	}
	d.add("tracing", FindingOK, "the collector accepts spans")
}

func (d *doctor) openDatabase(ctx context.Context) bool {
	var err error
	if d.platform, err = keyring.NewKeys(d.cfg.Keys.PlatformKeys()); d.fails("platform_keys", err) {
		return false
	}
	d.db, err = postgres.Open(ctx, postgres.Options{
		URL: d.cfg.Database.URL.Reveal(), Application: "pingpost doctor", MaxConnections: 2,
		ConnectTimeout: d.cfg.Database.ConnectTimeout, StatementTimeout: d.cfg.Database.StatementTimeout,
	})
	return !d.fails("database", err)
}

// checkDatabase reports whether the schema fits this program, so that its tables can be read.
func (d *doctor) checkDatabase(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	state, err := d.db.Inspect(ctx)
	if d.fails("database", err) {
		return false
	}
	switch {
	case state.ReadOnly:
		d.add("database", FindingFailed, "the server is read-only: check the hosts in database.url, or promote the standby")
	case state.OwnsTables:
		d.add("database", FindingFailed, "the role %s owns tables or is a superuser: use the role pingpost_app", state.Role)
	default:
		d.add("database", FindingOK, "connected as %s", state.Role)
	}
	skew := clock.System{}.Now().Sub(state.Clock)
	text := fmt.Sprintf("this machine's clock differs from the database's by %s", skew.Abs().Round(time.Millisecond))
	switch {
	case skew.Abs() > maxSkew:
		d.add("clock", FindingFailed, "%s: synchronize both clocks. A node with more than %s is not ready", text, maxSkew)
	case skew.Abs() > skewWarning:
		d.add("clock", FindingWarning, "%s: synchronize both clocks", text)
	default:
		d.add("clock", FindingOK, "%s", text)
	}
	if d.fails("schema", state.CheckSchema()) {
		return false
	}
	if state.Schema.IsNewer() {
		d.add("schema", FindingWarning, "version %d is newer than this program, which works with it", state.Schema.Version)
	} else {
		d.add("schema", FindingOK, "version %d", state.Schema.Version)
	}
	return true
}

func (d *doctor) checkWrites(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, diagnoseTimeout)
	defer cancel()
	if !d.fails("commits", d.db.Commit(ctx)) && !d.fails("storing", d.db.CheckWrites(ctx)) {
		d.add("storing", FindingOK, "the database stores and confirms writes")
	}
}

func (d *doctor) checkHorizons(ctx context.Context) {
	now := d.clock.Now()
	horizons, err := d.db.Horizons(ctx, now)
	if d.fails("partitions", err) {
		return
	}
	var short []string
	for _, h := range horizons {
		if h.Until.Sub(now) < partitionsAhead {
			short = append(short, h.Table)
		}
	}
	switch len(short) {
	case 0:
		d.add("partitions", FindingOK, "all tables have partitions for the next %d days", partitionsAhead/day)
	case len(horizons):
		d.add("partitions", FindingOK, "none yet: nodes create them when they start")
	default:
		d.add("partitions", FindingWarning,
			"missing for the next %d days in %s: nodes create them every hour. If a node is running, its log shows the reason",
			partitionsAhead/day, strings.Join(short, ", "))
	}
}

func (d *doctor) checkPlatformKeys(ctx context.Context) {
	directory, err := partners.NewService(d.db, d.platform, d.clock).LoadDirectory(ctx)
	if d.fails("platform_keys", err) {
		return
	}
	unread, damaged := directory.UnreadableSecrets(), directory.DamagedSecrets()
	switch {
	case len(unread) > 0:
		d.add("platform_keys", FindingFailed,
			"%s cannot be decrypted: keys.platform_keys must contain every key that sealed a signing secret", firstFew(unread))
	case len(damaged) > 0:
		d.add("platform_keys", FindingWarning, "%s", firstFew(damaged)+damageAdvice)
	default:
		d.add("platform_keys", FindingOK, "all signing secrets can be decrypted")
	}
}

// checkKeyWrapper wraps a data key and, if this node can decrypt leads, unwraps it. It reports whether wrapping works.
func (d *doctor) checkKeyWrapper(ctx context.Context) bool {
	var err error
	d.keys, err = OpenKeysUnpooled(d.cfg, transit.NewAttempts(d.db, d.platform), d.clock)
	if d.fails("key_wrapper", err) {
		return false
	}
	if !d.keys.Wrappers.Configured() {
		d.add("key_wrapper", FindingWarning, "no key wrapper is configured, so this node cannot store leads")
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 2*diagnoseTimeout)
	defer cancel()
	key, err := d.keys.Wrappers.DataKey(ctx)
	if d.fails("key_wrapper", err) {
		return false
	}
	defer key.Zero()
	text := fmt.Sprintf("%s wraps data keys", key.WrappingKey)
	wrapper, version, err := envelope.ParseWrapped(key.Wrapped)
	if err == nil && d.keys.Readers.Reads(wrapper, version) {
		unwrapped := d.keys.Readers.Unwrap(ctx, [][]byte{key.Wrapped})[0]
		if d.fails("key_wrapper", unwrapped.Err) {
			return true
		}
		if unwrapped.Key != key.Plain {
			d.add("key_wrapper", FindingFailed, "%s returns another data key than the one that it wrapped", key.WrappingKey)
			return true
		}
		text += " and unwraps them"
	} else {
		text += ". This node cannot decrypt leads"
	}
	if d.keys.Vault != nil {
		if may, err := d.keys.Vault.MayDecrypt(ctx); err == nil && may {
			d.add("key_wrapper", FindingWarning, "%s", text+". The identity with which this node stores leads is also "+
				"allowed to decrypt them: use one with the policy pingpost-serve")
			return true
		}
	}
	d.add("key_wrapper", FindingOK, "%s", text)
	return true
}

func (d *doctor) checkWrappingKeys(ctx context.Context) {
	store := leads.NewStore(d.db.Pool)
	registered, err := store.WrappingKeys(ctx)
	if d.fails("wrapping_key", err) {
		return
	}
	switch own := d.keys.Wrappers.Keys()[0]; {
	case len(registered) == 0:
		d.add("wrapping_key", FindingOK, "none is registered yet: the first node registers its own")
	case !slices.Contains(registered, own):
		d.add("wrapping_key", FindingFailed, "%s", own.String()+unregisteredAdvice)
	default:
		d.add("wrapping_key", FindingOK, "%s is registered", own)
	}
	uses, err := store.Keys(ctx)
	if d.fails("lead_keys", err) {
		return
	}
	if missing := missingKeys(d.keys.Wrappers, uses); len(missing) > 0 {
		d.add("lead_keys", FindingWarning, "%s", wrappingKeysState{missing: missing}.warning())
	} else {
		d.add("lead_keys", FindingOK, "all keys that stored leads need are configured")
	}
}

func (d *doctor) checkJournal(ctx context.Context) {
	j, err := OpenJournal(d.cfg.Privacy)
	if d.fails("erasure_journal", err) {
		return
	}
	if j == nil {
		d.add("erasure_journal", FindingWarning,
			"no erasure journal is configured (privacy.erasure_journal), so personal data cannot be erased")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*diagnoseTimeout)
	defer cancel()
	queue := jobs.NewQueue(d.db, d.clock, slog.New(slog.DiscardHandler))
	erasures := NewPrivacy(d.cfg, d.db, queue, d.keys.Readers, d.platform, j, nil, d.clock).Erasures
	err = erasures.CheckJournal(ctx)
	if err == nil {
		err = erasures.CheckJournalWrite(ctx)
	}
	if !d.fails("erasure_journal", err) {
		d.add("erasure_journal", FindingOK, "the journal can be read and written, and matches the database")
	}
}
