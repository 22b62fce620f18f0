package audit

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Filter selects events. A field with its zero value matches all events. Text and Actor ignore case and accents.
type Filter struct {
	Kind, Object string
	Text         string // part of the actor, action, object's id, a value or reason, or of the partner's names or slug
	Actor        string // part of the actor's name or email address
	Action       string // an action or the beginning of one, such as "secret."
	About        Subject
	Outcome      models.AuditOutcome
	From, Until  time.Time
}

// Subject is a user. As a filter, it selects the events in which this user is the actor or the
// object.
type Subject struct {
	Staff uuid.UUID
	ID    string // the user's prefixed id
}

// Page selects a page of a list.
type Page = postgres.Page[int64]

// countBound is the maximum number of events that List counts.
const countBound = 10_000

// ListResult is a page of events, newest first.
type ListResult struct {
	Events       []models.AuditEvent
	Newer, Older bool  // whether there are pages with newer or older events
	Count        int64 // number of matching events, up to countBound
	CountBounded bool
}

// List returns a page of the events that match a filter and that the reader may see. If the scope does not
// include all partners, it returns only events of the partners in the scope.
func (l *Log) List(ctx context.Context, sc scope.Scope, r Reader, f Filter, p Page) (out ListResult, err error) {
	q := l.matching(ctx, sc, r, f)
	bounded := q.Session(&gorm.Session{}).Select("1").Limit(countBound + 1)
	if err := l.db.Gorm.WithContext(ctx).Table("(?) AS found", bounded).Count(&out.Count).Error; err != nil {
		return out, postgres.Translate(err)
	}
	if out.CountBounded = out.Count > countBound; out.CountBounded {
		out.Count = countBound
	}
	if err := p.Apply(q.Session(&gorm.Session{}), "id").Find(&out.Events).Error; err != nil {
		return out, postgres.Translate(err)
	}
	out.Events, out.Newer, out.Older = postgres.SplitPage(p, out.Events)
	return out, nil
}

// Each calls a function with each event that List would return, oldest first. It leaves out events that are written
// after the call. It reads the events in batches and does not hold a database connection between them.
func (l *Log) Each(ctx context.Context, sc scope.Scope, r Reader, f Filter, do func(*models.AuditEvent) error) error {
	last, _, err := l.Head(ctx)
	if err != nil {
		return err
	}
	q := l.matching(ctx, sc, r, f).Where("id <= ?", last)
	for after := int64(0); ; {
		var batch []models.AuditEvent
		if err := q.Session(&gorm.Session{}).Where("id > ?", after).Order("id").Limit(readBatch).Find(&batch).Error; err != nil {
			return postgres.Translate(err)
		}
		for i := range batch {
			if err := do(&batch[i]); err != nil {
				return err
			}
			after = batch[i].ID
		}
		if len(batch) < readBatch {
			return nil
		}
	}
}

func (l *Log) matching(ctx context.Context, sc scope.Scope, r Reader, f Filter) *gorm.DB {
	q := r.visible(f.apply(l.db.Gorm.WithContext(ctx).Model(&models.AuditEvent{})))
	if !sc.All() {
		q = q.Where("partner_id IN ?", partners(sc))
	}
	return q
}

// partners returns the partners in a scope as the operand of IN, which must not be empty.
func partners(sc scope.Scope) []uuid.UUID { return append(sc.IDs(), uuid.Nil) }

func (f Filter) apply(q *gorm.DB) *gorm.DB {
	for column, value := range map[string]string{
		"object_kind": f.Kind, "object_id": f.Object, "outcome": string(f.Outcome),
	} {
		if value != "" {
			q = q.Where(column+" = ?", value)
		}
	}
	if f.Actor != "" {
		q = q.Where(`(strpos(fold(actor), fold(?)) > 0
			OR staff_id IN (SELECT id FROM staff WHERE strpos(fold(name || E'\n' || email), fold(?)) > 0))`, f.Actor, f.Actor)
	}
	if f.Text != "" {
		q = q.Where(`(strpos(fold(concat_ws(E'\n', actor, action, object_id, reason, before, after)), fold(?)) > 0
			OR partner_id IN (SELECT id FROM partners WHERE strpos(searched, fold(?)) > 0))`, f.Text, f.Text)
	}
	if f.Action != "" {
		q = q.Where("starts_with(action, ?)", f.Action)
	}
	if f.About != (Subject{}) {
		q = q.Where("staff_id = ? OR object_kind = 'staff' AND object_id = ?", f.About.Staff, f.About.ID)
	}
	if !f.From.IsZero() {
		q = q.Where("at >= ?", f.From)
	}
	if !f.Until.IsZero() {
		q = q.Where("at < ?", f.Until)
	}
	return q
}
