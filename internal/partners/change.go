package partners

import (
	"context"
	"math"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

var errStalePartner = apperr.New(apperr.Conflict, "changed",
	"Somebody else changed this partner meanwhile: look at the change, then decide again.")

// anyVersion is for whoever changes a row whatever it says now: the command line.
const anyVersion = math.MinInt

// edit is what changes of a row: the columns, and the fields as the audit trail has them.
type edit struct{ columns, before, after map[string]any }

// set notes a column that is to change. What stays as it is is not written, and the
// audit trail does not tell of it.
func (e *edit) set(column, field string, had, wants any) {
	if had != wants {
		e.record(column, wants, field, had, wants)
	}
}

// record is set for a value that the audit trail tells of in other words.
func (e *edit) record(column string, value any, field string, before, after any) {
	if e.columns == nil {
		e.columns, e.before, e.after = map[string]any{}, map[string]any{}, map[string]any{}
	}
	e.columns[column], e.before[field], e.after[field] = value, before, after
}

// change runs do on a partner's locked row and writes the edit that it returns.
// version is the row's that the change was decided on.
func (s *Service) change(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, version int, action string,
	do func(*gorm.DB, models.Partner) (edit, error),
) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		had, err := lockPartner(tx, sc, partner)
		switch {
		case err != nil:
			return err
		case version != anyVersion && version != had.RowVersion:
			return errStalePartner
		}
		e, err := do(tx, had)
		if err != nil || len(e.columns) == 0 {
			return err
		}
		if err := s.write(tx, &had, e.columns); err != nil {
			return err
		}
		return s.auditChange(tx, action, "partner", id.Format(id.Partner, partner), partner, e.before, e.after)
	})
}

// lockPartner takes the partner's row, behind which everything that is its own changes
// one at a time. The lock is weaker than UPDATE: posts refer to the row and must not wait.
func lockPartner(tx *gorm.DB, sc scope.Scope, partner uuid.UUID) (row models.Partner, err error) {
	found := restrict(tx, sc, "id").Where("id = ? AND id <> ?", partner, models.PlatformIDs.Partner).
		Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Limit(1).Find(&row)
	if found.Error == nil && found.RowsAffected == 0 {
		return row, errNoPartner
	}
	return row, found.Error
}

// write changes the columns of a row that has a version.
func (s *Service) write(tx *gorm.DB, row any, columns map[string]any) error {
	columns["updated_at"], columns["row_version"] = s.clock.Now(), gorm.Expr("row_version + 1")
	return tx.Model(row).Updates(columns).Error
}

// SetStatus is SetStatusAt whatever the partner's version is.
func (s *Service) SetStatus(ctx context.Context, sc scope.Scope, partner uuid.UUID, to models.PartnerStatus) error {
	return s.SetStatusAt(ctx, sc, partner, anyVersion, to)
}

// SetStatusAt approves or suspends. Suspended, a partner's posts are refused on
// every node within a second, and nothing of it is stored from now on (decision 21).
func (s *Service) SetStatusAt(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, version int, to models.PartnerStatus,
) error {
	switch to {
	case models.PartnerPending, models.PartnerApproved, models.PartnerSuspended:
	default:
		return invalid("status", apperr.InvalidValue, "status", "A partner is pending, approved or suspended.")
	}
	return s.change(ctx, sc, partner, version, "partner.status", func(_ *gorm.DB, had models.Partner) (e edit, err error) {
		e.set("status", "status", had.Status, to)
		return e, nil
	})
}

// SetSigning says what happens to a partner's unsigned posts (decision 14), and whether it is
// recognised by its secret alone (decision 13); in force on every node within a second.
func (s *Service) SetSigning(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, version int, mode models.SigningMode, sharedAddress bool,
) error {
	if err := joinProblems(checkMode(mode, models.SigningDefault)); err != nil {
		return err
	}
	return s.change(ctx, sc, partner, version, "partner.signing", func(tx *gorm.DB, had models.Partner) (e edit, err error) {
		if sharedAddress && !had.SharedAddress {
			room, err := sharedAddressHasSlot(tx)
			if err != nil {
				return e, err
			}
			if !room {
				return e, errAddressFull
			}
		}
		e.set("signing_mode", "signing", had.SigningMode, mode)
		e.set("shared_address", "shared_address", had.SharedAddress, sharedAddress)
		return e, nil
	})
}
