package payouts

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// DefaultApprovalLimit is the limit for currencies that are not in Policy.ApprovalLimits, in minor units.
const DefaultApprovalLimit = 500_00

// ApprovalLimit returns the sum in a currency, in minor units, up to which a user can adjust balances alone on a UTC
// day. Returns that a user both requests and accepts have a limit of the same amount (decision 77).
func (p Policy) ApprovalLimit(c money.Currency) int64 {
	if limit, ok := p.ApprovalLimits[c]; ok {
		return limit
	}
	return DefaultApprovalLimit
}

// These queries return how much of the limits a user has used on a day, by currency. Negative amounts count like
// positive ones.
const (
	adjustedTodaySQL = `SELECT currency, sum(abs(amount_minor))::bigint AS used FROM adjustments
		WHERE requester_id = @user AND requested_at >= @day AND state <> 'rejected' GROUP BY currency`
	returnedTodaySQL = `SELECT currency, sum(amount_minor)::bigint AS used FROM returns
		WHERE decider_id = @user AND requester_id = decider_id AND decided_at >= @day AND state = 'accepted'
		GROUP BY currency`
)

func (s *Service) usedToday(db *gorm.DB, sql string) (map[string]int64, error) {
	var rows []struct {
		Currency string
		Used     int64
	}
	day := s.clock.Now().UTC().Truncate(24 * time.Hour)
	err := db.Raw(sql, map[string]any{"user": s.by.Staff, "day": day}).Scan(&rows).Error
	used := map[string]int64{}
	for _, r := range rows {
		used[r.Currency] = r.Used
	}
	return used, postgres.Translate(err)
}

// lockApprovalLimit locks the user's limits until the transaction ends. Otherwise, two changes at the same time could
// exceed a limit together. Call it before locking leads.
func (s *Service) lockApprovalLimit(tx *gorm.DB) error {
	return tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('approval limits'), hashtext(?))`, s.by.Staff.String()).Error
}

// Adjustable returns the amounts that the user can still adjust alone today, one for each currency.
func (s *Service) Adjustable(ctx context.Context) (left []money.Amount, err error) {
	used, err := s.usedToday(s.db.Gorm.WithContext(ctx), adjustedTodaySQL)
	for c := money.GBP; c.Valid(); c++ {
		left = append(left, money.Amount{Minor: max(0, s.policy.ApprovalLimit(c)-used[c.String()]), Currency: c})
	}
	return left, err
}

// CheckAccept returns nil if the user can accept a return. Otherwise it returns an error that states why not. It does
// not check permissions.
func (s *Service) CheckAccept(ctx context.Context, r models.Return) error {
	return s.checkAccept(s.db.Gorm.WithContext(ctx), r)
}

func (s *Service) checkAccept(db *gorm.DB, r models.Return) error {
	if s.by.MayApprove(r.RequesterID) {
		return nil
	}
	c, err := money.ParseCurrency(r.Currency)
	if err != nil {
		return err
	}
	used, err := s.usedToday(db, returnedTodaySQL)
	if err != nil {
		return err
	}
	if limit := s.policy.ApprovalLimit(c); used[r.Currency]+r.AmountMinor > limit {
		return apperr.New(apperr.Forbidden, "same_person", fmt.Sprintf("You requested this return, and you can accept your "+
			"own returns only up to %s a day. Another user must accept it.", money.Amount{Minor: limit, Currency: c}))
	}
	return nil
}
