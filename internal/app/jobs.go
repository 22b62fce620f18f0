package app

import (
	"time"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/reconcile"
)

func (a *App) newJobServices(keys *keyring.Keys) {
	a.queue = jobs.NewQueue(a.db, a.clock, a.log)
	a.files = blobstore.NewStore(a.db, keys, a.clock)
	policy := payouts.Policy{
		ReturnWindow:    time.Duration(a.cfg.Payouts.ReturnDays) * day,
		ExportRetention: time.Duration(a.cfg.Retention.ExportsDays) * day,
		ApprovalLimits:  approvalLimits(a.cfg.Payouts),
	}
	a.payouts = payouts.NewService(a.db, a.clock, a.queue, a.files, policy)
	a.reconcile = reconcile.NewService(a.db, a.clock, a.queue, a.files)
}

func approvalLimits(cfg config.Payouts) map[money.Currency]int64 {
	limits := map[money.Currency]int64{}
	for code, amount := range cfg.ApprovalLimits {
		c, err := money.ParseCurrency(code)
		if err == nil { // the configuration contains only valid currencies
			limits[c] = int64(amount) * 100
		}
	}
	return limits
}
