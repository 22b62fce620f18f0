package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

// maxReconcileToPsql limits the ratio of the product's time to psql's time for the same comparison. psql
// reads the same file, joins it with the ledger, and writes the same lines.
const maxReconcileToPsql = 2

//go:embed reconcile.sql
var reconcileScript string

// compared contains the seconds that each step took in each round.
type compared struct{ upload, product, psql []float64 }

// reconciliations measures how long the product takes to compare a partner's file with the ledger, and
// how long psql takes. The two take turns.
func (b *bench) reconciliations(ctx context.Context) (err error) {
	b.progress("reconcile: filling a ledger with %s leads", grouped(b.plan.FinanceRows*3/2))
	k, err := b.stage.newFilledLedger(ctx, "reconcile", b.plan.FinanceRows)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	db, err := k.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	queue := jobs.NewQueue(db, clock.System{}, slog.New(slog.DiscardHandler))
	s := reconcile.NewService(db, clock.System{}, queue, blobstore.NewStore(db, k.keys, clock.System{})).By(audit.Operator)
	if _, err := k.root.Exec(ctx, `CREATE TABLE result (LIKE reconciliation_lines INCLUDING ALL)`); err != nil {
		return err
	}
	var took compared
	for i := range b.plan.FinanceRounds {
		if err := b.stage.settle(ctx); err != nil {
			return err
		}
		result, err := k.byProduct(ctx, s, &took)
		if err != nil {
			return err
		}
		if err := b.stage.settle(ctx); err != nil {
			return err
		}
		if err := k.byPsql(ctx, &took); err != nil {
			return err
		}
		b.progress("reconcile: round %d/%d: upload %.1f s, comparison %.1f s, psql %.1f s", i+1, b.plan.FinanceRounds,
			took.upload[i], took.product[i], took.psql[i])
		if err := k.agree(ctx, result); err != nil {
			return err
		}
	}
	b.report.reconcile(b.plan.FinanceRows, took)
	return nil
}

// byProduct compares the partner's file with the ledger, using the product. It appends the times of the
// upload and of the comparison to the parameter took.
func (k *filledLedger) byProduct(
	ctx context.Context, s *reconcile.Service, took *compared,
) (r reconcile.Reconciliation, err error) {
	file, err := os.Open(k.list)
	if err != nil {
		return r, err
	}
	defer file.Close()
	began := clock.System{}.Now()
	made, err := s.Upload(ctx, scope.System, k.large.PartnerID, "list.csv", file)
	if err != nil {
		return r, err
	}
	took.upload = append(took.upload, since(began))
	if r, err = s.Get(ctx, scope.System, made.ID); err != nil {
		return r, err
	}
	suggested, err := s.Suggest(ctx, r)
	if err != nil {
		return r, err
	}
	began = clock.System{}.Now()
	if err := s.CompareNow(ctx, scope.System, r.ID, r.RowVersion, suggested.Mapping, k.from, k.to, func(string, int64, int64) {}); err != nil {
		return r, err
	}
	took.product = append(took.product, since(began))
	return s.Get(ctx, scope.System, r.ID)
}

func since(began time.Time) float64 { return clock.System{}.Now().Sub(began).Seconds() }

// byPsql makes the same comparison as byProduct, but with psql.
func (k *filledLedger) byPsql(ctx context.Context, took *compared) error {
	if _, err := k.root.Exec(ctx, `TRUNCATE result`); err != nil {
		return err
	}
	program, err := k.find(ctx, "psql")
	if err != nil {
		return err
	}
	psql := exec.CommandContext(ctx, program, "-X", "-q", "-v", "ON_ERROR_STOP=1", "-v", "partner="+k.large.PartnerID.String(),
		"-v", "from="+k.from.Format(time.DateOnly), "-v", "until="+k.to.AddDate(0, 0, 1).Format(time.DateOnly), k.rootURL)
	psql.Stdin = strings.NewReader(strings.ReplaceAll(reconcileScript, "LIST", k.list)) // \copy does not expand variables
	began := clock.System{}.Now()
	if out, err := psql.CombinedOutput(); err != nil {
		return fmt.Errorf("psql: %w: %s", err, out)
	}
	took.psql = append(took.psql, since(began))
	return nil
}

// agree returns an error if the product's result differs from psql's. Otherwise it deletes the product's
// result to prepare for the next round.
func (k *filledLedger) agree(ctx context.Context, r reconcile.Reconciliation) error {
	var different, lines int64
	err := k.root.QueryRow(ctx, `SELECT count(*) FILTER (WHERE (a.finding, a.file_minor, a.ledger_minor) IS DISTINCT FROM (b.finding, b.file_minor, b.ledger_minor)), count(*)
		FROM (SELECT * FROM reconciliation_lines WHERE reconciliation_id = $1) a FULL JOIN result b ON b.line = a.line`, r.ID).Scan(&different, &lines)
	if err != nil {
		return err
	}
	found := map[models.Finding]bool{}
	for _, t := range r.Result.Tallies {
		found[t.Finding] = true
	}
	if different > 0 || lines < k.rows || len(found) < 4 {
		return fmt.Errorf("%d of %d lines differ from the result of psql; findings %v", different, lines, found)
	}
	_, err = k.root.Exec(ctx, `TRUNCATE reconciliation_lines, reconciliation_resolutions`)
	return err
}
