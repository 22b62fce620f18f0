package partners

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

var (
	errNoAccount    = apperr.New(apperr.NotFound, "account", "No such account: `pingpost account list` shows the partner's.")
	errStaleAccount = apperr.New(apperr.Conflict, "changed",
		"Somebody else changed this account meanwhile: look at the change, then decide again.")
	errSuspendedDefault = clash("default_suspended", "default",
		"A suspended account cannot become the default, whose posts would all be refused: make it active, or choose another.")
	errSandboxDefault = clash("default_sandbox", "default",
		"A sandbox account cannot become the default while the partner has another that is active: its leads would go unpaid.")
)

// AccountChange is what an account is to be like. MakeDefault only ever gives the
// default: to take it away, give it to another account.
type AccountChange struct {
	Name        string
	Status      models.AccountStatus
	Signing     models.SigningMode
	MakeDefault bool
}

func (c AccountChange) check() error {
	var status *apperr.Error
	if c.Status != models.AccountActive && c.Status != models.AccountSuspended {
		status = invalid("status", apperr.InvalidValue, "status", "An account is active or suspended.")
	}
	return joinProblems(checkName(c.Name, errNoAccountName), status, checkMode(c.Signing, models.SigningInherit))
}

// FindAccount looks a partner's account up by its id in the prefixed form.
func (s *Service) FindAccount(ctx context.Context, sc scope.Scope, partner models.Partner, text string) (models.Account, error) {
	accountID, err := id.Parse(id.Account, text)
	if err != nil {
		return models.Account{}, errNoAccount
	}
	var out models.Account
	err = restrict(s.db.Gorm.WithContext(ctx), sc, "partner_id").Where("id = ? AND partner_id = ?", accountID, partner.ID).Take(&out).Error
	if err = postgres.Translate(err); apperr.As(err) != nil {
		return out, errNoAccount
	}
	return out, err
}

// SetAccount changes an account. The default may be suspended: posts that name no
// account are then refused, until it is active or another is the default. Nothing of a
// suspended account is stored from now on (decision 21).
func (s *Service) SetAccount(ctx context.Context, sc scope.Scope, account uuid.UUID, version int, c AccountChange) error {
	c.Name = strings.TrimSpace(c.Name)
	if err := c.check(); err != nil {
		return err
	}
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		had, all, err := lockAccount(tx, sc, account)
		if err != nil {
			return err
		}
		if had.RowVersion != version {
			return errStaleAccount
		}
		var e edit
		e.set("name", "name", had.Name, c.Name)
		e.set("status", "status", had.Status, c.Status)
		e.set("signing_mode", "signing", had.SigningMode, c.Signing)
		last, err := c.moveDefault(&e, had, all)
		if err != nil || len(e.columns) == 0 {
			return err
		}
		if last != nil { // first: there is one default at any time
			if err := s.write(tx, last, map[string]any{"is_default": false}); err != nil {
				return err
			}
		}
		if err := s.write(tx, &had, e.columns); err != nil {
			return err
		}
		return s.auditChange(tx, "account.change", "account", id.Format(id.Account, had.ID), had.PartnerID, e.before, e.after)
	})
}

// lockAccount reads an account and all of its partner's, whose row is the lock that
// CreateAccount takes too.
func lockAccount(tx *gorm.DB, sc scope.Scope, account uuid.UUID) (had models.Account, all []models.Account, err error) {
	found := restrict(tx, sc, "partner_id").Where("id = ? AND partner_id <> ?", account, models.PlatformIDs.Partner).Limit(1).Find(&had)
	if found.Error != nil || found.RowsAffected == 0 {
		return had, nil, orNoAccount(found.Error)
	}
	if err := tx.Exec(`SELECT 1 FROM partners WHERE id = ? FOR UPDATE`, had.PartnerID).Error; err != nil {
		return had, nil, err
	}
	if err := tx.Where("partner_id = ?", had.PartnerID).Find(&all).Error; err != nil {
		return had, nil, err
	}
	for _, one := range all {
		if one.ID == account {
			had = one // as it is now that nobody else changes it
		}
	}
	return had, all, nil
}

func orNoAccount(err error) error {
	if err == nil {
		return errNoAccount
	}
	return err
}

// moveDefault makes the account the default where that is asked for, or where the
// default is a sandbox and this one is active again: a partner does not go on unpaid
// (decision 25, as in CreateAccount). It returns the account that has been the default.
func (c AccountChange) moveDefault(e *edit, had models.Account, all []models.Account) (last *models.Account, err error) {
	inEarnest := false
	for i, one := range all {
		switch {
		case one.ID == had.ID:
		case one.IsDefault:
			last = &all[i]
			fallthrough
		default:
			inEarnest = inEarnest || !one.Sandbox && one.Status == models.AccountActive
		}
	}
	again := had.Status != models.AccountActive && c.Status == models.AccountActive && !had.Sandbox && last != nil && last.Sandbox
	switch {
	case had.IsDefault || !c.MakeDefault && !again:
		return nil, nil
	case c.Status != models.AccountActive:
		return nil, errSuspendedDefault
	case had.Sandbox && inEarnest:
		return nil, errSandboxDefault
	}
	before := "none"
	if last != nil {
		before = last.Identifier
	}
	e.record("is_default", true, "default", before, had.Identifier)
	return last, nil
}
