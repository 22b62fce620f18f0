package reveal

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
)

var (
	errTooManyReveals = apperr.New(apperr.TooMany, "reveals_per_day",
		"You have viewed as many contact fields today as the setting privacy.reveals_per_day allows. You can continue tomorrow (UTC).")
	errTooManyLookups = apperr.New(apperr.TooMany, "lookups_per_day",
		"You have searched for consumers as often today as the setting privacy.lookups_per_day allows. You can continue tomorrow (UTC).")
)

// warnAt is a percentage of a daily limit. When a user reaches it, a warning is recorded in the audit log.
const warnAt = 80

// dailyLimit limits how often each user may do something on a UTC day.
type dailyLimit struct {
	column  string // of daily_access
	most    int
	warning string // action of the audit event
}

func (s *Service) revealLimit() dailyLimit {
	return dailyLimit{"reveals", s.limits.RevealsPerDay, "lead.reveal_warning"}
}

func (s *Service) lookupLimit() dailyLimit {
	return dailyLimit{"lookups", s.limits.LookupsPerDay, "lead.find_warning"}
}

const countAccessSQL = `INSERT INTO daily_access AS a (staff_id, day, %[1]s) VALUES (@staff, @day, @n)
	ON CONFLICT (staff_id, day) DO UPDATE SET %[1]s = a.%[1]s + @n RETURNING %[1]s`

// countAccess adds n to what the user has done today. It returns the new total, and whether it exceeds the limit.
// It records a warning in the audit log when the user has almost reached the limit, and each time that the user
// exceeds it. Until the database transaction ends, the user's other accesses have to wait, so that parallel
// requests cannot exceed the limit. If the transaction is rolled back, nothing has been counted.
func (s *Service) countAccess(tx *gorm.DB, l dailyLimit, n int) (exceeded bool, err error) {
	now := s.clock.Now()
	args := map[string]any{"staff": s.by.StaffID(), "day": s.today(), "n": n}
	var today int
	if err := tx.Raw(fmt.Sprintf(countAccessSQL, l.column), args).Scan(&today).Error; err != nil {
		return false, err
	}
	// The clocks of nodes can differ at midnight, so yesterday's count is still needed.
	args["before"] = s.today().AddDate(0, 0, -1)
	if err := tx.Exec(`DELETE FROM daily_access WHERE staff_id IS NOT DISTINCT FROM @staff AND day < @before`, args).Error; err != nil {
		return false, err
	}
	reached := func(total int) bool { return 100*total >= warnAt*l.most }
	exceeded = today > l.most
	if !exceeded && (!reached(today) || reached(today-n)) {
		return false, nil
	}
	e := audit.Event{Action: l.warning, Kind: "staff", After: map[string]any{l.column: today, "limit": l.most}}
	if s.by.Staff != uuid.Nil {
		e.Object = id.Format(id.Staff, s.by.Staff)
	}
	by := s.by
	by.Form = audit.Submission{} // the form belongs to the object that the user accesses
	return exceeded, audit.Write(tx, now, by, e)
}

// LogExceeded records in the audit log that an action was rejected because of a daily limit, and returns limit.
func (s *Service) LogExceeded(ctx context.Context, limit *apperr.Error, e audit.Event) error {
	e.Reason = limit.Reason
	return cmp.Or(audit.New(s.db, s.clock).LogRejectedRequest(ctx, s.by, e), error(limit))
}

// CountReveals counts n contact records towards the user's daily limit before they are decrypted. It reports whether
// they exceed the limit. The caller must then reject the access, unless another user approved it.
func (s *Service) CountReveals(tx *gorm.DB, n int) (exceeded bool, err error) {
	return s.countAccess(tx, s.revealLimit(), n)
}

// countReveal is like CountReveals for one contact record, but returns errTooManyReveals if the limit is exceeded.
func (s *Service) countReveal(tx *gorm.DB) error {
	exceeded, err := s.CountReveals(tx, 1)
	if err == nil && exceeded {
		err = errTooManyReveals
	}
	return err
}
