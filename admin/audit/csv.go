package audit

import (
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/csvcell"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

// csvColumns are the columns of the exported audit log.
var csvColumns = []string{
	"event", "time", "user", "role", "action", "object_type", "object", "partner", "outcome", "reason", "before", "after",
	"ip_address", "request_id", "hash",
}

// auditCSV streams the events that match the filters, oldest first. The export itself is recorded in the log.
func (h *Handlers) auditCSV(k *web.Request) error {
	f, mistakes := auditFilter(k)
	if len(mistakes) > 0 {
		return h.showAudit(k, http.StatusUnprocessableEntity, nil)
	}
	e := audit.Event{Action: "audit.export", Kind: "audit", After: describe(k)}
	if err := h.Audit.LogDone(k.R.Context(), k.By, e); err != nil {
		return err
	}
	return k.SendCSV("audit-log-"+k.Now.UTC().Format("20060102-1504"), func(to io.Writer) error {
		w, err := csvcell.NewWriter(to, csvColumns, "event")
		if err != nil {
			return err
		}
		showAddress := k.May(web.ReadStaff)
		err = h.Audit.Each(k.R.Context(), k.Scope, k.EventReader(), f, func(e *models.AuditEvent) error {
			return w.Write(record(e, showAddress))
		})
		if err == nil { // no flush after an error, so that an error page can still be sent
			err = w.Flush()
		}
		return err
	})
}

// describe returns the filters as the audit log records them. For a text that the user typed, the log records only that
// there was one, because the text could be a consumer's name.
func describe(k *web.Request) map[string]any {
	filters := map[string]any{}
	if searchText(k) != "" {
		filters["text"] = true
	}
	for name, values := range web.SetFilters(k.R.URL.Query(), auditFilters) {
		switch name {
		case "person", "object":
			filters[name] = true
		default:
			filters[name] = web.Short(values[0])
		}
	}
	return filters
}

func record(e *models.AuditEvent, showAddress bool) []string {
	partner, address := "", ""
	if e.PartnerID != nil {
		partner = id.Format(id.Partner, *e.PartnerID)
	}
	if showAddress {
		address = e.Address
	}
	return []string{
		strconv.FormatInt(e.ID, 10), e.At.UTC().Format(time.RFC3339Nano), e.Actor, e.Role, e.Action, e.ObjectKind,
		e.ObjectID, partner, string(e.Outcome), e.Reason, text(e.Before), text(e.After),
		address, e.RequestID, hex.EncodeToString(e.Hash),
	}
}

func text(fields *string) string {
	if fields == nil {
		return ""
	}
	return *fields
}
