package leads

import (
	"io"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
)

// filters are the filters of the list.
var filters = []string{"partner", "account", "industry", "country", "state", "reference", "sub_id", "from", "to"}

// leadsCSV downloads the leads that match the filter of the list.
func (h *Handlers) leadsCSV(k *web.Request) error {
	q := k.R.URL.Query()
	query, mistakes, err := h.leadQuery(k, q)
	if err != nil {
		return err
	}
	if len(mistakes) > 0 { // without a valid partner, the file would contain the leads of all partners
		return h.showLeads(k, http.StatusUnprocessableEntity, q, query, mistakes)
	}
	return k.SendCSV("leads-"+k.Now.UTC().Format("20060102-1504"), func(to io.Writer) error {
		priced := func(partner uuid.UUID) bool { return mayReadPrice(k, partner) }
		return h.Leads.CSV(k.R.Context(), k.Scope, query, priced, to, func() error {
			return h.Audit.LogDone(k.R.Context(), k.By, audit.Event{
				Action: "leads.export", Kind: "lead", Partner: query.Partner, After: described(q, query),
			})
		})
	})
}

// described returns the filter of an export as the audit log records it. It leaves out references and subIds, which an
// erasure deletes.
func described(q url.Values, query leads.Query) map[string]any {
	words := map[string]any{}
	for _, name := range filters {
		if value := q.Get(name); value != "" {
			words[name] = web.Short(value)
		}
	}
	for _, name := range []string{"reference", "sub_id"} {
		if words[name] != nil {
			words[name] = "given"
		}
	}
	if query.Partner != uuid.Nil {
		words["partner"] = id.Format(id.Partner, query.Partner)
	}
	if query.Account != uuid.Nil {
		words["account"] = id.Format(id.Account, query.Account)
	}
	if len(words) == 0 {
		words["leads"] = "all that the user may see"
	}
	return words
}
