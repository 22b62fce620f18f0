package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devpg"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/platform/config"
)

// drillView is the result of a restore drill.
type drillView struct {
	OK        bool      `json:"ok"` // whether no check failed
	StartedAt time.Time `json:"started_at"`
	Seconds   float64   `json:"seconds"`
	// These describe the backup. Without a lead or an audit event, or if the backup cannot be read, the time is null.
	NewestLeadAt       *time.Time       `json:"newest_lead_at"`
	NewestAuditEventAt *time.Time       `json:"newest_audit_event_at"`
	Leads              int64            `json:"leads"`
	LedgerEntries      int64            `json:"ledger_entries"`
	EntriesInTotals    int64            `json:"entries_in_totals"` // nodes add the newest entries later
	AuditEvents        int64            `json:"audit_events"`
	LeadKeys           []keyCheckView   `json:"lead_keys"`
	LeadsErasedAgain   int              `json:"leads_erased_again"`
	Checks             []drillCheckView `json:"checks"`
}

type drillCheckView struct {
	Check   string  `json:"check"`
	Status  string  `json:"status"` // ok or failed
	Seconds float64 `json:"seconds"`
	Text    string  `json:"text"`
}

// restoreSource is the backup that a drill restores.
type restoreSource struct {
	path, database, wal string
	until               time.Time
	roles               []string
}

func (s restoreSource) isBaseBackup() bool {
	_, err := os.Stat(filepath.Join(s.path, "PG_VERSION"))
	return err == nil
}

func restoreDrillCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "restore-drill BACKUP", Short: "Restore a backup into a temporary Postgres and check it",
		Args: exactly(1, "a file of pg_dump, or the folder of a base backup"),
		Long: `Restore a backup into a temporary Postgres and check it. The backup is a file of
"pg_dump --format=custom", or the folder of a base backup in the plain format of pg_basebackup. The command
reads the keys and the erasure journal that are configured here. It changes neither the journal nor the
platform's database, which it does not need. It prints what the backup contains, how long each step took
and, if a check failed, what to do. It exits with 1 if a check failed.

The copy of the data is in a folder in $TMPDIR (default /tmp), which is deleted at the end. It needs as much
space as the database.`,
		Example: `  pingpost restore-drill pingpost.dump
  pingpost restore-drill base --wal wal --until 2026-01-20T09:00:00Z`,
	}
	flags, asJSON, sampleFlag := newDBFlags(c), jsonFlag(c), newSampleFlag(c)
	var from restoreSource
	c.Flags().StringVar(&from.wal, "wal", "", "with a base backup: apply the archived WAL in the folder `DIR`")
	until := c.Flags().String("until", "",
		"with --wal: restore to this `TIME`, such as 2026-01-20T09:00:00Z (default: the end of the WAL)")
	c.Flags().StringVar(&from.database, "database", "pingpost", "with a base backup: the `NAME` of the database")
	c.Flags().StringSliceVar(&from.roles, "role", nil,
		"with a dump: also create the database role `NAME`, to which the dump grants privileges; can be repeated")
	maxAge := c.Flags().Duration("max-age", 0,
		"also fail if the newest lead in the backup is older than `DURATION`, such as 36h")
	c.RunE = func(c *cobra.Command, args []string) error {
		sample, err := sampleFlag()
		if err != nil {
			return err
		}
		if *maxAge < 0 {
			return usageError{errors.New("--max-age: enter a duration such as 36h")}
		}
		if *until != "" {
			if from.until, err = time.Parse(time.RFC3339, *until); err != nil || from.wal == "" {
				return usageError{errors.New("--until: enter a time such as 2026-01-20T09:00:00Z, and add --wal")}
			}
		}
		if from.path = args[0]; from.isBaseBackup() && len(from.roles) > 0 {
			return usageError{errors.New("--role: use it only with a dump. A base backup contains all roles")}
		}
		cfg, running, err := flags.load(config.SectionKeys, config.SectionVault, config.SectionPrivacy)
		if err != nil {
			return err
		}
		if running != nil {
			useKeysOf(running, cfg, devvault.Rewrap)
		}
		d := &drill{
			cfg: cfg, clock: flags.clock, sample: sample, maxAge: *maxAge, view: drillView{LeadKeys: []keyCheckView{}},
		}
		err = d.run(c.Context(), from)
		if c.Context().Err() != nil || len(d.view.Checks) == 0 {
			return err
		}
		if *asJSON {
			err = errors.Join(err, printJSON(c.OutOrStdout(), d.view))
		} else {
			err = errors.Join(err, d.view.print(c.OutOrStdout()))
		}
		if !d.view.OK {
			err = errors.Join(err, errDrill)
		}
		return err
	}
	return c
}

var errDrill = errors.New("the backup did not pass: at least one check failed")

// run restores the backup and checks it. It deletes the restored data before it returns.
func (d *drill) run(ctx context.Context, from restoreSource) (err error) {
	d.view.StartedAt = d.clock.Now()
	defer func() {
		d.view.Seconds = d.seconds(d.view.StartedAt)
		if ctx.Err() != nil {
			err = errors.Join(errors.New("the restore drill was cancelled"), err)
		}
	}()
	folder, err := os.MkdirTemp("", "pingpost-restore-drill-")
	if err != nil {
		return fmt.Errorf("creating a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	var server *devpg.Server
	defer func() {
		if server != nil {
			err = errors.Join(err, server.Stop())
		}
	}()
	restored := d.check("restore", func() (text string, err error) {
		// Commits are as durable as in production, so that the time is realistic.
		server, text, err = restoreBackup(ctx, from, devpg.Options{
			DataDir: folder, Temporary: true, Durable: true,
			ExtraSettings: map[string]string{"max_locks_per_transaction": "256"}, // see docs/how-to/deploy.md
		})
		if err != nil {
			return "", err
		}
		passwords := devpg.Passwords{Owner: rand.Text(), App: rand.Text()}
		d.cfg.Database.URL = config.Secret(server.URL(devpg.AppRole, passwords.App, from.database))
		return text, server.Provision(ctx, from.database, passwords)
	})
	if restored && ctx.Err() == nil {
		d.checkDatabase(ctx)
	}
	d.view.OK = true
	for _, check := range d.view.Checks {
		d.view.OK = d.view.OK && check.Status == drillOK
	}
	return nil
}

// restoreBackup starts a Postgres with the restored backup. If it fails, it also returns a started Postgres.
func restoreBackup(ctx context.Context, from restoreSource, o devpg.Options) (s *devpg.Server, text string, err error) {
	if from.isBaseBackup() {
		s, err = devpg.StartBackup(ctx, devpg.BaseBackup{Folder: from.path, WAL: from.wal, Until: from.until}, o)
		if from.wal != "" {
			return s, "the base backup is restored, and the archived WAL is applied", err
		}
		return s, "the base backup is restored", err
	}
	if from.wal != "" {
		return nil, "", errors.New("--wal needs the folder of a base backup in the plain format of pg_basebackup")
	}
	if s, err = devpg.Start(ctx, o); err != nil {
		return s, "", err
	}
	if err = s.Provision(ctx, from.database, devpg.Passwords{Owner: rand.Text(), App: rand.Text()}); err != nil {
		return s, "", err
	}
	err = s.RestoreDump(ctx, from.database, from.path, from.roles)
	return s, "the dump is restored", err
}

// check runs a check and adds its result to the report. The function returns what it found, or an error that says
// what to do.
func (d *drill) check(name string, do func() (string, error)) bool {
	started := d.clock.Now()
	text, err := do()
	v := drillCheckView{name, drillOK, d.seconds(started), text}
	if err != nil {
		v.Status, v.Text = drillFailed, plain(err).Error()+codeSuffix(err)
	}
	d.view.Checks = append(d.view.Checks, v)
	return err == nil
}

const (
	drillOK     = "ok"
	drillFailed = "failed"
)

func (d *drill) seconds(since time.Time) float64 {
	return clock.System{}.Now().Sub(since.Add(-d.clock.Offset)).Round(time.Millisecond).Seconds()
}

func (v drillView) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, check := range v.Checks {
		fmt.Fprintf(t, "%s\t%s\t%.1f s\t%s\n", check.Status, check.Check, check.Seconds, check.Text)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(v.LeadKeys) > 0 {
		fmt.Fprintln(w)
		if err := printKeyChecks(w, v.LeadKeys); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\nDuration: %.1f s\n", v.Seconds)
	for _, newest := range []struct {
		what string
		at   *time.Time
	}{{"lead", v.NewestLeadAt}, {"audit event", v.NewestAuditEventAt}} {
		if newest.at != nil {
			fmt.Fprintf(w, "Newest %s in the backup: %s, %s before the drill\n", newest.what,
				newest.at.Format(time.RFC3339), v.StartedAt.Sub(*newest.at).Round(time.Second))
		}
	}
	if v.NewestLeadAt != nil {
		fmt.Fprintln(w, "If you restore this backup, all newer leads are lost.")
	}
	return nil
}
