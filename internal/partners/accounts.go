package partners

import (
	"context"
	"strings"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// NewAccount contains the values of a new account. Identifier is what the partner sends as
// "partnerId" in its posts.
type NewAccount struct {
	Identifier, Name string
	Signing          models.SigningMode // empty means "inherit"
	Sandbox          bool
}

// CreateAccount creates an account for a partner. The partner's first standard account becomes the
// default. Until there is one, the first sandbox account is the default (decision 25). A partner
// that starts with test posts therefore starts earning as soon as it has a standard account.
func (s *Service) CreateAccount(
	ctx context.Context, sc scope.Scope, partner models.Partner, n NewAccount,
) (models.Account, error) {
	if n.Signing == "" {
		n.Signing = models.SigningInherit
	}
	n.Identifier, n.Name = strings.TrimSpace(n.Identifier), strings.TrimSpace(n.Name)
	if n.Name == "" {
		n.Name = n.Identifier
	}
	problems := []*apperr.Error{
		checkIdentifier(n.Identifier), checkLine("name", "name", n.Name), checkMode(n.Signing, models.SigningInherit),
	}
	newID, now := s.newID()
	a := models.Account{
		ID: newID, PartnerID: partner.ID, Identifier: n.Identifier, Name: n.Name,
		Sandbox: n.Sandbox, Status: models.AccountActive, SigningMode: n.Signing, CreatedAt: now, UpdatedAt: now,
	}
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		// Lock the partner, so that two concurrent calls cannot both create the first account.
		if _, err := lockPartner(tx, sc, partner.ID); err != nil {
			return err
		}
		taken, err := identifierTaken(tx, n.Identifier)
		if err != nil {
			return err
		}
		if err := joinProblems(append(problems, taken)...); err != nil {
			return err
		}
		var others []models.Account
		if err := tx.Where("partner_id = ? AND is_default", partner.ID).Find(&others).Error; err != nil {
			return err
		}
		a.IsDefault = len(others) == 0 || others[0].Sandbox && !a.Sandbox
		if len(others) > 0 && a.IsDefault {
			if err := tx.Model(&others[0]).Updates(map[string]any{"is_default": false, "updated_at": now, "row_version": gorm.Expr("row_version + 1")}).Error; err != nil {
				return err
			}
		}
		if err := tx.Create(&a).Error; err != nil {
			return err
		}
		return s.auditChange(tx, "account.create", "account", id.Format(id.Account, a.ID), partner.ID, nil, map[string]any{
			"partner_id": a.Identifier,
			"name":       a.Name,
			"signing":    a.SigningMode,
			"sandbox":    a.Sandbox,
			"default":    a.IsDefault,
		})
	})
	return a, err
}

// Accounts returns a partner's accounts, with the default account first.
func (s *Service) Accounts(ctx context.Context, partner models.Partner) ([]models.Account, error) {
	var out []models.Account
	err := s.db.Gorm.WithContext(ctx).Where("partner_id = ?", partner.ID).Order("is_default DESC, created_at, id").
		Find(&out).Error
	return out, postgres.Translate(err)
}
