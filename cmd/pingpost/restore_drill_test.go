package main

import (
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/reporting"
)

// drilled is a platform whose backups are restored. Its leads use the local key and two versions of a key in Vault.
type drilled struct {
	*original
	vault   *testkit.Vault
	journal string   // the folder
	temp    string   // TMPDIR of the drills
	env     []string // of the drills, without a database
}

func newDrilled(t *testing.T) *drilled {
	t.Helper()
	d := &drilled{vault: testkit.NewVault(t), journal: folder(t), temp: folder(t)}
	as := func(login, role string) []string {
		credentials := d.vault.Roles[role]
		return []string{login + "ROLE_ID=" + credentials.RoleID, login + "SECRET_ID=" + credentials.SecretID}
	}
	keys := slices.Concat([]string{"PINGPOST_VAULT_ADDRESS=" + d.vault.Address},
		as("PINGPOST_VAULT_", devvault.Serve), as("PINGPOST_VAULT_READ_", devvault.Read))
	journal := []string{
		"PINGPOST_PRIVACY_ERASURE_JOURNAL=" + d.journal, "PINGPOST_PRIVACY_JOURNAL_ENDPOINT=",
		"PINGPOST_PRIVACY_JOURNAL_REGION=", "PINGPOST_PRIVACY_JOURNAL_ACCESS_KEY=",
		"PINGPOST_PRIVACY_JOURNAL_SECRET_KEY=",
	}
	d.original = newOriginal(t, slices.Concat(keys, journal, []string{"PINGPOST_KEYS_WRITE_WITH=local"})...)
	d.client.deliver(t)
	call(t, "", d.original.env, "keys", "introduce").ok(t)
	vault := append(d.original.env, "PINGPOST_KEYS_WRITE_WITH=vault")
	for version := range 2 {
		if version > 0 {
			call(t, "", append(vault, as("PINGPOST_VAULT_", devvault.Rotate)...), "keys", "rotate").ok(t)
		}
		partner := d.client
		partner.origin = d.serve(t, vault).api
		partner.deliver(t)
	}
	d.env = slices.Concat(keys, journal[:1], []string{
		"PINGPOST_PLATFORM_KEYS=" + oldKey, "LEAD_VAULT_KEK=" + aKEK, "PINGPOST_KEYS_WRITE_WITH=vault",
		"TMPDIR=" + d.temp,
	})
	d.countLedger(t)
	return d
}

// countLedger adds all ledger entries to the totals. A node waits until there are many more.
func (d *drilled) countLedger(t *testing.T) {
	t.Helper()
	d.database.Exec(t, `UPDATE daily_lead_counts_state SET counted_to = (SELECT max(id) FROM ledger_entries)`)
	roll := reporting.NewRollup(d.database.DB, clock.System{}, slog.New(slog.DiscardHandler))
	if err := roll.UpdateTotals(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// drill runs a drill, and checks that nothing is left behind. It returns the exit code too.
func (d *drilled) drill(t *testing.T, env []string, args ...string) (drillView, int) {
	t.Helper()
	o := call(t, "", env, append([]string{"restore-drill", "--json"}, args...)...)
	d.nothingLeft(t)
	var v drillView
	if err := json.Unmarshal([]byte(o.stdout), &v); err != nil {
		t.Fatalf("%v: %s%s", err, o.stdout, o.stderr)
	}
	if v.OK != (o.code == 0) || v.Seconds <= 0 {
		t.Errorf("exit code %d, ok %t, %v s", o.code, v.OK, v.Seconds)
	}
	if strings.Contains(o.stdout+o.stderr, "quillfeather") {
		t.Error("the output contains personal data")
	}
	return v, o.code
}

func (d *drilled) nothingLeft(t *testing.T) {
	t.Helper()
	if left, err := os.ReadDir(d.temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	nothingRunsOn(t, d.temp)
}

// failed returns the failed checks with their texts.
func (v drillView) failed() map[string]string {
	found := map[string]string{}
	for _, check := range v.Checks {
		if check.Status != drillOK {
			found[check.Check] = check.Text
		}
	}
	return found
}

// passes runs a drill that must pass.
func (d *drilled) passes(t *testing.T, args ...string) drillView {
	t.Helper()
	v, code := d.drill(t, d.env, args...)
	if code != 0 || len(v.Checks) != 8 {
		t.Fatalf("got %d and %d checks, want 0 and 8: %+v", code, len(v.Checks), v.Checks)
	}
	return v
}

// fails runs a drill in which only the given checks must fail. It returns their texts.
func (d *drilled) fails(t *testing.T, env []string, backup []string, checks ...string) map[string]string {
	t.Helper()
	v, code := d.drill(t, env, backup...)
	failed := v.failed()
	if code != 1 || len(failed) != len(checks) {
		t.Fatalf("got %d, failed %v, want 1 and %v", code, failed, checks)
	}
	for _, check := range checks {
		if failed[check] == "" {
			t.Errorf("%s did not fail: %v", check, failed)
		}
	}
	return failed
}

// textsIn returns the name and content of each file in a folder.
func textsIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name()] = string(text)
	}
	return all
}

func (d *drilled) tamper(t *testing.T, sql string) {
	t.Helper()
	d.database.Exec(t, `SET session_replication_role = replica; `+sql)
}

// Dumps are restored and checked without the platform's database. The journal does not change.
func TestRestoreDrill(t *testing.T) {
	t.Parallel()
	d := newDrilled(t)
	before := d.dump(t)
	erased := d.client.deliver(t)
	d.countLedger(t)
	withLead := d.dump(t)
	call(t, "", d.original.env, "lead", "erase", erased.id, "--reason", "request", "--yes").ok(t)
	after := d.dump(t)
	journal := textsIn(t, d.journal)
	if len(journal) == 0 {
		t.Fatal("the journal is empty")
	}
	events := func() int64 { return testkit.Value[int64](t, d.database, `SELECT count(*) FROM audit_events`) }
	recorded := events()

	t.Run("passes", func(t *testing.T) {
		v := d.passes(t, after)
		if v.Leads != 4 || v.LedgerEntries != 4 || v.EntriesInTotals != 4 ||
			v.AuditEvents != recorded || v.LeadsErasedAgain != 0 {
			t.Errorf("got %+v", v)
		}
		newest := testkit.Value[time.Time](t, d.database, `SELECT max(received_at) FROM leads`)
		audited := testkit.Value[time.Time](t, d.database, `SELECT max(at) FROM audit_events`)
		if v.NewestLeadAt == nil || !v.NewestLeadAt.Equal(newest) || v.NewestAuditEventAt == nil ||
			!v.NewestAuditEventAt.Equal(audited) {
			t.Errorf("got %v and %v, want %s and %s", v.NewestLeadAt, v.NewestAuditEventAt, newest, audited)
		}
		var versions []string
		for _, key := range v.LeadKeys {
			if key.Checked != 1 || key.Failed != 0 || key.Leads != 1 {
				t.Errorf("got %+v, want one lead that can be decrypted", key)
			}
			versions = append(versions, key.Wrapper+" "+key.Version)
		}
		if len(versions) != 3 || !strings.HasPrefix(versions[0], "local ") || versions[1] != "vault v1" ||
			versions[2] != "vault v2" {
			t.Errorf("got the key versions %v", versions)
		}
		out := call(t, "", d.env, "restore-drill", after).ok(t)
		if strings.Count(out, "\nok ") != 7 || !strings.Contains(out, newest.UTC().Format(time.RFC3339)) {
			t.Errorf("got %s", out)
		}
	})
	t.Run("age", func(t *testing.T) {
		d.fails(t, d.env, []string{after, "--max-age", "1ns"}, "age")
		if v, code := d.drill(t, d.env, after, "--max-age", "24h"); code != 0 || len(v.Checks) != 9 {
			t.Errorf("got %d %+v", code, v.Checks)
		}
	})
	t.Run("before an erasure", func(t *testing.T) {
		if v := d.passes(t, withLead); v.LeadsErasedAgain != 1 || v.Leads != 4 {
			t.Errorf("erased %d of %d leads again, want 1 of 4", v.LeadsErasedAgain, v.Leads)
		}
	})
	t.Run("missing key", func(t *testing.T) {
		status := printed[statusView](t, call(t, "", d.original.env, "keys", "status", "--json"))
		missing := "local " + status.LeadKeys[0].Version
		failed := d.fails(t, append(d.env, "LEAD_VAULT_KEK="), []string{after}, "keys", "leads")
		if !strings.Contains(failed["keys"], missing) {
			t.Errorf("the key %s is not in %q", missing, failed["keys"])
		}
		failed = d.fails(t, append(d.env, "PINGPOST_PLATFORM_KEYS="+newKey), []string{before}, "keys", "erasures")
		if !strings.Contains(failed["keys"], "platform key") {
			t.Errorf("the platform key is not in %q", failed["keys"])
		}
	})
	t.Run("journal", func(t *testing.T) {
		missing := append(d.env, "PINGPOST_PRIVACY_ERASURE_JOURNAL="+filepath.Join(d.temp, "missing"))
		d.fails(t, missing, []string{before}, "erasures")
		without := append(d.env, "PINGPOST_PRIVACY_ERASURE_JOURNAL=")
		d.fails(t, without, []string{after}, "erasures")
		if v, code := d.drill(t, without, before); code != 0 {
			t.Errorf("a backup without erasures: got %d %+v", code, v.Checks)
		}
	})
	t.Run("damaged dump", func(t *testing.T) {
		text, err := os.ReadFile(after)
		if err != nil {
			t.Fatal(err)
		}
		damaged := filepath.Join(t.TempDir(), "damaged.dump")
		for _, size := range []int{0, 4, len(text) / 2, len(text) - 100} {
			if err := os.WriteFile(damaged, text[:size], 0o600); err != nil {
				t.Fatal(err)
			}
			failed := d.fails(t, d.env, []string{damaged}, "restore")
			if !strings.Contains(failed["restore"], "truncated") || strings.Contains(failed["restore"], damaged) {
				t.Errorf("%d bytes: got %q", size, failed["restore"])
			}
		}
		failed := d.fails(t, d.env, []string{damaged + ".missing"}, "restore")
		if !strings.Contains(failed["restore"], "cannot be read") {
			t.Errorf("missing file: got %q", failed["restore"])
		}
	})
	t.Run("role", func(t *testing.T) {
		d.database.Exec(t, `CREATE ROLE "read only"; GRANT SELECT ON partners TO "read only"`)
		dump := d.dump(t)
		if failed := d.fails(t, d.env, []string{dump}, "restore"); !strings.Contains(failed["restore"], "read only") {
			t.Errorf("the role is not in %q", failed["restore"])
		}
		d.passes(t, dump, "--role", "read only")
		d.database.Exec(t, `DROP OWNED BY "read only"; DROP ROLE "read only"`)
	})
	t.Run("another database", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "other.dump")
		execute(t, "pg_dump", d.server.SuperuserURL("postgres"), "--format=custom", "--file="+file)
		d.fails(t, d.env, []string{file}, "schema")
	})
	t.Run("interrupted", func(t *testing.T) {
		for _, interrupt := range []func(p *process) int{
			func(p *process) int { return p.interrupt(t) }, func(p *process) int { return p.stop(t, syscall.SIGTERM) },
		} {
			pipe := filepath.Join(t.TempDir(), "pipe.dump") // pg_restore waits until it is opened for writing
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			p := start(t, d.env, "restore-drill", pipe)
			p.until(t, "the restore has begun", func() bool {
				return slices.ContainsFunc(processes(t), func(command string) bool {
					return strings.Contains(command, "--exit-on-error") && strings.Contains(command, pipe)
				})
			})
			if code := interrupt(p); code != 1 {
				t.Errorf("got %d %s, want 1", code, p.stderr.String())
			}
			d.nothingLeft(t)
		}
	})
	t.Run("tampering", func(t *testing.T) {
		d.tamper(t, `UPDATE audit_events SET reason = 'changed' WHERE id = (SELECT max(id) FROM audit_events)`)
		d.fails(t, d.env, []string{d.dump(t)}, "audit_log")
		d.tamper(t, `UPDATE ledger_entries SET amount_minor = amount_minor + 1
			WHERE id = (SELECT max(id) FROM ledger_entries)`)
		d.fails(t, d.env, []string{d.dump(t)}, "audit_log", "ledger")
		d.tamper(t, `DELETE FROM consents WHERE lead_id = (SELECT max(lead_id::text)::uuid FROM consents)`)
		d.fails(t, d.env, []string{d.dump(t)}, "audit_log", "ledger", "lead_rows")
	})
	if now := textsIn(t, d.journal); !maps.Equal(now, journal) {
		t.Errorf("the journal changed from %d to %d files", len(journal), len(now))
	}
	if n := events(); n != recorded {
		t.Errorf("got %d audit events in the platform's database, want %d", n, recorded)
	}
}

// Base backups are restored with the archived WAL, up to a chosen time.
func TestRestoreDrillOfBaseBackup(t *testing.T) {
	t.Parallel()
	d := newDrilled(t)
	archive := strings.Fields(testkit.Value[string](t, d.database, `SHOW archive_command`))[2]
	archive = filepath.Dir(archive)
	base := filepath.Join(folder(t), "base")
	execute(t, "pg_basebackup", "--dbname="+d.server.SuperuserURL("postgres"), "--pgdata="+base, "--checkpoint=fast",
		"--no-sync")
	// With these settings, the copy would wait for a standby, and archive its WAL.
	settings := "synchronous_standby_names = 'missing'\narchive_mode = on\n" +
		"archive_command = 'touch " + base + "/archived'\n"
	if err := os.WriteFile(filepath.Join(base, "postgresql.auto.conf"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	first := d.client.deliver(t)
	between := testkit.Value[time.Time](t, d.database, `SELECT clock_timestamp()`)
	d.server.RestorePoint(t, "a file in between")
	d.client.deliver(t)
	call(t, "", d.original.env, "lead", "erase", first.id, "--reason", "request", "--yes").ok(t)
	d.server.RestorePoint(t, "the end")
	saved := textsIn(t, d.journal)

	for name, tt := range map[string]struct {
		args          []string
		leads, erased int
	}{
		"base backup":   {nil, 3, 1},
		"point in time": {[]string{"--wal", archive, "--until", between.Format(time.RFC3339Nano)}, 4, 1},
		"all WAL":       {[]string{"--wal", archive}, 5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := d.passes(t, append([]string{base}, tt.args...)...)
			if v.Leads != int64(tt.leads) || v.LeadsErasedAgain != tt.erased {
				t.Errorf("got %d leads, %d erased, want %d and %d", v.Leads, v.LeadsErasedAgain, tt.leads, tt.erased)
			}
		})
	}
	without := func(leftOut func(i, n int) bool, mode string) string { // a copy of the archive
		t.Helper()
		to := folder(t)
		segments, err := filepath.Glob(archive + "/????????????????????????")
		if err != nil || len(segments) < 3 {
			t.Fatal(segments, err)
		}
		for i, segment := range segments {
			if !leftOut(i, len(segments)) {
				execute(t, "install", "--mode", mode, segment, to)
			}
		}
		return to
	}
	for name, tt := range map[string]struct {
		args  []string
		check string
		part  string
	}{
		"no WAL": {[]string{"--wal", folder(t)}, "restore", "contains no WAL"},
		"old WAL": {
			[]string{"--wal", without(func(i, _ int) bool { return i > 0 }, "644")}, "restore",
			"ends before the base backup",
		},
		"missing file": {
			[]string{"--wal", without(func(i, n int) bool { return i == n-2 }, "644")}, "restore",
			"a file in between is missing",
		},
		"unreadable files": {
			[]string{"--wal", without(func(int, int) bool { return false }, "000")}, "restore",
			"none of the archived WAL",
		},
		"after the WAL": {
			[]string{"--wal", archive, "--until", between.Add(time.Hour).Format(time.RFC3339)}, "restore", "--until",
		},
		"another database": {[]string{"--database", "other"}, "schema", "--database"},
	} {
		t.Run(name, func(t *testing.T) {
			failed := d.fails(t, d.env, append([]string{base}, tt.args...), tt.check)
			if !strings.Contains(failed[tt.check], tt.part) {
				t.Errorf("%q is not in %q", tt.part, failed[tt.check])
			}
		})
	}
	t.Run("links", func(t *testing.T) {
		link := filepath.Join(base, "pg_tblspc", "1")
		if err := os.Symlink(archive, link); err != nil {
			t.Fatal(err)
		}
		d.fails(t, d.env, []string{base}, "restore")
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		wal := folder(t)
		execute(t, "touch", filepath.Join(wal, "0000000100000000000000FF"))
		pipe := filepath.Join(wal, "00000002.history") // the recovery waits until it is opened for writing
		if err := syscall.Mkfifo(pipe, 0o644); err != nil {
			t.Fatal(err)
		}
		p := start(t, d.env, "restore-drill", base, "--wal", wal)
		p.until(t, "the recovery has begun", func() bool {
			return slices.ContainsFunc(processes(t), func(command string) bool {
				return strings.HasPrefix(command, "cp "+pipe)
			})
		})
		if code := p.interrupt(t); code != 1 {
			t.Errorf("got %d %s, want 1", code, p.stderr.String())
		}
		d.nothingLeft(t)
		nothingRunsOn(t, wal)
	})
	t.Run("missing WAL", func(t *testing.T) {
		if err := os.Rename(filepath.Join(base, "pg_wal"), filepath.Join(base, "pg_wal_saved")); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(base, "pg_wal"), 0o700); err != nil {
			t.Fatal(err)
		}
		d.fails(t, d.env, []string{base}, "restore")
		d.passes(t, base, "--wal", archive)
	})
	if _, err := os.Stat(filepath.Join(base, "archived")); err == nil {
		t.Error("the copy archived its WAL")
	}
	if now := textsIn(t, d.journal); !maps.Equal(now, saved) {
		t.Errorf("the journal has %d files, want %d", len(now), len(saved))
	}
}

func TestRestoreDrillFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{}, {"a", "b"}, {"a", "--sample", "0"}, {"a", "--until", "2026-01-20T09:00:00Z"},
		{"a", "--wal", "wal", "--until", "yesterday"}, {"a", "--max-age", "-1h"},
	} {
		pingpost(t, append([]string{"restore-drill"}, args...)...).fails(t, 2)
	}
	base := folder(t)
	execute(t, "touch", filepath.Join(base, "PG_VERSION"))
	pingpost(t, "restore-drill", base, "--role", "grafana").fails(t, 2, "--role")
}

// The commands in docs/how-to/back-up-and-restore.md take backups that pass a drill, and delete old ones.
func TestBackupSchedule(t *testing.T) {
	t.Parallel()
	d := newDrilled(t)
	backups := folder(t)
	archive := filepath.Dir(strings.Fields(testkit.Value[string](t, d.database, `SHOW archive_command`))[2])
	if err := os.Symlink(archive, filepath.Join(backups, "wal")); err != nil {
		t.Fatal(err)
	}
	for name, days := range map[string]int{
		"20260101T030000.dump": 40, "20260101T030001.part": 40, "20260301T030000.dump": 30,
	} {
		old := filepath.Join(backups, name)
		if err := os.WriteFile(old, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := clock.System{}.Now().AddDate(0, 0, -days)
		if err := os.Chtimes(old, at, at); err != nil {
			t.Fatal(err)
		}
	}
	r := newReader(t, append(d.env, "BACKUPS="+backups, "OWNER_URL="+d.database.OwnerURL,
		"REPLICATION_URL="+d.server.SuperuserURL("postgres"))...)
	r.follow(t, backup+"#back-up-the-database-every-day")
	d.server.RestorePoint(t, "the end") // the WAL of the base backup is archived
	var kinds []string
	files, err := os.ReadDir(backups)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		kinds = append(kinds, filepath.Ext(f.Name()))
	}
	slices.Sort(kinds)
	if !slices.Equal(kinds, []string{"", ".base", ".dump", ".dump"}) {
		t.Errorf("got the files %v", files)
	}
	out := r.follow(t, backup+"#restore-a-backup-every-week")
	d.nothingLeft(t)
	if n := strings.Count("\n"+out, "\nok "); n != 18 {
		t.Errorf("got %d passed checks, want 18: %s", n, out)
	}
}
