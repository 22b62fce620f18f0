package leads

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
)

// DueBatch is the maximum number of leads that ScanDue reads at once.
const DueBatch = 1000

// Due selects the leads that contain data of a category and have ids between After and Until, which are
// both excluded. Sandbox leads are left out, because they are deleted as a whole.
type Due struct {
	Category  models.RetentionCategory
	Countries []string // of the leads
	Others    bool     // select the leads of all other countries instead
	After     uuid.UUID
	Until     uuid.UUID
}

// DueLead is a lead that Due selects.
type DueLead struct {
	ID         uuid.UUID
	Country    string
	ReceivedAt time.Time
}

// ReceivedBefore returns an id. All leads with smaller ids were received before the given time, and no
// more leads with such ids can be stored.
func ReceivedBefore(at time.Time) uuid.UUID { return id.First(at.Add(-quote.Validity - checkDelay)) }

// dueSQL contains the tables and the condition for each category. $1 and $2 are the limits of the range
// of ids, $3 the countries and $4 whether other countries are selected.
var dueSQL = map[models.RetentionCategory]struct{ id, received, from, condition string }{
	models.RetainContact: {
		"l.id", "l.received_at", `leads l`, `NOT l.sandbox AND l.state <> 'erased' AND (l.country = ANY ($3)) <> $4`,
	},
	models.RetainConsent: {
		"c.lead_id", "c.received_at", `consents c LEFT JOIN leads l ON l.id = c.lead_id AND l.id > $1 AND l.id < $2`,
		`NOT c.sandbox AND num_nonnulls(c.disclosure_digest, c.recipient_hash, c.form_cert_url, c.third_party_lead_id) > 0
			AND (l.country = ANY ($3)) <> $4`,
	},
}

// ScanDue reads the next leads in the range, at most DueBatch, and returns those that d selects. last is
// the id of the last lead that it read, or uuid.Nil if there are no more. The range should be within one
// partition, because all partitions in the range are locked.
func (s *Store) ScanDue(ctx context.Context, d Due) (found []DueLead, last uuid.UUID, err error) {
	part := dueSQL[d.Category]
	// Rows that are not due are read, too, so that the next batch starts after them.
	sql := `SELECT ` + part.id + `, coalesce(l.country, ''), ` + part.received + `, coalesce(` + part.condition + `, false) FROM ` + part.from +
		` WHERE ` + part.id + ` > $1 AND ` + part.id + ` < $2 ORDER BY 1 LIMIT $5`
	_, err = readBatch(ctx, s.pool, func(row pgx.CollectableRow) (none struct{}, err error) {
		var lead DueLead
		var due bool
		if err := row.Scan(&lead.ID, &lead.Country, &lead.ReceivedAt, &due); err != nil {
			return none, err
		}
		if last = lead.ID; due {
			found = append(found, lead)
		}
		return none, nil
	}, sql, d.After, d.Until, d.Countries, d.Others, DueBatch)
	return found, last, err
}

// Survey is the result of SurveyDue.
type Survey struct {
	Leads    int64
	Oldest   time.Time // when the oldest lead was received; zero if there is none, or if it was not found
	Complete bool      // all leads were counted, and the oldest was found if there is one
}

// SurveyDue counts the leads that d selects with ids below until, and finds the oldest lead that d selects. If ctx ends
// first, it stops, and the result is not complete.
func (s *Store) SurveyDue(ctx context.Context, d Due, until uuid.UUID) (v Survey, err error) {
	parts, err := s.DueParts(ctx, d)
	for err == nil && len(parts) > 0 {
		var found []DueLead
		var last uuid.UUID
		if found, last, err = s.ScanDue(ctx, parts[0]); err != nil {
			break
		}
		for _, lead := range found {
			if v.Oldest.IsZero() {
				v.Oldest = lead.ReceivedAt.UTC()
			}
			if id.Compare(lead.ID, until) < 0 {
				v.Leads++
			}
		}
		if parts[0].After = last; last == uuid.Nil {
			parts = parts[1:]
		}
		if !v.Oldest.IsZero() && (len(parts) == 0 || id.Compare(parts[0].After, until) >= 0) {
			break
		}
	}
	if v.Complete = err == nil; ctx.Err() != nil {
		err = nil // there was no more time
	}
	return v, err
}

// DueParts divides d by partitions, oldest first.
func (s *Store) DueParts(ctx context.Context, d Due) (parts []Due, err error) {
	if id.Compare(d.After, d.Until) >= 0 {
		return nil, nil
	}
	all, err := postgres.Partitions(ctx, s.pool, "leads", postgres.Period{})
	if err != nil {
		return nil, postgres.Translate(err)
	}
	for _, p := range slices.Backward(all) {
		part := d
		if first := id.First(p.From); id.Compare(first, d.After) > 0 {
			part.After = first
		}
		if end := id.First(p.Until); id.Compare(end, d.Until) < 0 {
			part.Until = end
		}
		if id.Compare(part.After, part.Until) < 0 {
			parts = append(parts, part)
		}
	}
	return parts, nil
}
