package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/models"
)

// TestReconcile compares files with the leads that were delivered to a running node.
func TestReconcile(t *testing.T) {
	t.Parallel()
	p := &platform{dir: filepath.Join(folder(t), "data")}
	p.development = startDev(t, nil, "--data-dir", p.dir)
	seller := p.partner(0)
	before := clock.System{}.Now().UTC() // the leads may be delivered after midnight
	one, two := seller.deliver(t), seller.deliver(t)
	day, last := before.Format(time.DateOnly), clock.System{}.Now().UTC().Format(time.DateOnly)
	reconcile := func(name, text string) []string {
		return []string{"reconcile", "--partner", seller.slug, "--file", p.file(t, name, text)}
	}
	good := reconcile("good.csv",
		"leadId;Payout;Currency;Date\n"+one.id+";45,60;GBP;"+day+"\n"+two.id+";1,00;GBP;"+last+"\nnonsense;2,00;GBP;"+day+"\n")
	t.Run("dry run", func(t *testing.T) {
		o := p.on(t, good...)
		text := o.ok(t)
		for _, want := range []string{
			"matched         1      GBP", "amount_differs  1      GBP       1.00", "amount_differs: row 3, " + two.id + ", file 1.00 GBP, ledger 45.60 GBP",
			"unreadable: row 4, ", "3 rows from " + seller.slug,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in the output:\n%s", want, text)
			}
		}
		for _, want := range []string{
			"3 of 3 ", `"leadId"`, `"Payout"`, " 1.234,56, ", `"Currency"`, `"Date"`, " 2006-01-31, ", day + " to " + last,
		} {
			if !strings.Contains(o.stderr, want) {
				t.Errorf("%q is not in standard error: %s", want, o.stderr)
			}
		}
		p.reconciliations(t, map[models.ReconciliationState]int{models.ReconciliationDiscarded: 1})
	})
	t.Run("saved, as JSON", func(t *testing.T) {
		got := printed[printedComparison](t, p.on(t, append(good, "--save", "--json")...))
		if got.State != models.ReconciliationSaved || got.Result.Rows != 3 ||
			len(got.Lines) != 2+countOf(got.Result.Tallies, models.Missing) || got.Mapping.Numbers != "1.234,56" {
			text, _ := json.Marshal(got)
			t.Errorf("printed %s", text)
		}
		for _, tally := range got.Result.Tallies {
			if tally.Finding == models.Matched && (tally.FileAmount != "45.60" || tally.LedgerAmount != "45.60") {
				t.Errorf("got the totals %+v", tally)
			}
		}
		p.reconciliations(t, map[models.ReconciliationState]int{
			models.ReconciliationDiscarded: 1,
			models.ReconciliationSaved:     1,
		})
	})
	t.Run("same file again", func(t *testing.T) {
		if o := p.on(t, good...); !strings.Contains(o.ok(t)+o.stderr, "rn_") {
			t.Errorf("the earlier reconciliation is not printed: %s", o.stderr)
		}
		p.on(t, append(good, "--save")...).fails(t, 2, "--again")
		p.on(t, append(good, "--save", "--again")...).ok(t)
		p.reconciliations(t, map[models.ReconciliationState]int{
			models.ReconciliationDiscarded: 3,
			models.ReconciliationSaved:     2,
		})
	})
	t.Run("missing flags", func(t *testing.T) {
		open := reconcile("open.csv", "leadId,net,gross,when\n"+one.id+",\"1,234\",\"1,234\",01/02/2026\n")
		p.on(t, open...).fails(t, 2, "--amount ", "--currency ", "--decimal ", "--dates ", "--from ", "--to ", `"gross"`)
		p.on(t,
			append(open, "--amount", "gross", "--currency", "GBP", "--decimal", "dot", "--dates", "dmy", "--from", day,
				"--to", last)...).ok(t)
		dates := reconcile("dates.csv", "leadId,payout,ccy,when\n"+one.id+",\"1.50\",GBP,01/02/2026\n")
		if o := p.on(t, append(dates, "--dates", "mdy")...); !strings.Contains(o.ok(t), "2026-01-02 to 2026-01-02") || !strings.Contains(o.stderr, "1 of 1 ") {
			t.Errorf("--dates mdy does not apply to the period: %s", o.stdout)
		}
	})
	t.Run("file in another currency", func(t *testing.T) {
		euros := append(reconcile("euros.csv", "leadId,payout\nld_"+strings.Repeat("0", 25)+"1,1.00\n"), "--currency",
			"EUR", "--from", day, "--to", last)
		if o := p.on(t, euros...); !regexp.MustCompile(`(?m)^left_out +\d+ +GBP .*not compared$`).MatchString(o.ok(t)) {
			t.Errorf("leads left out have a difference: %s", o.stdout)
		}
		euros = append(euros, "--json")
		partly := printed[printedComparison](t, p.on(t, euros...)).Result
		if partly.LeftOut.Leads < 2 || partly.Compared.Leads != 0 ||
			!slices.Equal(partly.Compared.Currencies, []string{"EUR"}) || countOf(partly.Tallies, models.Missing) != 0 {
			t.Errorf("%+v", partly)
		}
		whole := printed[printedComparison](t, p.on(t, append(euros, "--coverage", "all")...)).Result
		if whole.LeftOut.Leads != 0 || whole.Compared.Leads != partly.LeftOut.Leads ||
			int64(countOf(whole.Tallies, models.Missing)) != partly.LeftOut.Leads {
			t.Errorf("%+v", whole)
		}
		p.on(t, append(euros, "--coverage", "some")...).fails(t, 2, "--coverage ")
	})
	t.Run("rejections", func(t *testing.T) {
		p.on(t, "reconcile", "--partner", seller.slug).fails(t, 2, "--partner", "--file")
		p.on(t, append(good, "--decimal", "point")...).fails(t, 2, "--decimal")
		p.on(t, append(good, "--from", "1/2/2026")...).fails(t, 2, "--from")
		p.reconciliations(t, map[models.ReconciliationState]int{
			models.ReconciliationDiscarded: 10,
			models.ReconciliationSaved:     2,
		}) // the rejected commands added none
		p.on(t, append(good, "--amount", "nothing")...).fails(t, 2, "--amount", `"Payout"`)
		p.on(t, reconcile("empty.csv", "")...).rejected(t, "invalid/file_empty")
		p.on(t, "reconcile", "--partner", "unknown", "--file", good[len(good)-1]).rejected(t, "not_found/partner")
	})
	if code := p.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}

// printedComparison is the output of --json.
type printedComparison struct {
	comparisonView
	Lines []lineView `json:"lines"`
}

func countOf(tallies []tallyView, finding models.Finding) (n int) {
	for _, t := range tallies {
		if t.Finding == finding {
			n += int(t.Lines)
		}
	}
	return n
}

// reconciliations fails the test unless the number of reconciliations in each state is as wanted.
// No files may remain, and no lines except those of saved reconciliations.
func (p *platform) reconciliations(t *testing.T, want map[models.ReconciliationState]int) {
	t.Helper()
	var got map[models.ReconciliationState]int
	var left int
	err := p.owner(t).QueryRow(t.Context(), `SELECT (SELECT jsonb_object_agg(state, n) FROM (SELECT state, count(*) AS n FROM reconciliations GROUP BY state) s),
		(SELECT count(*) FROM reconciliation_lines l JOIN reconciliations r ON r.id = l.reconciliation_id WHERE r.state <> 'saved') + (SELECT count(*) FROM files)`).Scan(&got, &left)
	if err != nil || !maps.Equal(got, want) || left != 0 {
		t.Errorf("got %v reconciliations and %d lines and files left (%v), want %v and 0", got, left, err, want)
	}
}
