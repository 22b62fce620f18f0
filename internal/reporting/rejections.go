package reporting

import (
	"context"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
)

// RejectedRequest is a rejected request with its outcome and the names of its invalid fields, but
// never their values (decision 24).
type RejectedRequest struct {
	ID        int64
	At        time.Time
	Partner   uuid.UUID `gorm:"column:partner_id"`
	RequestID uuid.UUID
	Endpoint  string
	Outcome   string
	Fields    []string `gorm:"serializer:json"`
}

// RejectionFilter selects rejections. A field with its zero value matches all rejections.
type RejectionFilter struct {
	Partner, Request uuid.UUID
	Outcome          string
}

// RejectionPage is a page of rejections, newest first.
type RejectionPage struct {
	Rejections   []RejectedRequest
	Newer, Older bool // whether there are newer or older rejections
}

// Rejections returns a page of recent rejections.
func (in *Reader) Rejections(
	ctx context.Context, sc scope.Scope, f RejectionFilter, p postgres.Page,
) (out RejectionPage, err error) {
	q := rejections(ctx, in.db, sc)
	if f.Partner != uuid.Nil {
		q = q.Where("partner_id = ?", f.Partner)
	}
	if f.Request != uuid.Nil {
		q = q.Where("request_id = ?", f.Request)
	}
	if f.Outcome != "" {
		q = q.Where("outcome = ?", f.Outcome)
	}
	if err := p.Apply(q).Find(&out.Rejections).Error; err != nil {
		return out, postgres.Translate(err)
	}
	out.Rejections, out.Newer, out.Older = postgres.SplitPage(p, out.Rejections)
	return out, nil
}

// FindRejection returns the rejected request with the given request id, and whether it was found.
func (in *Reader) FindRejection(ctx context.Context, sc scope.Scope, request uuid.UUID) (RejectedRequest, bool, error) {
	var found []RejectedRequest
	err := rejections(ctx, in.db, sc).Where("request_id = ?", request).Order("id DESC").Limit(1).Find(&found).Error
	if err != nil || len(found) == 0 {
		return RejectedRequest{}, false, postgres.Translate(err)
	}
	return found[0], true, nil
}

func rejections(ctx context.Context, db *postgres.DB, sc scope.Scope) *gorm.DB {
	q := db.Gorm.WithContext(ctx).Table("rejections").Select("id, at, partner_id, request_id, endpoint, outcome, to_json(fields) AS fields")
	if sc.All() {
		return q
	}
	return q.Where("partner_id IN ?", append(sc.IDs(), uuid.Nil)) // uuid.Nil, because GORM writes an empty list as NULL
}
