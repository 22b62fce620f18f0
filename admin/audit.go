package admin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// keyedPage is how many rows a list shows that is paged by a number.
const keyedPage = 50

// deeds are what the audit trail tells of, for its filter; a dot at the end stands
// for all that begin so.
var deeds = []templates.Option{
	{Value: "login", Label: "Signing in"}, {Value: "confirm", Label: "Confirming it is still them"}, {Value: "staff.", Label: "Staff"},
	{Value: "partner.", Label: "Partners"}, {Value: "account.", Label: "Accounts"}, {Value: "link.", Label: "Documentation links"}, {Value: "secret.", Label: "Signing secrets"}, {Value: "pricing.", Label: "Prices"},
	{Value: "lead.", Label: "Leads"}, {Value: "ledger.", Label: "Adjustments and exports"}, {Value: "return.", Label: "Returns"}, {Value: "payout_run.", Label: "Payout runs"}, {Value: "work.", Label: "Long work"}, {Value: "reconciliation.", Label: "Reconciliations"}, {Value: "keys.", Label: "Keys"},
	{Value: "audit.", Label: "The audit trail"}, {Value: "console.", Label: "Refused pages"},
}

var objectKinds = []templates.Option{
	{Value: "staff", Label: "Staff"}, {Value: "partner", Label: "Partner"}, {Value: "account", Label: "Account"},
	{Value: "secret", Label: "Signing secret"}, {Value: "rate_card", Label: "Rate card"}, {Value: "lead", Label: "Lead"}, {Value: "payout_run", Label: "Payout run"}, {Value: "return", Label: "Return"}, {Value: "adjustment", Label: "Adjustment"}, {Value: "ledger", Label: "Ledger"}, {Value: "export", Label: "Export"}, {Value: "reconciliation", Label: "Reconciliation"}, {Value: "keys", Label: "Keys"}, {Value: "route", Label: "Page"}, {Value: "audit", Label: "Audit trail"},
}

func (k *call) auditList() error { return k.showAudit(nil) }

func (k *call) showAudit(chain *templates.ChainResult) error {
	q := k.r.URL.Query()
	f, mistakes := auditFilter(q)
	var found audit.Found
	if len(mistakes) == 0 {
		var err error
		if found, err = k.Audit.List(k.r.Context(), k.scope, f, pageByKey(q)); err != nil {
			return err
		}
	}
	v := templates.AuditListView{
		Shell: k.shell("Audit"), Person: q.Get("person"), Object: q.Get("object"), From: q.Get("from"), To: q.Get("to"),
		Actions: chosen(deeds, q.Get("action")), Kinds: chosen(objectKinds, q.Get("kind")),
		Outcomes: chosen([]templates.Option{{Value: "done", Label: "Done"}, {Value: "refused", Label: "Refused"}}, q.Get("outcome")),
		State:    templates.ListState{Filtered: filtered(q, "person", "action", "kind", "object", "outcome", "from", "to"), ClearURL: "/audit"},
		Events:   k.auditRows(found.Events), Pager: auditPager("/audit", q, found), Chain: chain,
	}
	v.Shell.Notices = append(v.Shell.Notices, mistakes...)
	if k.may(verifyAudit) {
		v.CheckURL = "/audit/verify"
	}
	return k.show(http.StatusOK, templates.AuditList(v))
}

// auditFilter reads the filter; a date that is none is told.
func auditFilter(q url.Values) (f audit.Filter, mistakes []notice) {
	f = audit.Filter{Actor: typed(q, "person"), Action: typed(q, "action"), Kind: typed(q, "kind"), Object: typed(q, "object")}
	if outcome := models.AuditOutcome(q.Get("outcome")); outcome == models.AuditDone || outcome == models.AuditRefused {
		f.Outcome = outcome
	}
	f.From, f.Until, mistakes = days(q)
	return f, mistakes
}

// days reads the first and the last day of a filter, in UTC; to is the moment after the
// last. What is no date is told, once, and then nothing is listed: without it a filter
// would choose more than was asked for.
func days(q url.Values) (from, to time.Time, mistakes []notice) {
	for name, into := range map[string]*time.Time{"from": &from, "to": &to} {
		day, err := time.Parse(time.DateOnly, q.Get(name))
		switch {
		case q.Get(name) == "":
		case err != nil:
			mistakes = []notice{{Kind: "warn", Text: "A date is written like 2026-01-31: write it so, or leave it empty."}}
		default:
			*into = day
		}
	}
	if !to.IsZero() {
		to = to.AddDate(0, 0, 1) // the day itself counts
	}
	return from, to, mistakes
}

func pageByKey(q url.Values) audit.Page {
	p := audit.Page{Size: keyedPage}
	p.OlderThan, _ = strconv.ParseInt(q.Get("older"), 10, 64) // what is no number is the first page
	p.NewerThan, _ = strconv.ParseInt(q.Get("newer"), 10, 64)
	return p
}

// auditPager keeps the filter and names the first or last event of this page.
func auditPager(path string, q url.Values, found audit.Found) (p templates.Pager) {
	if n := len(found.Events); n > 0 {
		p = pagerByKey(path, q, found.Newer, found.Older, found.Events[0].ID, found.Events[n-1].ID)
	}
	p.Count = countWords(found.Count, found.CountBounded, "event", "events")
	return p
}

// pagerByKey leads to what is newer than the first and older than the last of a page.
func pagerByKey(path string, q url.Values, newer, older bool, first, last int64) (p templates.Pager) {
	with := func(name string, key int64) string {
		next := maps.Clone(q)
		next.Del("older")
		next.Del("newer")
		next.Set(name, strconv.FormatInt(key, 10))
		return path + "?" + next.Encode()
	}
	if newer {
		p.Newer = with("newer", first)
	}
	if older {
		p.Older = with("older", last)
	}
	return p
}

func countWords(n int64, bounded bool, one, many string) string {
	switch {
	case bounded:
		return "more than " + templates.Number(n) + " " + many
	case n == 1:
		return "1 " + one
	}
	return templates.Number(n) + " " + many
}

func (k *call) auditRows(events []models.AuditEvent) []templates.AuditRow {
	rows := make([]templates.AuditRow, len(events))
	for i, e := range events {
		rows[i] = templates.AuditRow{
			At: e.At, Who: e.Actor, Role: strings.ReplaceAll(e.Role, "_", " "), Action: deedWords(e.Action), Kind: strings.ReplaceAll(e.ObjectKind, "_", " "), Object: e.ObjectID,
			Outcome: string(e.Outcome), Reason: e.Reason, Address: e.Address, RequestID: e.RequestID, Changes: changes(e.Before, e.After),
		}
		switch {
		case e.ObjectKind == "staff" && e.ObjectID != "" && k.may(readStaff):
			rows[i].ObjectURL = "/staff/" + e.ObjectID
		case e.ObjectKind == "rate_card" && e.ObjectID != "" && k.may(readPricing):
			rows[i].ObjectURL = "/pricing/drafts/" + e.ObjectID
		case e.ObjectKind == "reconciliation" && e.PartnerID != nil && k.mayAt(readReconciliation, *e.PartnerID):
			rows[i].ObjectURL = "/reconciliation/" + e.ObjectID
		case e.ObjectKind == "payout_run" && e.ObjectID != "" && k.everywhere(readPayouts):
			rows[i].ObjectURL = "/payouts/runs/" + e.ObjectID
		case e.ObjectKind == "return" && e.PartnerID != nil && k.mayAt(readPayouts, *e.PartnerID):
			rows[i].ObjectURL = "/payouts/returns/" + e.ObjectID
		case e.PartnerID != nil:
			rows[i].ObjectURL = k.partnerLink(*e.PartnerID, "").URL
		}
	}
	return rows
}

// deedWords makes "staff.reset_second_factor" a phrase.
func deedWords(action string) string {
	return strings.NewReplacer(".", ": ", "_", " ").Replace(action)
}

// changes are the fields of an event, in the order of their names.
func changes(before, after *string) (all []templates.Change) {
	was, is := fields(before), fields(after)
	names := map[string]bool{}
	for name := range was {
		names[name] = true
	}
	for name := range is {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, templates.Change{Name: strings.ReplaceAll(name, "_", " "), Before: valueWords(was, name), After: valueWords(is, name)})
	}
	return all
}

func fields(text *string) map[string]any {
	var out map[string]any
	if text != nil {
		_ = json.Unmarshal([]byte(*text), &out) // the log wrote it
	}
	return out
}

func valueWords(fields map[string]any, name string) string {
	value, there := fields[name]
	if !there {
		return ""
	}
	if list, ok := value.([]any); ok {
		words := make([]string, len(list))
		for i, one := range list {
			words[i] = fmt.Sprint(one)
		}
		return strings.Join(words, ", ")
	}
	return fmt.Sprint(value)
}

// auditVerify reads the whole chain, and writes down that it was done.
func (k *call) auditVerify() error {
	verdict, err := k.Audit.Verify(k.r.Context(), "")
	if err != nil {
		return err
	}
	e := audit.Event{Action: "audit.verify", Kind: "audit", After: map[string]any{"intact": verdict.Intact(), "events": verdict.Events, "head": verdict.Head}}
	if err := k.Audit.Done(k.r.Context(), k.by, e); err != nil {
		return err
	}
	k.scope, _ = k.access.Scope(k.session.Staff.ID, readAudit)
	return k.showAudit(&templates.ChainResult{Intact: verdict.Intact(), Events: verdict.Events, Head: verdict.Head, BrokenAt: verdict.BrokenAt, At: k.now})
}

// chosen marks one of a filter's options.
func chosen(options []templates.Option, value string) []templates.Option {
	options = slices.Clone(options)
	for i := range options {
		options[i].Chosen = options[i].Value == value
	}
	return options
}

// filtered reports whether any of the filters is in use.
func filtered(q url.Values, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return q.Get(name) != "" })
}

// keys is the list of keys as a page, for whoever has no script.
func (k *call) keys() error {
	return k.show(http.StatusOK, templates.Keys(templates.KeysView{Shell: k.shell("Keys")}))
}

// short is what was typed, as far as a page repeats it.
func short(text string) string {
	runes := []rune(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\ufffd"), "\ufffd"))
	return string(runes[:min(len(runes), 300)])
}
