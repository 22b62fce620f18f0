package reconciliation

import (
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/reconciliation"
	"github.com/pingpost/pingpost/templates/ui"
)

const linesPage = 50

// reconciliationResult returns the result of a comparison, including the lines that the query
// selects.
func (h *Handlers) reconciliationResult(k *web.Request, r reconcile.Reconciliation) (*view.Result, error) {
	q, address := k.R.URL.Query(), reconciliationURL(r.ID)
	counts, saved := r.Result.Counts(), r.State == models.ReconciliationSaved
	var open map[models.Finding]int64
	var err error
	if saved {
		if open, err = h.Reconcile.OpenLines(k.R.Context(), k.Scope, r.ID); err != nil {
			return nil, err
		}
	}
	f, known := findingOf(models.Finding(q.Get("finding")))
	if !known {
		f = firstFinding(counts)
	}
	v := &view.Result{
		Took:     r.Result.Took,
		Totals:   totals(r.Result),
		Findings: findingSums(r.Result, address),
		Tabs:     findingTabs(address, f, counts, open, saved),
		Finding:  f.Name,
		Means:    f.explanation,
		CSV:      linesFile(address, f.Finding, counts[f.Finding]),
	}
	v.Compared, v.LeftOut = r.Result.Summary(ui.Number)
	if r.Result.Covered != nil {
		v.ComparedLeads = r.Result.Covered.Leads
	}
	v.LeftOutURL = linesURL(address, models.LeftOut, "")
	var all int64
	for _, n := range counts {
		all += n
	}
	v.All = linesFile(address, "", all)
	return v, h.fillLines(k, v, r, f, q)
}

// fillLines adds one page of the lines that have a finding.
func (h *Handlers) fillLines(
	k *web.Request, v *view.Result, r reconcile.Reconciliation, f finding, q url.Values,
) error {
	address := reconciliationURL(r.ID)
	query := reconcile.LineQuery{Reconciliation: r.ID, Finding: f.Finding}
	query.Page = web.PageOf(q, linesPage, parseLine)
	if v.Resolves = r.State == models.ReconciliationSaved && reconcile.Resolvable(f.Finding); v.Resolves {
		query.Open = q.Get("open") == "yes"
		v.Which = []ui.Tab{
			{Label: "All", URL: linesURL(address, f.Finding, ""), Current: !query.Open},
			{Label: "Unresolved", URL: linesURL(address, f.Finding, "yes"), Current: query.Open},
		}
	}
	v.State = ui.ListState{Filtered: query.Open, ClearURL: linesURL(address, f.Finding, "")}
	lines, newer, older, err := h.Reconcile.Lines(k.R.Context(), k.Scope, query)
	if err != nil {
		return err
	}
	for _, l := range lines {
		v.Lines = append(v.Lines, h.lineRow(k, r, l))
	}
	q = maps.Clone(q)
	q.Set("finding", string(f.Finding)) // the other pages show the same finding
	v.Pager = web.Pager(address, q, lines, newer, older, func(l reconcile.Line) string { return strconv.Itoa(l.Line) })
	v.Pager.BySize = true
	return nil
}

func parseLine(text string) (int, error) {
	n, err := web.ParseNumber(text)
	if n > math.MaxInt32 {
		return 0, strconv.ErrRange
	}
	return int(n), err
}

func linesURL(address string, f models.Finding, open string) string {
	q := url.Values{"finding": {string(f)}}
	if open != "" {
		q.Set("open", open)
	}
	return address + "?" + q.Encode() + "#lines"
}

// linesFile returns a link that downloads lines as CSV, with a description of the file.
func linesFile(address string, f models.Finding, lines int64) ui.Download {
	to, holds := address+"/lines.csv", ui.Plural(lines, "line", "lines")
	if lines > 1 {
		holds = "all " + holds
	}
	if f != "" {
		to += "?finding=" + web.Escape(string(f))
		holds += " on this tab"
	}
	return ui.Download{
		URL:   to,
		Label: "CSV",
		Holds: holds + ", with notes and their authors, without contact data",
	}
}

// firstFinding returns the first finding, other than "matched", that has lines. If there is none, it
// returns "matched".
func firstFinding(counts map[models.Finding]int64) finding {
	for _, f := range Findings[1:] {
		if counts[f.Finding] > 0 {
			return f
		}
	}
	return Findings[0]
}

// findingTabs returns a tab for each finding. Tabs show the number of lines with the finding and,
// if the result is saved, the number of unresolved lines.
func findingTabs(address string, now finding, counts, open map[models.Finding]int64, saved bool) (all []ui.Tab) {
	for _, f := range Findings {
		count, data := ui.Number(counts[f.Finding]), templ.Attributes{"data-tab": string(f.Finding)}
		if saved && reconcile.Resolvable(f.Finding) && counts[f.Finding] > 0 {
			count += " (" + ui.Number(open[f.Finding]) + " unresolved)"
			data["data-open"] = strconv.FormatInt(open[f.Finding], 10)
		}
		all = append(all, ui.Tab{
			Label:   f.Name,
			URL:     linesURL(address, f.Finding, ""),
			Count:   count,
			Current: f.Finding == now.Finding,
			Data:    data,
		})
	}
	return all
}

// totals returns the totals by currency, without the leads and rows that were not compared.
func totals(result *reconcile.Result) (all []view.Sum) {
	sums := map[string]reconcile.Tally{}
	for _, t := range result.Tallies {
		if t.Currency == "" || !reconcile.Compared(t.Finding) {
			continue
		}
		s := sums[t.Currency]
		sums[t.Currency] = reconcile.Tally{
			Currency:     t.Currency,
			Lines:        s.Lines + t.Lines,
			FileAmount:   s.FileAmount + t.FileAmount,
			LedgerAmount: s.LedgerAmount + t.LedgerAmount,
		}
	}
	for _, currency := range slices.Sorted(maps.Keys(sums)) {
		all = append(all, sumRow(sums[currency], currency, ""))
	}
	return all
}

func findingSums(result *reconcile.Result, address string) (all []view.Sum) {
	for _, f := range Findings {
		for _, t := range result.Tallies {
			if t.Finding == f.Finding {
				all = append(all, sumRow(t, f.Name, linesURL(address, f.Finding, "")))
			}
		}
	}
	return all
}

func sumRow(t reconcile.Tally, name, to string) view.Sum {
	currency, _ := money.ParseCurrency(t.Currency) // a stored result contains only valid currencies and ""
	amount := func(minor int64) money.Amount { return money.Amount{Minor: minor, Currency: currency} }
	return view.Sum{
		Finding:      string(t.Finding),
		Name:         name,
		URL:          to,
		Lines:        t.Lines,
		Currency:     t.Currency,
		FileAmount:   amount(t.FileAmount),
		LedgerAmount: amount(t.LedgerAmount),
		Difference:   amount(t.FileAmount - t.LedgerAmount),
	}
}

func (h *Handlers) lineRow(k *web.Request, r reconcile.Reconciliation, l reconcile.Line) view.Line {
	v := view.Line{
		Anchor:       lineAnchor(l.Line),
		Finding:      string(l.Finding),
		Reason:       l.Problem,
		Sum:          l.Problem == reconcile.ProblemSum,
		Account:      l.Account,
		FileAmount:   amountIfAny(l.FileMinor, l.FileCurrency),
		LedgerAmount: amountIfAny(l.LedgerMinor, l.LedgerCurrency),
		Received:     web.TimeOf(l.ReceivedAt),
		Why:          findingReason(l),
		Note:         k.Erasable(l.Note),
		ResolvedBy:   l.ResolvedBy,
		Reference:    k.Erasable(l.Lead.PartnerReference),
		SubID:        k.Erasable(l.Lead.SubID),
		Resolved:     l.ResolvedAt,
	}
	if l.FileRow != nil {
		v.Row = *l.FileRow
	}
	if l.FirstRow != nil {
		v.FirstRow = *l.FirstRow
	}
	if l.LeadID != nil {
		v.LeadID = id.Format(id.Lead, *l.LeadID)
		// The line has an account only if the lead belongs to this partner.
		if l.AccountID != nil && k.MayAt(web.ReadLeads, r.PartnerID) {
			v.LeadURL = "/leads/" + v.LeadID
		}
	}
	if v.FileAmount != nil && v.LedgerAmount != nil && v.FileAmount.Currency == v.LedgerAmount.Currency {
		v.Difference = &money.Amount{Minor: v.FileAmount.Minor - v.LedgerAmount.Minor, Currency: v.LedgerAmount.Currency}
	}
	if r.State == models.ReconciliationSaved && reconcile.Resolvable(l.Finding) &&
		k.MayAt(web.WriteReconciliation, r.PartnerID) {
		v.ResolveURL = resolveURL(r, l.Line)
	}
	return v
}

func lineAnchor(line int) string { return "line-" + strconv.Itoa(line) }

func amountIfAny(minor *int64, code *string) *money.Amount {
	if minor == nil || code == nil {
		return nil
	}
	sum := money.AmountOf(*minor, *code)
	return &sum
}

// findingReason returns the reason for a line's finding. It returns "" if the finding needs no
// explanation.
func findingReason(l reconcile.Line) string {
	switch {
	case l.Finding == models.Duplicated && l.FirstRow != nil:
		return "Row " + ui.Number(int64(*l.FirstRow)) + " has the same lead."
	case l.Finding == models.NotCompared && l.FirstRow != nil:
		return "The amount is included in the sum of row " + ui.Number(int64(*l.FirstRow)) + "."
	case l.Finding == models.Unknown && l.OtherPartner != "":
		return "This lead belongs to " + l.OtherPartner + "."
	case l.Problem != "" && l.Problem != reconcile.ProblemSum:
		return reconcile.ProblemText(l.Problem)
	}
	return ""
}
