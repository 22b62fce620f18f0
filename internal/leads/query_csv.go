package leads

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/csvcell"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/models"
)

// Columns lists the columns of leads.csv. The file contains nothing that an erasure deletes. The column partner
// contains the partner's slug, and partner_id the identifier that the partner sends as partnerId. Prices are in
// major units, and times in UTC.
var Columns = []string{
	"lead_id", "received_at", "partner", "partner_id", "industry", "country", "price", "currency", "states",
}

const csvBatch = 1000

// States returns the states of a lead, as in Query.State.
func (r Row) States() (states []string) {
	if r.Sandbox {
		states = append(states, StateSandbox)
	}
	if r.Returned {
		states = append(states, StateReturned)
	}
	if r.State == models.LeadErased {
		states = append(states, StateErased)
	}
	if states == nil {
		states = append(states, StateDelivered)
	}
	return states
}

// CSV writes a header row and the leads in the scope that match a query, newest first. The function priced reports
// whether the file may contain the prices of a partner's leads. Only a few downloads can run at a time. If too many
// are running, CSV returns an error. Otherwise, it calls the function begin before it writes anything.
func (r *Reader) CSV(
	ctx context.Context, sc scope.Scope, q Query, priced func(partner uuid.UUID) bool, to io.Writer, begin func() error,
) error {
	end, err := r.db.AcquireDownload()
	if err != nil {
		return err
	}
	defer end()
	if err := begin(); err != nil {
		return err
	}
	out, err := csvcell.NewWriter(to, Columns, "price")
	if err != nil {
		return err
	}
	q.Before, q.After = Cursor{}, Cursor{}
	w, err := r.window(ctx, sc, q)
	if err == nil && !w.empty() {
		err = r.eachRow(ctx, w, q, func(row Row) error {
			price, currency := "", ""
			if priced(row.PartnerID) {
				price, currency = row.Price.Decimal(), row.Price.Currency.String()
			}
			return out.Write([]string{
				id.Format(id.Lead, row.ID), row.ReceivedAt.Format(time.RFC3339), row.PartnerSlug, row.Identifier, row.Industry,
				row.Country,
				price, currency, strings.Join(row.States(), " "),
			})
		})
	}
	if err != nil { // do not flush, so that an error page can still be sent
		return err
	}
	return out.Flush()
}

// eachRow passes all leads in the window that match the query to a function, in batches, so that no query takes long,
// however slow the client is.
func (r *Reader) eachRow(ctx context.Context, w window, q Query, each func(Row) error) error {
	parts, err := r.split(ctx, w)
	if err != nil {
		return err
	}
	for _, part := range parts {
		for more := true; more; {
			chosen, err := r.chosen(ctx, part, q, csvBatch)
			if err != nil {
				return err
			}
			rows, err := r.rows(ctx, chosen)
			if err != nil {
				return err
			}
			for _, row := range rows {
				if err := each(row); err != nil {
					return err
				}
			}
			if more = len(chosen) == csvBatch; more {
				part.to = chosen[csvBatch-1]
			}
		}
	}
	return nil
}
