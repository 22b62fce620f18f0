package partners

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

var (
	errNoAccount = apperr.New(apperr.NotFound, "account",
		"Account not found. List the partner's accounts with `pingpost account list`.")
	errStaleAccount = apperr.New(apperr.Conflict, "changed",
		"Another user has changed this account since you opened it. Review the change, then try again.")
	errSuspendedDefault = clash("default_suspended", "default",
		"A suspended account cannot be the default. Make it active, or choose another account.")
	errSandboxDefault = clash("default_sandbox", "default",
		"A sandbox account cannot become the default while the partner has an active standard account, because sandbox leads earn nothing. Choose a standard account.")
)

// AccountChange contains the new values of an account. If MakeDefault is set, the account becomes
// the partner's default. An account that is already the default stays the default until another
// account replaces it.
type AccountChange struct {
	Name        string
	Status      models.AccountStatus
	Signing     models.SigningMode
	MakeDefault bool
}

// Check returns an error that lists the values that are not valid, or nil.
func (c AccountChange) Check() error {
	var status *apperr.Error
	if c.Status != models.AccountActive && c.Status != models.AccountSuspended {
		status = invalid("status", apperr.InvalidValue, "status", "Choose a status: active or suspended.")
	}
	return joinProblems(checkName(strings.TrimSpace(c.Name), errNoAccountName), status,
		checkMode(c.Signing, models.SigningInherit))
}

// FindAccount finds a partner's account by its ID, such as ac_….
func (s *Service) FindAccount(
	ctx context.Context, sc scope.Scope, partner models.Partner, text string,
) (models.Account, error) {
	accountID, err := id.Parse(id.Account, text)
	if err != nil {
		return models.Account{}, errNoAccount
	}
	var out models.Account
	err = restrict(s.db.Gorm.WithContext(ctx), sc, "partner_id").Where("id = ? AND partner_id = ?", accountID, partner.ID).
		Take(&out).Error
	if err = postgres.Translate(err); apperr.As(err) != nil {
		return out, errNoAccount
	}
	return out, err
}

// SetAccount changes an account. Leads for a suspended account are not stored (decision 21). While the
// default account is suspended, pings to the partner's base URL get no price, and posts without a partnerId
// are rejected.
func (s *Service) SetAccount(
	ctx context.Context, sc scope.Scope, account uuid.UUID, version int, c AccountChange,
) error {
	c.Name = strings.TrimSpace(c.Name)
	if err := c.Check(); err != nil {
		return err
	}
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		old, all, err := lockAccount(tx, sc, account)
		if err != nil {
			return err
		}
		if old.RowVersion != version {
			return errStaleAccount
		}
		var e edit
		e.set("name", "name", old.Name, c.Name)
		e.set("status", "status", old.Status, c.Status)
		e.set("signing_mode", "signing", old.SigningMode, c.Signing)
		last, err := c.moveDefault(&e, old, all)
		if err != nil || len(e.columns) == 0 {
			return err
		}
		if last != nil { // remove the previous default first, because there can be only one
			if err := s.write(tx, last, map[string]any{"is_default": false}); err != nil {
				return err
			}
		}
		if err := s.write(tx, &old, e.columns); err != nil {
			return err
		}
		return s.auditChange(tx, "account.change", "account", id.Format(id.Account, old.ID), old.PartnerID, e.before, e.after)
	})
}

// lockAccount locks the partner that owns the account, so that the partner's accounts are changed one at
// a time. It returns the account and all accounts of that partner.
func lockAccount(
	tx *gorm.DB, sc scope.Scope, account uuid.UUID,
) (before models.Account, all []models.Account, err error) {
	found := restrict(tx, sc, "partner_id").
		Where("id = ? AND partner_id <> ?", account, models.PlatformIDs.Partner).Limit(1).Find(&before)
	if found.Error != nil || found.RowsAffected == 0 {
		return before, nil, orNoAccount(found.Error)
	}
	if _, err := lockPartner(tx, sc, before.PartnerID); err != nil {
		return before, nil, err
	}
	if err := tx.Where("partner_id = ?", before.PartnerID).Find(&all).Error; err != nil {
		return before, nil, err
	}
	for _, listed := range all {
		if listed.ID == account {
			before = listed // replace the copy that was read before the lock
		}
	}
	return before, all, nil
}

func orNoAccount(err error) error {
	if err == nil {
		return errNoAccount
	}
	return err
}

// moveDefault makes the account the default if MakeDefault is set. It also does so if a standard account
// becomes active while a sandbox account is the default, so that the partner is paid for new leads
// (decision 25). If the default changes, moveDefault returns the previous default account, or nil if
// there was none. If the default stays, it returns nil.
func (c AccountChange) moveDefault(
	e *edit, old models.Account, all []models.Account,
) (last *models.Account, err error) {
	hasStandard := false
	for i, account := range all {
		switch {
		case account.ID == old.ID:
		case account.IsDefault:
			last = &all[i]
			fallthrough
		default:
			hasStandard = hasStandard || !account.Sandbox && account.Status == models.AccountActive
		}
	}
	again := old.Status != models.AccountActive && c.Status == models.AccountActive &&
		!old.Sandbox && last != nil && last.Sandbox
	switch {
	case old.IsDefault || !c.MakeDefault && !again:
		return nil, nil
	case c.Status != models.AccountActive:
		return nil, errSuspendedDefault
	case old.Sandbox && hasStandard:
		return nil, errSandboxDefault
	}
	before := "none"
	if last != nil {
		before = last.Identifier
	}
	e.record("is_default", true, "default", before, old.Identifier)
	return last, nil
}
