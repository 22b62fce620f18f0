package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

// TestReconcile compares lists with what a node that runs has delivered, by command.
func TestReconcile(t *testing.T) {
	t.Parallel()
	p := &platform{dir: filepath.Join(folder(t), "data")}
	p.development = startDev(t, nil, "--data-dir", p.dir)
	seller := p.partner(0)
	one, two := seller.deliver(t), seller.deliver(t)
	today := clock.System{}.Now().UTC()
	day := today.Format(time.DateOnly)
	list := func(name, text string) []string {
		return []string{"reconcile", "--partner", seller.slug, "--file", p.file(t, name, text)}
	}
	good := list("good.csv", "leadId;Payout;Currency;Date\n"+one.id+";45,60;GBP;"+day+"\n"+two.id+";1,00;GBP;"+day+"\nnonsense;2,00;GBP;"+day+"\n")
	t.Run("a dry run", func(t *testing.T) {
		o := p.on(t, good...)
		text := o.ok(t)
		for _, want := range []string{
			"matched         1      GBP", "amount_differs  1      GBP       1.00", "amount_differs: row 3, " + two.id + ", theirs 1.00 GBP, ours 45.60 GBP",
			"unreadable: row 4, This is not a leadId", "3 rows of " + seller.slug + ", " + day + " to " + day, "a dry run",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("it does not say %q:\n%s", want, text)
			}
		}
		if !strings.Contains(o.stderr, "reading the list: 3 of 3 rows") {
			t.Errorf("no progress: %s", o.stderr)
		}
		p.reconciliations(t, map[models.ReconciliationState]int{models.ReconciliationDiscarded: 1})
	})
	t.Run("kept, as JSON", func(t *testing.T) {
		type kept struct {
			comparisonView
			Lines []lineView `json:"lines"`
		}
		got := printed[kept](t, p.on(t, append(good, "--keep", "--json")...))
		if got.State != models.ReconciliationKept || got.Result.Rows != 3 || len(got.Lines) != 2+countOf(got.Result.Tallies, models.Missing) || got.Mapping.Numbers != "1.234,56" {
			text, _ := json.Marshal(got)
			t.Errorf("%s", text)
		}
		p.reconciliations(t, map[models.ReconciliationState]int{models.ReconciliationDiscarded: 1, models.ReconciliationKept: 1})
	})
	t.Run("what is left open", func(t *testing.T) {
		open := list("open.csv", "leadId,net,gross,when\n"+one.id+",\"1,234\",\"1,234\",01/02/2026\n")
		p.on(t, open...).refused(t, 2, "--amount COL", "--currency COL|GBP", "--decimal dot|comma", "--dates ymd|dmy|mdy", "--from D", "--to D", `"gross"`)
		p.on(t, append(open, "--amount", "gross", "--currency", "GBP", "--decimal", "dot", "--dates", "dmy", "--from", day, "--to", day)...).ok(t)
	})
	t.Run("refusals", func(t *testing.T) {
		p.on(t, "reconcile", "--partner", seller.slug).refused(t, 2, "give --partner and --file")
		p.on(t, append(good, "--decimal", "point")...).refused(t, 2, "--decimal is dot or comma")
		p.on(t, append(good, "--from", "1/2/2026")...).refused(t, 2, "--from is a day")
		p.on(t, append(good, "--amount", "nothing")...).refused(t, 2, "no such column")
		p.on(t, list("empty.csv", "")...).refused(t, 1, "The file is empty")
		p.on(t, "reconcile", "--partner", "nobody", "--file", good[len(good)-1]).refused(t, 1, "No such partner")
	})
	if code := p.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}

func countOf(tallies []reconcile.Tally, finding models.Finding) (n int) {
	for _, t := range tallies {
		if t.Finding == finding {
			n += int(t.Lines)
		}
	}
	return n
}

// reconciliations fails the test unless there are so many of each state, and no lines of
// those that were not kept.
func (p *platform) reconciliations(t *testing.T, want map[models.ReconciliationState]int) {
	t.Helper()
	var got map[models.ReconciliationState]int
	var left int
	err := p.owner(t).QueryRow(t.Context(), `SELECT (SELECT jsonb_object_agg(state, n) FROM (SELECT state, count(*) AS n FROM reconciliations GROUP BY state) s),
		(SELECT count(*) FROM reconciliation_lines l JOIN reconciliations r ON r.id = l.reconciliation_id WHERE r.state <> 'kept') + (SELECT count(*) FROM files)`).Scan(&got, &left)
	if err != nil || !maps.Equal(got, want) || left != 0 {
		t.Errorf("%v, %d left behind (%v), want %v", got, left, err, want)
	}
}
