package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reporting"
)

// drill restores a backup and checks it.
type drill struct {
	cfg    *config.Config // its database is the restored one
	clock  clock.System
	sample int
	maxAge time.Duration // of the newest lead; 0 for any
	view   drillView
}

// checkDatabase checks the restored database. If its schema does not fit this program, the other checks are left out.
func (d *drill) checkDatabase(ctx context.Context) {
	var db *postgres.DB
	var k *keyServices
	opened := d.check("schema", func() (string, error) {
		platform, err := keyring.NewKeys(d.cfg.Keys.PlatformKeys())
		if err != nil {
			return "", err
		}
		if db, err = postgres.Open(ctx, postgres.Options{
			URL: d.cfg.Database.URL.Reveal(), MaxConnections: 2, ConnectTimeout: d.cfg.Database.ConnectTimeout,
		}); err != nil {
			return "", err
		}
		state, err := db.Inspect(ctx)
		switch {
		case err != nil:
			return "", err
		case state.Schema.Version == 0:
			return "", errors.New("the backup has no tables of pingpost: back up the database in database.url, " +
				"and with a base backup, set --database")
		case state.CheckSchema() != nil:
			return "", fmt.Errorf("the backup has schema version %d, which this program does not work with: run "+
				"the drill with the program that the nodes run, on a backup that is newer than the last upgrade",
				state.Schema.Version)
		}
		if k, err = newKeyServices(d.cfg, db, platform, d.clock); err != nil {
			return "", err
		}
		return fmt.Sprintf("version %d", state.Schema.Version), d.readContents(ctx, db)
	})
	if db != nil {
		defer db.Close()
	}
	if !opened {
		return
	}
	if d.maxAge > 0 {
		d.check("age", func() (string, error) { return d.checkAge() })
	}
	for _, check := range []struct {
		name string
		do   func(context.Context, *keyServices) (string, error)
	}{
		{"audit_log", d.checkAudit}, {"ledger", d.checkLedger}, {"keys", d.checkKeys}, {"leads", d.checkLeads},
		{"erasures", d.checkErasures}, {"lead_rows", d.checkRows},
	} {
		if ctx.Err() != nil {
			return
		}
		d.check(check.name, func() (string, error) { return check.do(ctx, k) })
	}
}

// readContents reads how much the backup contains, and how new it is.
func (d *drill) readContents(ctx context.Context, db *postgres.DB) error {
	err := db.Pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM leads), (SELECT max(received_at) FROM leads),
		(SELECT count(*) FROM ledger_entries), (SELECT count(*) FROM audit_events),
		(SELECT max(at) FROM audit_events), (SELECT coalesce(sum(entries), 0)::bigint FROM ledger_totals)`).Scan(
		&d.view.Leads, &d.view.NewestLeadAt, &d.view.LedgerEntries, &d.view.AuditEvents, &d.view.NewestAuditEventAt,
		&d.view.EntriesInTotals)
	for _, at := range []*time.Time{d.view.NewestLeadAt, d.view.NewestAuditEventAt} {
		if at != nil {
			*at = at.UTC()
		}
	}
	return postgres.Translate(err)
}

func (d *drill) checkAge() (string, error) {
	newest := d.view.NewestLeadAt
	if newest == nil || d.view.StartedAt.Sub(*newest) > d.maxAge {
		return "", fmt.Errorf("the backup has no lead from the last %s. Check the job that makes the backups", d.maxAge)
	}
	return fmt.Sprintf("the newest lead is not older than %s", d.maxAge), nil
}

func (d *drill) checkAudit(ctx context.Context, k *keyServices) (string, error) {
	v, err := audit.New(k.db, k.clock).Verify(ctx, "")
	if err == nil && !v.Intact() {
		err = fmt.Errorf("event %d or the one before it was changed or removed. Compare it with older backups, "+
			"and run `pingpost audit verify` on the platform's database",
			v.BrokenAt)
	}
	return counted(v.Events, "event") + ", all intact", err
}

// checkLedger compares the ledger with the totals from which balances and payouts are computed.
func (d *drill) checkLedger(ctx context.Context, k *keyServices) (string, error) {
	found, err := reporting.NewRollup(k.db, k.clock, slog.New(slog.DiscardHandler)).CheckTotals(ctx, time.Time{})
	if err == nil && len(found) > 0 {
		totals := 0
		for _, month := range found {
			totals += month.Totals
		}
		err = fmt.Errorf("the totals of %s differ from the entries, first in %s. Compare this month with older "+
			"backups, and check the metric pingpost_ledger_totals_differences",
			counted(int64(totals), "account"), found[len(found)-1].Month.UTC().Format("2006-01"))
	}
	return fmt.Sprintf("%d of %d entries are in the totals, and all totals match", d.view.EntriesInTotals,
		d.view.LedgerEntries), err
}

func (d *drill) checkKeys(ctx context.Context, k *keyServices) (string, error) {
	status, err := k.status(ctx)
	if err == nil {
		err = status.missing()
	}
	return "all keys that the backup needs are configured here", err
}

// checkLeads decrypts leads of each key version with the login to Vault that reveals contact data, if there is one.
func (d *drill) checkLeads(ctx context.Context, k *keyServices) (string, error) {
	wrappers := k.wrappers.Wrappers
	if k.cfg.Vault.Reads() {
		wrappers = k.wrappers.Readers
	}
	checks, err := k.leads.VerifyKeys(ctx, wrappers, d.sample)
	if err != nil {
		return "", err
	}
	views, failed := viewKeyChecks(checks)
	d.view.LeadKeys = views
	checked := 0
	for _, check := range checks {
		checked += check.Checked
	}
	if failed > 0 {
		return "", fmt.Errorf("%d of %s cannot be decrypted. lead_keys contains the reason. Configure missing keys, "+
			"check the login to Vault, or restore an older backup", failed, counted(int64(checked), "lead"))
	}
	return counted(int64(checked), "lead") + " of all key versions decrypted", nil
}

// checkErasures replays the erasures after the backup, from a copy of the journal.
func (d *drill) checkErasures(ctx context.Context, k *keyServices) (string, error) {
	j, err := app.OpenJournal(k.cfg.Privacy)
	if err != nil {
		return "", err
	}
	if j == nil {
		// This fails if the backup contains erasures.
		return "no journal is configured, and no lead was erased", k.erasuresIn(nil).CheckJournal(ctx)
	}
	if j, err = journal.Copy(ctx, j); err != nil {
		return "", fmt.Errorf("the erasure journal cannot be read: %w. Check privacy.erasure_journal", err)
	}
	erasures := k.erasuresIn(j).By(audit.Operator)
	plan, err := erasures.PlanReplay(ctx)
	if err != nil {
		return "", err
	}
	done, err := erasures.Replay(ctx, plan, true)
	if err != nil {
		return "", err
	}
	d.view.LeadsErasedAgain = done.Leads
	v, err := erasures.Verify(ctx)
	text := fmt.Sprintf("%s erased again. The journal is intact. Entries: %d",
		counted(int64(done.Leads), "lead"), v.Entries)
	if done.Held > 0 {
		text += fmt.Sprintf(". Erased although the backup has a legal hold on them: %d", done.Held)
	}
	return text, err
}

// checkRows checks that each lead has its key, consent, events and accrual.
func (d *drill) checkRows(ctx context.Context, k *keyServices) (string, error) {
	periods, err := postgres.Partitions(ctx, k.db.Pool, "leads", postgres.Period{})
	if err != nil {
		return "", postgres.Translate(err)
	}
	var found []uuid.UUID
	for _, period := range slices.Backward(periods) {
		some, err := k.leads.Incomplete(ctx, period.From, period.Until)
		if err != nil {
			return "", err
		}
		found = append(found, some...)
	}
	if len(found) > 0 {
		return "", fmt.Errorf("at least %s (the first is %s) have no key, consent, event or accrual. If the lead keys "+
			"are backed up separately, this is expected; otherwise compare them with older backups",
			counted(int64(len(found)), "lead"), id.Format(id.Lead, found[0]))
	}
	return counted(d.view.Leads, "lead") + " with all rows", nil
}
