package erasure

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

var errReplayHeld = apperr.New(apperr.Conflict, "legal_hold",
	"Some leads that were erased after the backup are under a legal hold in this database. Release the legal holds, or confirm that you want to erase these leads too.")

// ReplayEntry is an entry of the journal whose leads are not erased in the database.
type ReplayEntry struct {
	Sequence int64     `json:"entry"`
	At       time.Time `json:"at"`
	By       string    `json:"by"`
	Reason   string    `json:"reason"`
	Leads    []string  `json:"leads"`
	Held     []string  `json:"held"` // the leads under a legal hold

	inDatabase bool // only its leads were restored
}

// PlanReplay returns the entries that Replay carries out, in order. It changes nothing.
//
// Errors: Unavailable with the reason journal_unavailable, journal_differs or journal_key.
func (s *Service) PlanReplay(ctx context.Context) (plan []ReplayEntry, err error) {
	if err := s.RequireJournal(); err != nil {
		return nil, err
	}
	if err := s.CheckJournal(ctx); err != nil && !errors.Is(err, errJournalAhead) {
		return nil, err
	}
	last, err := s.lastEntry(s.db.Gorm.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	restored, err := s.notErased(ctx)
	if err != nil {
		return nil, err
	}
	for _, sequence := range restored {
		e, err := s.restoredEntry(ctx, sequence)
		if err != nil {
			return nil, err
		}
		plan = append(plan, e)
	}
	for {
		entry, _, next, err := s.readNext(ctx, last)
		if errors.Is(err, journal.ErrNotFound) {
			return plan, s.checkEnd(ctx, last.Sequence)
		}
		if err != nil {
			return nil, err
		}
		e := ReplayEntry{Sequence: entry.Sequence, At: entry.At, By: entry.By, Reason: entry.Reason, Leads: entry.Leads}
		ids, err := parseLeads(entry)
		if err != nil {
			return nil, err
		}
		if e.Held, err = s.replayHeld(s.db.Gorm.WithContext(ctx), ids); err != nil {
			return nil, postgres.Translate(err)
		}
		plan, last = append(plan, e), next
	}
}

// restoredEntry returns an entry that is in the database.
func (s *Service) restoredEntry(ctx context.Context, sequence int64) (e ReplayEntry, err error) {
	tx := s.db.Gorm.WithContext(ctx)
	var stored models.ErasureEntry
	if err := tx.Omit("body").Where("sequence = ?", sequence).Take(&stored).Error; err != nil {
		return e, postgres.Translate(err)
	}
	ids, err := leadsOfEntry(tx, sequence)
	if err != nil {
		return e, postgres.Translate(err)
	}
	e = ReplayEntry{
		Sequence: sequence, At: stored.RequestedAt.UTC(), By: stored.Actor, Reason: string(stored.Reason), Leads: formatLeads(ids), inDatabase: true,
	}
	e.Held, err = s.replayHeld(tx, ids)
	return e, postgres.Translate(err)
}

// replayHeld returns the leads that may be under a legal hold. If a legal hold on a person lacks the digests
// made with one of the platform keys, this cannot be known, so replayHeld returns all leads.
func (s *Service) replayHeld(tx *gorm.DB, ids []uuid.UUID) ([]string, error) {
	unknown, err := s.unresealedHolds(tx)
	if err != nil || len(unknown) > 0 {
		return formatLeads(ids), err
	}
	held, err := HeldAmong(tx, ids)
	return formatLeads(held), err
}

// Replayed is the result of Replay.
type Replayed struct {
	Entries int `json:"entries"` // that the database did not have, or whose leads were not erased
	Leads   int `json:"leads"`   // in these entries
	Held    int `json:"held"`    // leads under a legal hold among them
}

// Replay erases the leads in a plan that PlanReplay has returned. This is necessary after an older backup of the
// database, or of some of its tables, has been restored. It can be interrupted and called again with a new plan. Unless
// eraseHeld is set, leads under a legal hold are not erased.
//
// Errors: Conflict with the reason legal_hold, and those of Finish and PlanReplay.
func (s *Service) Replay(ctx context.Context, plan []ReplayEntry, eraseHeld bool) (done Replayed, err error) {
	if err := s.RequireJournal(); err != nil {
		return done, err
	}
	for _, e := range plan {
		if len(e.Held) > 0 && !eraseHeld {
			return done, errReplayHeld
		}
	}
	if err := s.Finish(ctx); err != nil {
		return done, err
	}
	for _, e := range plan {
		held, err := s.replayEntry(ctx, e, eraseHeld)
		if err == nil {
			err = s.eraseLeads(ctx, e.Sequence)
		}
		if err != nil {
			return done, err
		}
		done.Entries++
		done.Leads += len(e.Leads)
		done.Held += held
	}
	return done, nil
}

// replayEntry adds an entry of the journal to the database, unless it is there, and records that its leads are
// erased. It returns how many of them are under a legal hold.
func (s *Service) replayEntry(ctx context.Context, planned ReplayEntry, eraseHeld bool) (heldLeads int, err error) {
	var added models.ErasureEntry
	if !planned.inDatabase {
		last, err := s.lastEntry(s.db.Gorm.WithContext(ctx))
		if err != nil {
			return 0, err
		}
		entry, text, _, err := s.readNext(ctx, last)
		if err != nil {
			return 0, err
		}
		if entry.Sequence != planned.Sequence {
			return 0, inFile(errJournalDiffers, entry.Sequence, errors.New("another replay is running"))
		}
		added = newEntry(entry, text)
	}
	ids, err := parseLeads(journal.Entry{Sequence: planned.Sequence, Leads: planned.Leads})
	if err != nil {
		return 0, err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := Lock(tx); err != nil {
			return err
		}
		held, err := s.replayHeld(tx, ids)
		if err != nil {
			return err
		}
		if heldLeads = len(held); heldLeads > 0 && !eraseHeld {
			return errReplayHeld
		}
		if !planned.inDatabase {
			added.Actor = planned.By
			if added.StaffID, err = knownStaff(tx, planned.By); err != nil {
				return err
			}
			if err := store(tx, added, "", ids); err != nil {
				return err
			}
		}
		return audit.Write(tx, s.clock.Now(), s.by, audit.Event{
			Action: "erasures.replay", Kind: "platform",
			After: map[string]any{"entry": planned.Sequence, "leads": planned.Leads, "erase_held": eraseHeld, "held": held},
		})
	})
	return heldLeads, err
}

// knownStaff returns the id of the user in an entry of the journal, or nil if no user erased the leads or
// the user was created after the backup.
func knownStaff(tx *gorm.DB, by string) (*uuid.UUID, error) {
	staff, err := id.Parse(id.Staff, by)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // not a user
	}
	var known int64
	if err := tx.Model(&models.Staff{}).Where("id = ?", staff).Count(&known).Error; err != nil || known == 0 {
		return nil, err
	}
	return &staff, nil
}
