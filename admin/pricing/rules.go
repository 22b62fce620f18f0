package pricing

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

// RulesPage is the number of rules on a page.
const RulesPage = 100

func (h *Handlers) rulesTab(k *web.Request, d ratecard.Draft) error {
	head, err := h.draftHead(k, d, "rules")
	if err != nil {
		return err
	}
	sheet, err := h.Prices.ExamineCard(k.R.Context(), d.RateCard)
	if err != nil {
		return err
	}
	q := k.R.URL.Query()
	rows := ruleRows(sheet, head, strings.ToLower(web.SearchText(q, "q")), q.Get("only") == "wrong")
	v := view.DraftRulesView{
		Head:   head,
		Search: q.Get("q"),
		Only:   web.SelectOption([]ui.Option{{Value: "wrong", Label: "With problems"}}, q.Get("only")),
		State:  ui.ListState{Filtered: web.IsFiltered(q, "q", "only"), ClearURL: head.URL + "?tab=rules"},
	}
	v.Rules, v.Pager = pageOfRules(rows, q, head.URL)
	if head.CanWrite {
		v.NewURL = head.URL + "/rules/new"
	}
	return k.Show(http.StatusOK, view.DraftRules(v))
}

// ruleRows returns the table rows of the rules that contain the given word, with the rules' problems.
func ruleRows(sheet *ratecard.ExaminedCard, head view.DraftHead, word string, onlyWrong bool) (rows []view.RuleRow) {
	wrong := map[int][]string{}
	for _, p := range sheet.Problems {
		if p.Rule >= 0 {
			wrong[p.Rule] = append(wrong[p.Rule], ui.Sentence(p.Message))
		}
	}
	for i, rule := range sheet.Card.Rules {
		row := view.RuleRow{
			Number:   i + 1,
			Selector: rule.Selector(),
			Effects:  rule.Effects(),
			Note:     rule.Note,
			Problems: wrong[i],
		}
		text := strings.ToLower(row.Selector + "\n" + strings.Join(row.Effects, "\n") + "\n" + row.Note)
		if onlyWrong && len(row.Problems) == 0 || !strings.Contains(text, word) {
			continue
		}
		if head.CanWrite {
			row.URL = fmt.Sprintf("%s/rules/%d", head.URL, sheet.Positions[i])
		}
		rows = append(rows, row)
	}
	return rows
}

// pageOfRules returns one page of rules. If the query contains a rule number, the page starts after that
// rule, or ends before it.
func pageOfRules(rows []view.RuleRow, q url.Values, path string) ([]view.RuleRow, ui.Pager) {
	count, page := ui.Plural(len(rows), "rule", "rules"), web.NumberPage(q)
	from := 0
	for page.StartsAfter() && from < len(rows) && int64(rows[from].Number) <= page.After {
		from++
	}
	if page.EndsBefore() {
		for from < len(rows) && int64(rows[from].Number) < page.Before {
			from++
		}
		from = max(from-RulesPage, 0)
	}
	to := min(from+RulesPage, len(rows))
	shown := rows[from:to]
	p := web.Pager(path, q, shown, from > 0, to < len(rows), func(r view.RuleRow) string { return strconv.Itoa(r.Number) })
	p.Count = count
	return shown, p
}

func (h *Handlers) position(k *web.Request) (int, bool) {
	n, err := strconv.Atoi(k.R.PathValue("position"))
	return n, err == nil && n > 0
}
