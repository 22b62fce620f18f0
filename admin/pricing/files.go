package pricing

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/templates/ui"
)

// File formats. A CSV file contains the base prices in part of a grid, and a YAML file contains all rules.
const (
	kindCSV  = "csv"
	kindYAML = "yaml"
)

func exports(address string, v ratecard.GridView, industries, rules int) (bases, card ui.Download) {
	bases = ui.Download{
		URL:   address + "/export?" + viewQuery(v, "format", kindCSV),
		Label: "CSV",
		Holds: ui.Plural(industries, "industry", "industries") + " shown",
	}
	card = ui.Download{
		URL:   address + "/export?format=" + kindYAML,
		Label: "YAML",
		Holds: "all " + ui.Plural(rules, "rule", "rules"),
	}
	return bases, card
}

func (h *Handlers) versionExport(k *web.Request) error {
	card, err := h.pricedVersion(k)
	if err != nil {
		return err
	}
	return h.export(k, card, fmt.Sprintf("rate-card-v%d", card.Version))
}

func (h *Handlers) draftExport(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	return h.export(k, d.RateCard, "rate-card-draft-"+ratecard.ID(d.ID))
}

// export sends a rate card, or a view of its grid, as a file. It writes an audit event.
func (h *Handlers) export(k *web.Request, card models.RateCard, name string) error {
	sheet, err := h.Prices.ExamineCard(k.R.Context(), card)
	if err != nil {
		return err
	}
	format, kind := k.R.URL.Query().Get("format"), "application/yaml; charset=utf-8"
	after := map[string]any{"format": format}
	var file bytes.Buffer
	switch format {
	case kindYAML:
		file.Write(pricingrules.FormatCard(sheet.Card))
		after["rules"] = len(sheet.Card.Rules)
	case kindCSV:
		view := h.gridView(k)
		rows := h.Prices.Grid(sheet, nil, view)
		if err := writeBases(&file, rows); err != nil {
			return err
		}
		kind, name = "text/csv; charset=utf-8", name+"-"+web.FileNamePart(view.Country)+"-"+
			web.FileNamePart(orWord(view.Urgency, "any"))
		after["rows"], after["what"] = len(rows), viewText(view)
	default:
		return apperr.New(apperr.Invalid, "format", "The format must be csv or yaml.")
	}
	if card.Version > 0 {
		after["version"] = card.Version
	}
	e := audit.Event{Action: "pricing.export", Kind: "rate_card", Object: ratecard.ID(card.ID), After: after}
	if err := h.Audit.LogDone(k.R.Context(), k.By, e); err != nil {
		return err
	}
	v := k.W.Header()
	v.Set("Content-Type", kind)
	v.Set("Content-Disposition", `attachment; filename="`+name+"."+format+`"`)
	v.Set("Content-Length", strconv.Itoa(file.Len()))
	k.W.WriteHeader(http.StatusOK)
	_, _ = file.WriteTo(k.W) // fails only if the client has disconnected
	return nil
}

func writeBases(to *bytes.Buffer, rows []ratecard.GridRow) error {
	bases := make([]pricingrules.BaseRow, len(rows))
	for i, row := range rows {
		bases[i] = row.BaseRow
	}
	return pricingrules.FormatBases(to, bases)
}

func orWord(word, none string) string {
	if word == "" {
		return none
	}
	return word
}
