package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/evidence"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/staff"
)

func keysCommand() *cobra.Command {
	return group("keys", "Manage the keys that encrypt leads and secrets", keysStatus(), keysRewrap(), keysRotate(),
		keysExpire(), keysReseal(), keysIntroduce(), keysVerify())
}

// keyServices contains the keys and the services whose data they encrypt.
type keyServices struct {
	cfg      *config.Config
	dev      bool // whether dev's database is used
	db       *postgres.DB
	platform *keyring.Keys
	clock    clock.System
	wrappers *app.Keys
	leads    *leads.Store
	partners *partners.Service
	staff    *staff.Service
	evidence *evidence.Keys
}

// withKeys opens the database and the configured keys and passes them to the given function. With
// --data-dir, it uses dev's keys and logs in to dev's Vault with the given role.
func withKeys(c *cobra.Command, r *dbFlags, role string, use func(*keyServices) error) error {
	cfg, running, err := r.load(config.SectionDatabase, config.SectionKeys, config.SectionVault, config.SectionPrivacy)
	if err != nil {
		return err
	}
	if running != nil {
		useKeysOf(running, cfg, role)
	}
	cfg.Database.StatementTimeout = 0 // counting all leads can take minutes
	db, platform, err := open(c.Context(), cfg)
	if err != nil {
		return err
	}
	defer db.Close()
	k, err := newKeyServices(cfg, db, platform, r.clock)
	if err != nil {
		return err
	}
	k.dev = running != nil
	return use(k)
}

func newKeyServices(cfg *config.Config, db *postgres.DB, platform *keyring.Keys, c clock.System) (*keyServices, error) {
	// No pool of data keys is needed, because no posts wait for keys here.
	wrappers, err := app.OpenKeysUnpooled(cfg, transit.NewAttempts(db, platform), c)
	if err != nil {
		return nil, err
	}
	return &keyServices{
		cfg, false, db, platform, c, wrappers, leads.NewStore(db.Pool),
		partners.NewService(db, platform, c), staff.NewService(db, platform, c, staff.Settings{}),
		evidence.NewKeys(db, platform, c),
	}, nil
}

// checkErasures returns an error if the database may contain erased leads again, for example from an
// older backup. The keys of these leads must not be changed until the leads are erased again.
func (k *keyServices) checkErasures(ctx context.Context) error {
	s, err := k.erasures()
	if err != nil {
		return err
	}
	return s.CheckJournal(ctx)
}

// erasures returns the service that reads the erasure journal and legal holds.
func (k *keyServices) erasures() (*erasure.Service, error) {
	j, err := app.OpenJournal(k.cfg.Privacy)
	if err != nil {
		return nil, err
	}
	return k.erasuresIn(j), nil
}

// erasuresIn is like erasures, but uses the given journal.
func (k *keyServices) erasuresIn(j journal.Store) *erasure.Service {
	queue := newQueue(k.db, k.clock)
	return app.NewPrivacy(k.cfg, k.db, queue, k.wrappers.Readers, k.platform, j, nil, k.clock).Erasures
}

// keyView is a version of a wrapping key and the number of leads that use it.
type keyView struct {
	Wrapper    string `json:"wrapper"`
	Version    string `json:"version"`
	Leads      int64  `json:"leads"`
	Registered bool   `json:"registered"` // nodes can store leads with it
	Readable   bool   `json:"readable"`   // its key wrapper is configured
	Writes     bool   `json:"writes"`     // new leads use it
}

type platformKeyView struct {
	ID         string `json:"id"`
	Configured bool   `json:"configured"`
	Writes     bool   `json:"writes"`
	Secrets    int64  `json:"secrets"`

	SecondFactors int64 `json:"second_factors"`
	Digests       int64 `json:"look_up_digests"`
	Files         int64 `json:"files"` // deleted after a few days
	EvidenceKeys  int64 `json:"evidence_keys"`
	Journal       bool  `json:"erasure_journal"` // signs the erasure journal
}

type statusView struct {
	WriteWith string            `json:"write_with"`
	Problem   string            `json:"problem,omitempty"` // why the current version is unknown
	LeadKeys  []keyView         `json:"lead_keys"`
	Platform  []platformKeyView `json:"platform_keys"`
	// JournalKeyMissing is set if the platform key that signs the erasure journal is not configured.
	JournalKeyMissing bool `json:"journal_key_missing"`
}

func keysStatus() *cobra.Command {
	c := &cobra.Command{
		Use: "status", Short: "Show how many leads and secrets use each key", Args: noArgs,
		Long: `Show how many leads and secrets use each key. Exits with 1 if a key that they need is not configured.`,
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return withKeys(c, flags, devvault.Rewrap, func(k *keyServices) error {
			v, err := k.status(c.Context())
			if err != nil {
				return err
			}
			if *asJSON {
				err = printJSON(c.OutOrStdout(), v)
			} else {
				err = v.print(c.OutOrStdout())
			}
			return errors.Join(err, v.missing())
		})
	}
	return c
}

// missing returns an error if a key that leads or secrets need is not configured.
func (v statusView) missing() error {
	var keys []string
	for _, key := range v.LeadKeys {
		if !key.Readable {
			keys = append(keys, key.Wrapper+" "+key.Version)
		}
	}
	for _, key := range v.Platform {
		if !key.Configured {
			keys = append(keys, "platform key "+key.ID)
		}
	}
	if v.JournalKeyMissing {
		keys = append(keys, "the platform key that signs the erasure journal")
	}
	if len(keys) == 0 {
		return nil
	}
	return errors.New("leads or secrets need keys that are not configured here: " + strings.Join(keys, ", "))
}

func (k *keyServices) status(ctx context.Context) (statusView, error) {
	v := statusView{WriteWith: k.wrappers.Wrappers.Writer()}
	wrapper, version, err := k.wrappers.Wrappers.CurrentKeyVersion(ctx)
	if err != nil {
		v.Problem = err.Error()
	}
	uses, err := k.leads.KeyUses(ctx)
	if err != nil {
		return v, err
	}
	for _, use := range uses {
		v.LeadKeys = append(v.LeadKeys, keyView{
			Wrapper:  use.Wrapper,
			Version:  use.Version,
			Leads:    use.Leads,
			Readable: k.wrappers.Wrappers.Reads(use.Wrapper, use.Version),
			Writes:   use.Wrapper == wrapper && use.Version == version,
		})
	}
	if version != "" && !slices.ContainsFunc(v.LeadKeys, func(key keyView) bool { return key.Writes }) {
		v.LeadKeys = append(v.LeadKeys, keyView{Wrapper: wrapper, Version: version, Readable: true, Writes: true})
	}
	if err := k.addRegistered(ctx, &v); err != nil {
		return v, err
	}
	if v.Platform, err = k.platformStatus(ctx); err != nil {
		return v, err
	}
	s, err := k.erasures()
	if err != nil {
		return v, err
	}
	signer, known, err := s.JournalKey(ctx)
	v.JournalKeyMissing = !known
	for i := range v.Platform {
		v.Platform[i].Journal = v.Platform[i].ID == signer.String()
	}
	return v, err
}

// addRegistered adds the configured local keys that no lead uses, and marks the registered keys. All
// versions of a key in Vault are registered together.
func (k *keyServices) addRegistered(ctx context.Context, v *statusView) error {
	registered, err := k.leads.WrappingKeys(ctx)
	if err != nil {
		return err
	}
	inVault := false
	for _, key := range k.wrappers.Wrappers.Keys() {
		known := func(listed keyView) bool { return listed.Wrapper == key.Wrapper && listed.Version == key.Key }
		switch {
		case key.Wrapper == transit.Name:
			inVault = slices.Contains(registered, key)
		case !slices.ContainsFunc(v.LeadKeys, known):
			v.LeadKeys = append(v.LeadKeys, keyView{Wrapper: key.Wrapper, Version: key.Key, Readable: true})
		}
	}
	for i := range v.LeadKeys {
		view := &v.LeadKeys[i]
		view.Registered = slices.Contains(registered, envelope.WrappingKey{Wrapper: view.Wrapper, Key: view.Version}) ||
			view.Wrapper == transit.Name && inVault
	}
	return nil
}

func (k *keyServices) platformStatus(ctx context.Context) ([]platformKeyView, error) {
	secrets, err := k.partners.SealUses(ctx)
	if err != nil {
		return nil, err
	}
	factors, err := k.staff.SealUses(ctx)
	if err != nil {
		return nil, err
	}
	digests, err := k.leads.DigestUses(ctx)
	if err != nil {
		return nil, err
	}
	files, err := blobstore.NewStore(k.db, k.platform, k.clock).SealUses(ctx)
	if err != nil {
		return nil, err
	}
	evidenceKeys, err := k.evidence.SealUses(ctx)
	if err != nil {
		return nil, err
	}
	configured := k.platform.IDs()
	keys := slices.Clone(configured)
	for _, uses := range []map[keyring.KeyID]int64{secrets, factors, digests, files, evidenceKeys} {
		for _, key := range slices.SortedFunc(maps.Keys(uses),
			func(a, b keyring.KeyID) int { return strings.Compare(a.String(), b.String()) }) {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	list := make([]platformKeyView, len(keys))
	for i, key := range keys {
		list[i] = platformKeyView{
			ID: key.String(), Configured: i < len(configured), Writes: i == 0,
			Secrets: secrets[key], SecondFactors: factors[key], Digests: digests[key], Files: files[key], EvidenceKeys: evidenceKeys[key],
		}
	}
	return list, nil
}

func (v statusView) print(w io.Writer) error {
	leads, platform := make([][]any, len(v.LeadKeys)), make([][]any, len(v.Platform))
	for i, key := range v.LeadKeys {
		leads[i] = []any{key.Wrapper, key.Version, key.Leads, yes(key.Registered), keyNote(key.Writes, key.Readable)}
	}
	for i, key := range v.Platform {
		platform[i] = []any{
			key.ID, key.Secrets, key.SecondFactors, key.Digests, key.Files, key.EvidenceKeys,
			yes(key.Journal), keyNote(key.Writes, key.Configured),
		}
	}
	if err := printTable(w, "WRAPPER\tVERSION\tLEADS\tREGISTERED\t", leads); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := printTable(w, "PLATFORM KEY\tSECRETS\tSECOND FACTORS\tLOOKUP DIGESTS\tFILES\tEVIDENCE KEYS\tERASURE JOURNAL\t", platform); err != nil {
		return err
	}
	if v.Problem != "" {
		fmt.Fprintf(w, "\nThe current key version is unknown: %s\n", v.Problem)
	}
	return nil
}

func keyNote(writes, configured bool) string {
	switch {
	case writes:
		return "writes"
	case !configured:
		return "not configured here"
	}
	return ""
}

func keysRewrap() *cobra.Command {
	c := &cobra.Command{
		Use:   "rewrap",
		Short: "Rewrap the keys of all leads with the newest version of the wrapping key",
		Args:  noArgs,
		Long: `Rewrap the keys of all leads with the newest version of the current wrapping key. The command
works in batches and can run under full load. You can stop it at any time and run it again.`,
	}
	flags := newDBFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return withKeys(c, flags, devvault.Rewrap, func(k *keyServices) error {
			if err := k.checkErasures(c.Context()); err != nil {
				return err
			}
			if err := k.mayDecrypt(c.Context()); err != nil {
				return err
			}
			wrapper, version, err := k.wrappers.Wrappers.CurrentKeyVersion(c.Context())
			if err != nil {
				return err
			}
			if err := k.mayWrite(c.Context()); err != nil {
				return err
			}
			done, err := k.move(c.ErrOrStderr()).Rewrap(c.Context())
			err = errors.Join(err, k.auditAction(c.Context(), "keys.rewrap", map[string]any{
				"leads":  done.Leads,
				"failed": done.Failed,
				"to":     wrapper + " " + version,
			}))
			return report(c.OutOrStdout(), done, err,
				fmt.Sprintf("%s moved to %s %s", counted(done.Leads, "lead"), wrapper, version))
		})
	}
	return c
}

func keysReseal() *cobra.Command {
	c := &cobra.Command{
		Use:   "reseal",
		Short: "Move secrets and lookup digests to the first platform key",
		Args:  noArgs,
		Long: `Move signing secrets, second factors, the keys for evidence packs and the erasure journal, and lookup digests
to the first platform key, so that you can remove older keys. You can stop the command at any time and run it again.`,
	}
	flags := newDBFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return withKeys(c, flags, devvault.Rewrap, func(k *keyServices) error {
			if err := k.checkErasures(c.Context()); err != nil {
				return err
			}
			if err := k.mayDecrypt(c.Context()); err != nil {
				return err
			}
			moved, unread, err := k.partners.Reseal(c.Context())
			to := k.platform.IDs()[0]
			fmt.Fprintf(c.OutOrStdout(), "%s moved to platform key %s\n", counted(int64(moved), "signing secret"), to)
			if err == nil && len(unread) > 0 {
				err = fmt.Errorf("no configured platform key can decrypt %s", strings.Join(unread, ", "))
			}
			factors, unreadFactors, failedFactors := k.staff.Reseal(c.Context())
			fmt.Fprintf(c.OutOrStdout(), "%s moved to platform key %s\n", counted(int64(factors), "second factor"), to)
			if len(unreadFactors) > 0 {
				failedFactors = errors.Join(failedFactors,
					fmt.Errorf("no configured platform key can decrypt the second factor of %s", strings.Join(unreadFactors, ", ")))
			}
			evidenceKey, failedKey := k.evidence.Reseal(c.Context())
			if evidenceKey {
				fmt.Fprintf(c.OutOrStdout(), "The key for evidence packs moved to platform key %s\n", to)
			}
			err = errors.Join(err, failedFactors, failedKey)
			s, failed := k.erasures()
			if failed != nil {
				return errors.Join(err, failed)
			}
			journalKey, failedJournal := s.By(audit.Operator).ChangeJournalKey(c.Context())
			if journalKey {
				fmt.Fprintf(c.OutOrStdout(), "The key for the erasure journal moved to platform key %s\n", to)
			}
			err = errors.Join(err, failedJournal)
			// The holds must recognise the new digests of leads before leads get them.
			holds, failed := s.ResealHolds(c.Context())
			if failed != nil {
				return errors.Join(err,
					fmt.Errorf("lookup digests were not moved, because those of the legal holds could not be computed: %w", failed))
			}
			fmt.Fprintf(c.OutOrStdout(), "Lookup digests of %s moved to platform key %s\n", counted(int64(holds), "legal hold"),
				to)
			done, failed := k.move(c.ErrOrStderr()).Reseal(c.Context(), k.platform)
			failed = errors.Join(failed, k.auditAction(c.Context(), "keys.reseal", map[string]any{
				"secrets":        moved,
				"second_factors": factors,
				"evidence_key":   evidenceKey,
				"journal_key":    journalKey,
				"legal_holds":    holds,
				"leads":          done.Leads,
				"failed":         done.Failed,
				"to":             to.String(),
			}))
			return errors.Join(err, report(c.OutOrStdout(), done, failed, fmt.Sprintf("Lookup digests of %s moved to platform key %s",
				counted(done.Leads, "lead"), to)))
		})
	}
	return c
}

var errNoVault = errors.New("no Vault is configured: set vault.address. To replace the local key, see docs/how-to/rotate-keys.md")

func keysRotate() *cobra.Command {
	c := &cobra.Command{Use: "rotate", Short: "Create a new version of the key in Vault", Args: noArgs}
	flags := newDBFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return withKeys(c, flags, devvault.Rotate, func(k *keyServices) error {
			if k.wrappers.Vault == nil {
				return errNoVault
			}
			if err := k.wrappers.Vault.Rotate(c.Context()); err != nil {
				return err
			}
			if err := k.auditAction(c.Context(), "keys.rotate", nil); err != nil {
				return fmt.Errorf("the key was rotated, but this was not recorded in the audit log: %w", err)
			}
			fmt.Fprintln(c.OutOrStdout(),
				"Created a new key version. Nodes use it within a minute. To move existing leads to it, run: pingpost keys rewrap")
			return nil
		})
	}
	return c
}

// mayDecrypt returns an error if Vault is configured with an identity that is not allowed to
// decrypt leads.
func (k *keyServices) mayDecrypt(ctx context.Context) error {
	if k.wrappers.Vault == nil {
		return nil
	}
	if may, err := k.wrappers.Vault.MayDecrypt(ctx); err != nil || may {
		return err
	}
	return errors.New("this command's Vault identity is not allowed to decrypt leads: set vault.role_id and vault.secret_id to an identity with the policy pingpost-rewrap (see docs/how-to/prepare-vault.md)")
}

// auditAction records a key change in the audit log. It writes the event after the change rather than in
// the same transaction, because the change either takes many transactions or happens in Vault.
func (k *keyServices) auditAction(ctx context.Context, action string, result map[string]any) error {
	ctx = context.WithoutCancel(ctx) // record the change even if it was interrupted
	return audit.New(k.db, k.clock).LogDone(ctx, audit.Operator, audit.Event{Action: action, Kind: "keys", After: result})
}

// move returns a key rotation that prints its progress once a second.
func (k *keyServices) move(w io.Writer) *leads.KeyRotation {
	due := onceASecond()
	return &leads.KeyRotation{
		Leads:    k.leads,
		Wrappers: k.wrappers.Wrappers,
		Clock:    k.clock,
		OnProgress: func(m leads.RotationProgress) {
			if due() {
				fmt.Fprintf(w, "%s moved\n", counted(m.Leads, "lead"))
			}
		},
	}
}

func onceASecond() func() bool {
	var last time.Time
	return func() bool {
		now := clock.System{}.Now()
		if now.Sub(last) < time.Second {
			return false
		}
		last = now
		return true
	}
}

// report prints the result of a rewrap or a reseal. It returns an error if any lead could not be moved
// to the new key.
func report(w io.Writer, done leads.RotationProgress, err error, result string) error {
	fmt.Fprintln(w, result)
	if done.Failed > 0 {
		err = errors.Join(err,
			fmt.Errorf("%s could not be moved, last error: %w", counted(done.Failed, "lead"), done.Cause))
	}
	return err
}
