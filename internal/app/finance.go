package app

import (
	"time"

	"github.com/pingpost/pingpost/internal/files"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/internal/sealed"
	"github.com/pingpost/pingpost/internal/work"
)

// openDesk builds what finance works with, and the desk that does their long work.
func (a *App) openDesk(keys *sealed.Keys) {
	a.desk = work.NewDesk(a.db, a.clock, a.log)
	a.files = files.NewCabinet(a.db, keys, a.clock)
	a.payouts = payouts.NewService(a.db, a.clock, a.desk, a.files, payouts.Policy{ReturnWindow: time.Duration(a.cfg.Payouts.ReturnDays) * 24 * time.Hour})
	a.reconcile = reconcile.NewService(a.db, a.clock, a.desk, a.files)
}
