package audit

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/models"
)

// RejectionsPerMinute is the number of a user's rejected actions per minute that have an event of their own.
// Further ones are only counted, because events can never be deleted (decision 67).
const RejectionsPerMinute = 10

// countRejectionSQL counts a rejection. Its result is whether the rejection gets an event of its own.
const countRejectionSQL = `INSERT INTO rejection_counts AS r (staff_id, minute, recorded, counted)
	VALUES (@staff, @minute, 1, '{}')
	ON CONFLICT (staff_id, minute) DO UPDATE SET recorded = least(r.recorded + 1, @most + 1),
		counted = CASE WHEN r.recorded < @most THEN r.counted
			ELSE r.counted || jsonb_build_object(CAST(@action AS text), coalesce((r.counted->>CAST(@action AS text))::int, 0) + 1) END
	RETURNING recorded <= @most`

// LogRejectedRequest is like LogRejected, for rejections that a user can repeat as often as they like. After
// RejectionsPerMinute of them in a minute, it only counts them.
func (l *Log) LogRejectedRequest(ctx context.Context, by Actor, e Event) error {
	if by.Staff == uuid.Nil {
		return l.LogRejected(ctx, by, e)
	}
	now := l.clock.Now()
	return l.db.Transaction(ctx, func(tx *gorm.DB) error {
		var record bool
		err := tx.Raw(countRejectionSQL, map[string]any{
			"staff": by.Staff, "minute": now.Truncate(time.Minute), "most": RejectionsPerMinute, "action": e.Action,
		}).Scan(&record).Error
		if err != nil || !record {
			return err
		}
		return write(tx, now, by, e, models.AuditRejected)
	})
}

// LogRejectionCounts appends an event for each user and minute with rejections that were only counted, and
// deletes the counts. It leaves out the current minute. It returns the number of events.
func (l *Log) LogRejectionCounts(ctx context.Context) (events int64, err error) {
	now := l.clock.Now()
	err = l.db.Transaction(ctx, func(tx *gorm.DB) error {
		var gone []struct {
			StaffID uuid.UUID
			Email   string
			Minute  time.Time
			Counted string
		}
		events = 0
		if err := tx.Raw(`DELETE FROM rejection_counts r USING staff s WHERE s.id = r.staff_id AND (r.staff_id, r.minute) IN (
				SELECT staff_id, minute FROM rejection_counts WHERE minute < ?
				ORDER BY minute, staff_id LIMIT ? FOR UPDATE SKIP LOCKED)
			RETURNING r.staff_id, s.email, r.minute, r.counted::text AS counted`,
			now.Truncate(time.Minute), rowsPerInsert).Scan(&gone).Error; err != nil {
			return err
		}
		for _, g := range gone {
			counts, err := DecodeFields(g.Counted)
			if err != nil {
				return err
			}
			if len(counts) == 0 {
				continue
			}
			events++
			counts["minute"] = g.Minute.UTC()
			if err := write(tx, now, Actor{Staff: g.StaffID, Name: g.Email}, Event{
				Action: "console.deny", Kind: "staff", Object: id.Format(id.Staff, g.StaffID),
				After: counts, Reason: "further rejections in a minute",
			}, models.AuditRejected); err != nil {
				return err
			}
		}
		return nil
	})
	return events, err
}
