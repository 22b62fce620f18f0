package partners

import (
	"context"
	"math"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/models"
)

var errStalePartner = apperr.New(apperr.Conflict, "changed",
	"Another user has changed this partner since you opened it. Review the change, then try again.")

// anyVersion skips the version check. The command line uses it.
const anyVersion = math.MinInt

// edit collects changes to a row. columns contains the new column values. before and after contain
// the old and new values for the audit log.
type edit struct{ columns, before, after map[string]any }

// set records a new value for a column. If the value stays the same, set does nothing. The parameter
// field is the name of the value in the audit log.
func (e *edit) set(column, field string, before, after any) {
	if before != after {
		e.record(column, after, field, before, after)
	}
}

// record records a new value for a column. before and after are the old and new values for the audit
// log.
func (e *edit) record(column string, value any, field string, before, after any) {
	if e.columns == nil {
		e.columns, e.before, e.after = map[string]any{}, map[string]any{}, map[string]any{}
	}
	e.columns[column], e.before[field], e.after[field] = value, before, after
}

// change locks a partner's row, calls the function do, and writes the edit that do returns. It fails if
// the partner has changed since the given version, unless version is anyVersion.
func (s *Service) change(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, version int, action string,
	do func(*gorm.DB, models.Partner) (edit, error),
) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		old, err := lockPartner(tx, sc, partner)
		switch {
		case err != nil:
			return err
		case version != anyVersion && version != old.RowVersion:
			return errStalePartner
		}
		e, err := do(tx, old)
		if err != nil || len(e.columns) == 0 {
			return err
		}
		if err := s.write(tx, &old, e.columns); err != nil {
			return err
		}
		return s.auditChange(tx, action, "partner", id.Format(id.Partner, partner), partner, e.before, e.after)
	})
}

// lockPartner locks the partner's row, so that changes to the partner, its accounts and its secrets run
// one at a time. It does not use FOR UPDATE, which would block inserts of rows that reference the partner,
// such as the disclosure texts of its posts.
func lockPartner(tx *gorm.DB, sc scope.Scope, partner uuid.UUID) (row models.Partner, err error) {
	found := restrict(tx, sc, "id").Where("id = ? AND id <> ?", partner, models.PlatformIDs.Partner).
		Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Limit(1).Find(&row)
	if found.Error == nil && found.RowsAffected == 0 {
		return row, errNoPartner
	}
	return row, found.Error
}

func (s *Service) write(tx *gorm.DB, row any, columns map[string]any) error {
	columns["updated_at"], columns["row_version"] = s.clock.Now(), gorm.Expr("row_version + 1")
	return tx.Model(row).Updates(columns).Error
}

// SetStatus is like SetStatusAt, but does not check the version.
func (s *Service) SetStatus(ctx context.Context, sc scope.Scope, partner uuid.UUID, to models.PartnerStatus) error {
	return s.SetStatusAt(ctx, sc, partner, anyVersion, to)
}

// SetStatusAt sets a partner's status. As soon as a partner is suspended, no more of its leads are
// stored (decision 21). Within a second, all nodes reject its posts.
func (s *Service) SetStatusAt(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, version int, to models.PartnerStatus,
) error {
	switch to {
	case models.PartnerPending, models.PartnerApproved, models.PartnerSuspended:
	default:
		return invalid("status", apperr.InvalidValue, "status", "Choose a status: pending, approved or suspended.")
	}
	return s.change(ctx, sc, partner, version, "partner.status", func(_ *gorm.DB, before models.Partner) (e edit, err error) {
		e.set("status", "status", before.Status, to)
		return e, nil
	})
}

// SetSigning sets a partner's signing mode (decision 14) and whether the partner can use the shared
// base URL, where it is identified by its signatures (decision 13). All nodes apply the change
// within a second.
func (s *Service) SetSigning(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, version int, mode models.SigningMode, sharedBaseURL bool,
) error {
	if err := joinProblems(checkMode(mode, models.SigningDefault)); err != nil {
		return err
	}
	return s.change(ctx, sc, partner, version, "partner.signing", func(tx *gorm.DB, before models.Partner) (e edit, err error) {
		if sharedBaseURL && !before.SharedBaseURL {
			free, err := sharedAddressHasSlot(tx)
			if err != nil {
				return e, err
			}
			if !free {
				return e, errAddressFull
			}
		}
		e.set("signing_mode", "signing", before.SigningMode, mode)
		e.set("shared_base_url", "shared_base_url", before.SharedBaseURL, sharedBaseURL)
		return e, nil
	})
}
