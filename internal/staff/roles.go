package staff

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

var (
	errLastAdministrator = apperr.New(apperr.Conflict, "last_administrator",
		"This is the last administrator. Make another user an administrator first.")
	errOwnRole = apperr.New(apperr.Forbidden, "own_role",
		"You cannot assign roles to yourself. Ask another administrator.")
	errSelf = apperr.New(apperr.Forbidden, "self",
		"You cannot deactivate or reactivate yourself. Ask another administrator.")
	errAdministratorAt = apperr.New(apperr.Invalid, "role",
		"The administrator role cannot be limited to specific partners.")
)

// rolesOf validates roles, removes duplicates and assigns the roles to the given user.
func rolesOf(user uuid.UUID, roles []models.StaffRole) (out []models.StaffRole, err error) {
	for _, r := range roles {
		if !slices.Contains(models.Roles[:], r.Role) {
			return nil, errNoRole
		}
		if r.Role == models.Administrator && r.PartnerID != nil {
			return nil, errAdministratorAt
		}
		r.StaffID = user
		if !slices.ContainsFunc(out, func(o models.StaffRole) bool { return same(o, r) }) {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil, errNoRole
	}
	return out, nil
}

func same(a, b models.StaffRole) bool {
	return a.Role == b.Role && (a.PartnerID == nil) == (b.PartnerID == nil) &&
		(a.PartnerID == nil || *a.PartnerID == *b.PartnerID)
}

func roleTexts(roles []models.StaffRole) []string {
	texts := make([]string, len(roles))
	for i, r := range roles {
		where := "*"
		if r.PartnerID != nil {
			where = id.Format(id.Partner, *r.PartnerID)
		}
		texts[i] = string(r.Role) + " at " + where
	}
	slices.Sort(texts)
	return texts
}

func (s *Service) rolesOf(ctx context.Context, user uuid.UUID) (roles []models.StaffRole, err error) {
	err = s.db.Gorm.WithContext(ctx).Where("staff_id = ?", user).Order("role, partner_id").Find(&roles).Error
	return roles, postgres.Translate(err)
}

// SetRoles replaces a user's roles. The change takes effect on every node within a second. The
// parameter version is the row version that the caller has read. If the user has changed since then,
// SetRoles returns an error.
func (s *Service) SetRoles(
	ctx context.Context, user uuid.UUID, version int, roles []models.StaffRole,
) error {
	wanted, err := rolesOf(user, roles)
	if err != nil {
		return err
	}
	return s.changeRoles(ctx, user, func(tx *gorm.DB, p *models.Staff, before []models.StaffRole) error {
		if p.RowVersion != version {
			return errStale
		}
		if s.by.Staff == user && slices.ContainsFunc(wanted, func(w models.StaffRole) bool {
			return !slices.ContainsFunc(before, func(h models.StaffRole) bool { return same(w, h) })
		}) {
			return errOwnRole
		}
		if err := tx.Where("staff_id = ?", user).Delete(&models.StaffRole{}).Error; err != nil {
			return err
		}
		if err := tx.Create(&wanted).Error; err != nil {
			return err
		}
		if err := s.update(tx, p, map[string]any{}); err != nil {
			return err
		}
		if err := s.requireAdministrator(tx, before); err != nil {
			return err
		}
		return audit.Write(tx, s.clock.Now(), s.by,
			event("staff.roles", *p, map[string]any{"roles": roleTexts(before)}, map[string]any{"roles": roleTexts(wanted)}))
	})
}

// changeRoles runs a change that could remove the last administrator. Only one such change runs at
// a time, so that two administrators cannot remove each other.
func (s *Service) changeRoles(
	ctx context.Context, user uuid.UUID, do func(tx *gorm.DB, p *models.Staff, before []models.StaffRole) error,
) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('staff administrators'))`).Error; err != nil {
			return err
		}
		p, err := locked(tx, user)
		if err != nil {
			return err
		}
		var before []models.StaffRole
		if err := tx.Where("staff_id = ?", user).Find(&before).Error; err != nil {
			return err
		}
		return do(tx, &p, before)
	})
}

func (s *Service) requireAdministrator(tx *gorm.DB, before []models.StaffRole) error {
	if !slices.ContainsFunc(before, func(r models.StaffRole) bool { return r.Role == models.Administrator }) {
		return nil
	}
	var left int64
	err := tx.Raw(`SELECT count(*) FROM staff_roles r JOIN staff s ON s.id = r.staff_id WHERE r.role = ? AND s.status = ?`,
		models.Administrator, models.StaffActive).Scan(&left).Error
	if err == nil && left == 0 {
		err = errLastAdministrator
	}
	return err
}

// Deactivate deactivates a user and ends the user's sessions on all nodes immediately.
func (s *Service) Deactivate(ctx context.Context, user uuid.UUID, version int) error {
	if s.by.Staff == user {
		return errSelf
	}
	return s.changeRoles(ctx, user, func(tx *gorm.DB, p *models.Staff, before []models.StaffRole) error {
		if p.RowVersion != version {
			return errStale
		}
		if err := s.setStatus(tx, p, models.StaffDeactivated); err != nil {
			return err
		}
		if err := tx.Where("staff_id = ?", p.ID).Delete(&models.Invitation{}).Error; err != nil {
			return err
		}
		if err := s.endAll(tx, p.ID, uuid.Nil, "the user was deactivated"); err != nil {
			return err
		}
		return s.requireAdministrator(tx, before)
	})
}

// Reactivate lets a deactivated user log in again with the previous password and roles.
func (s *Service) Reactivate(ctx context.Context, user uuid.UUID, version int) error {
	if s.by.Staff == user {
		return errSelf
	}
	return s.changeUser(ctx, user, func(tx *gorm.DB, p *models.Staff) error {
		if p.RowVersion != version {
			return errStale
		}
		to := models.StaffActive
		if p.PasswordHash == "" {
			to = models.StaffInvited
		}
		return s.setStatus(tx, p, to)
	})
}

func (s *Service) setStatus(tx *gorm.DB, p *models.Staff, to models.StaffStatus) error {
	if p.Status == to {
		return nil
	}
	if err := s.update(tx, p, map[string]any{"status": to}); err != nil {
		return err
	}
	action := "staff.deactivate"
	if to != models.StaffDeactivated {
		action = "staff.reactivate"
	}
	return audit.Write(tx, s.clock.Now(), s.by,
		event(action, *p, map[string]any{"status": p.Status}, map[string]any{"status": to}))
}

// RoleName returns the display name of a role, such as "account manager".
func RoleName(r models.Role) string { return strings.ReplaceAll(string(r), "_", " ") }
