package retention

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

const (
	runEvery = 24 * time.Hour
	// A run whose job has failed is continued after retryAfter.
	retryAfter = time.Hour
	// scannedAtOnce is the number of leads after which the progress is saved, even if few of them are due.
	scannedAtOnce = 50 * leads.DueBatch
	// A run erases at most one lead in each eraseInterval, which is a million leads in less than 10 minutes.
	eraseInterval = 550 * time.Microsecond
)

// lastRun returns the newest run, or nil if there was none.
func (s *Service) lastRun(tx *gorm.DB) (*models.RetentionRun, error) {
	var run models.RetentionRun
	q := tx.Order("started_at DESC, id DESC").Limit(1).Find(&run)
	if q.Error != nil || q.RowsAffected == 0 {
		return nil, q.Error
	}
	return &run, nil
}

// LastEnd returns when the newest finished run ended, or the zero time if no run has ended.
func (s *Service) LastEnd(ctx context.Context) (at time.Time, err error) {
	var run models.RetentionRun
	err = s.db.Gorm.WithContext(ctx).Where("ended_at IS NOT NULL").Order("started_at DESC, id DESC").Limit(1).
		Find(&run).Error
	if err == nil && run.EndedAt != nil {
		at = *run.EndedAt
	}
	return at, postgres.Translate(err)
}

// EnqueueDaily enqueues the daily run, if it is due or was interrupted. It is called repeatedly by all nodes.
func (s *Service) EnqueueDaily(ctx context.Context) error {
	if !s.erasures.HasJournal() {
		return nil
	}
	all, err := s.extendPeriods(ctx)
	if err != nil {
		return err
	}
	// Without a period, there is nothing to do, not even to compare the journal with the database.
	if !slices.ContainsFunc(all, func(period models.RetentionPeriod) bool { return period.Days > 0 }) {
		return nil
	}
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		run, err := s.openRun(tx, runEvery)
		if err != nil || run.EndedAt != nil {
			return err
		}
		job, found, err := s.queue.LatestIn(tx, run.ID)
		if err != nil || found && (job.EndedAt == nil || s.clock.Now().Sub(*job.EndedAt) < retryAfter) {
			return err
		}
		_, err = s.queue.Enqueue(tx, s.by, models.JobRetentionRun, run.ID, uuid.Nil)
		return err
	})
}

// Run erases the leads whose period in effect has passed, in this process. It continues an interrupted run, or
// begins a new one. It returns the run.
//
// Errors: Unavailable with the reason no_journal, jobs.ErrRunning, and those of erasure.Service.CheckJournal.
func (s *Service) Run(ctx context.Context) (run models.RetentionRun, err error) {
	if err := s.erasures.RequireJournal(); err != nil {
		return run, err
	}
	if _, err := s.extendPeriods(ctx); err != nil {
		return run, err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		run, err = s.openRun(tx, 0)
		return err
	})
	if err != nil {
		return run, err
	}
	if err := s.queue.RunNow(ctx, s.by, models.JobRetentionRun, run.ID, uuid.Nil); err != nil {
		return run, err
	}
	return s.run(ctx, run.ID)
}

// openRun returns the last run if it has not ended, or if it began less than the given time ago. Otherwise it begins a
// new one.
func (s *Service) openRun(tx *gorm.DB, every time.Duration) (run models.RetentionRun, err error) {
	if err := tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('retention runs'))`).Error; err != nil {
		return run, err
	}
	last, err := s.lastRun(tx)
	if err != nil {
		return run, err
	}
	now := s.clock.Now()
	if last != nil && (last.EndedAt == nil || now.Sub(last.StartedAt) < every) {
		return *last, nil
	}
	run = models.RetentionRun{ID: id.New(now), StartedAt: now, Erased: erasedCounts{}}
	return run, tx.Create(&run).Error
}

func (s *Service) run(ctx context.Context, run uuid.UUID) (r models.RetentionRun, err error) {
	err = s.db.Gorm.WithContext(ctx).Where("id = ?", run).Take(&r).Error
	return r, postgres.Translate(err)
}

// carryOut is the handler of the jobs for retention runs.
func (s *Service) carryOut(ctx context.Context, job *jobs.Attempt) error {
	run, err := s.run(ctx, job.ObjectID)
	if err != nil {
		return err
	}
	r := &activeRun{Service: s.By(job.Actor()), job: job, run: run}
	if err := s.erasures.CheckJournal(ctx); err != nil {
		return err
	}
	if err := s.erasures.Finish(ctx); err != nil {
		return err
	}
	for {
		err := r.eraseAll(ctx)
		if errors.Is(err, errPeriodsChanged) {
			continue
		}
		if err != nil {
			return err
		}
		return r.end(ctx)
	}
}

// activeRun is a run that this process carries out.
type activeRun struct {
	*Service
	job *jobs.Attempt
	run models.RetentionRun
}

// errPeriodsChanged means that the periods in effect have changed since they were read.
var errPeriodsChanged = errors.New("the retention periods have changed")

func (r *activeRun) eraseAll(ctx context.Context) error {
	all, _, err := readPeriods(r.db.Gorm.WithContext(ctx))
	if err != nil {
		return postgres.Translate(err)
	}
	for _, c := range Categories {
		for _, period := range all {
			if period.Category == c && period.Days > 0 {
				if err := r.erase(ctx, all, period); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// erase erases the data whose period has passed, in batches. After each batch, it pauses for at least as
// long as the batch took, so that it does not slow down posts too much.
func (r *activeRun) erase(ctx context.Context, all effectivePeriods, p models.RetentionPeriod) error {
	group := all.group(p)
	group.Until = dueUntil(r.clock.Now(), p.Days)
	if err := r.eraseDeferred(ctx, all, p, group); err != nil {
		return err
	}
	parts, err := r.leads.DueParts(ctx, group)
	if err != nil {
		return err
	}
	var due []leads.DueLead
	scanned, erased, position := 0, 0, group.After
	flush := func() error {
		err := r.eraseBatch(ctx, all, p, due, position)
		due, scanned, erased = nil, 0, erased+len(due)
		return err
	}
	for _, part := range parts {
		for {
			begun := r.clock.Now()
			found, last, err := r.leads.ScanDue(ctx, part)
			if err != nil {
				return err
			}
			if last == uuid.Nil {
				break
			}
			if len(due)+len(found) > erasure.LeadsPerEntry {
				if err := flush(); err != nil {
					return err
				}
			}
			due, part.After, position = append(due, found...), last, last
			if scanned += leads.DueBatch; scanned >= scannedAtOnce {
				if err := flush(); err != nil {
					return err
				}
			}
			took := r.clock.Now().Sub(begun)
			if err := clock.Sleep(ctx, max(took, time.Duration(erased)*eraseInterval-took)); err != nil {
				return err
			}
			erased = 0
		}
	}
	if id.Compare(group.Until, position) > 0 {
		position = group.Until
	}
	if position == group.After {
		return nil
	}
	return flush()
}

// eraseDeferred erases leads that were under a legal hold when their period passed.
func (r *activeRun) eraseDeferred(
	ctx context.Context, all effectivePeriods, p models.RetentionPeriod, group leads.Due,
) error {
	for after := uuid.Nil; ; {
		var due []leads.DueLead
		err := r.db.Gorm.WithContext(ctx).Raw(`SELECT l.id, l.country FROM retention_deferred d JOIN leads l ON l.id = d.lead_id
			WHERE d.category = ? AND d.lead_id > ? AND d.lead_id < ? AND (l.country = ANY (?::text[])) <> ? ORDER BY l.id
			LIMIT ?`,
			p.Category, after, group.Until, postgres.Array(group.Countries), group.Others,
			erasure.LeadsPerEntry).Scan(&due).Error
		if err != nil || len(due) == 0 {
			return postgres.Translate(err)
		}
		if err := r.eraseBatch(ctx, all, p, due, p.Position); err != nil {
			return err
		}
		after = due[len(due)-1].ID
	}
}

// eraseBatch adds an entry to the erasure journal for the due leads, except those that are under a legal
// hold or already erased, and saves the progress. Then it erases the leads.
func (r *activeRun) eraseBatch(
	ctx context.Context, all effectivePeriods, p models.RetentionPeriod, due []leads.DueLead, position uuid.UUID,
) error {
	counts := r.run.Erased
	err := r.job.Step(ctx, func(tx *gorm.DB) error {
		if err := erasure.Lock(tx); err != nil {
			return err
		}
		current, _, err := readPeriods(tx)
		if err == nil && !maps.Equal(current.days(), all.days()) {
			err = errPeriodsChanged
		}
		if err != nil {
			return err
		}
		erasable, err := r.withoutHeld(tx, p.Category, due)
		if err != nil {
			return err
		}
		counts = countErased(r.run.Erased, p.Category, erasable)
		text, err := json.Marshal(counts)
		if err != nil {
			return err
		}
		if err := tx.Exec(`UPDATE retention_runs SET erased = ? WHERE id = ?`, text, r.run.ID).Error; err != nil {
			return err
		}
		err = tx.Exec(`UPDATE retention_periods SET position = ? WHERE category = ? AND country = ? AND position < ?`,
			position, p.Category, p.Country, position).Error
		if err != nil || len(erasable) == 0 {
			return err
		}
		return r.addEntries(tx, all, p, erasable)
	})
	if err != nil {
		return err
	}
	r.run.Erased = counts
	r.job.Progress("leads erased", total(counts), 0)
	return r.erasures.Finish(ctx)
}

// withoutHeld returns the due leads that can be erased. It saves those under a legal hold for a later run.
func (r *activeRun) withoutHeld(
	tx *gorm.DB, c models.RetentionCategory, due []leads.DueLead,
) (erasable []leads.DueLead, err error) {
	if len(due) == 0 {
		return nil, nil
	}
	ids := make([]uuid.UUID, len(due))
	for i, lead := range due {
		ids[i] = lead.ID
	}
	held, err := r.erasures.Held(tx, ids)
	if err != nil {
		return nil, err
	}
	erased, err := erasure.ErasedAmong(tx, ids, c == models.RetainConsent) // or pending
	if err != nil {
		return nil, err
	}
	var deferred []models.RetentionDeferred
	var done []uuid.UUID
	for _, lead := range due {
		switch {
		case held[lead.ID]:
			deferred = append(deferred, models.RetentionDeferred{Category: c, LeadID: lead.ID})
			continue
		case !erased[lead.ID]:
			erasable = append(erasable, lead)
		}
		done = append(done, lead.ID)
	}
	if len(deferred) > 0 {
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&deferred).Error; err != nil {
			return nil, err
		}
	}
	if len(done) == 0 {
		return nil, nil
	}
	return erasable, tx.Where("category = ? AND lead_id = ANY (?::uuid[])", c, postgres.Array(done)).
		Delete(&models.RetentionDeferred{}).Error
}

// addEntries adds the entries for due leads. Entries for contact records keep the details of consents
// whose own period has not passed yet.
func (r *activeRun) addEntries(tx *gorm.DB, all effectivePeriods, p models.RetentionPeriod, due []leads.DueLead) error {
	now := r.clock.Now()
	var whole, kept []uuid.UUID
	for _, lead := range due {
		consentDays := all.daysFor(models.RetainConsent, lead.Country)
		if p.Category == models.RetainConsent || id.Compare(lead.ID, dueUntil(now, consentDays)) < 0 {
			whole = append(whole, lead.ID)
		} else {
			kept = append(kept, lead.ID)
		}
	}
	if len(whole) > 0 {
		if err := r.erasures.AddRetentionEntry(tx, false, whole); err != nil {
			return err
		}
	}
	if len(kept) > 0 {
		return r.erasures.AddRetentionEntry(tx, true, kept)
	}
	return nil
}

// erasedCounts contains numbers of leads by category and country.
type erasedCounts = map[models.RetentionCategory]map[string]int64

// countErased returns the counts with the given leads added.
func countErased(counts erasedCounts, c models.RetentionCategory, more []leads.DueLead) erasedCounts {
	sum := erasedCounts{}
	for category, byCountry := range counts {
		sum[category] = maps.Clone(byCountry)
	}
	for _, lead := range more {
		if sum[c] == nil {
			sum[c] = map[string]int64{}
		}
		sum[c][lead.Country]++
	}
	return sum
}

func total(counts erasedCounts) (n int64) {
	for _, byCountry := range counts {
		for _, erased := range byCountry {
			n += erased
		}
	}
	return n
}

// end marks the run as ended, and records it in the audit log if it erased something.
func (r *activeRun) end(ctx context.Context) error {
	now := r.clock.Now()
	return r.job.Commit(ctx, func(tx *gorm.DB) error {
		err := tx.Exec(`UPDATE retention_runs SET ended_at = ? WHERE id = ?`, now, r.run.ID).Error
		if err != nil || len(r.run.Erased) == 0 {
			return err
		}
		after := map[string]any{}
		for category, byCountry := range r.run.Erased {
			after[string(category)] = byCountry
		}
		return audit.Write(tx, now, r.by, audit.Event{Action: "retention.run", Kind: "platform", After: after})
	})
}
