package reconcile

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

type stored struct {
	models.Reconciliation
	Slug, Name string
}

func (s *Service) visible(ctx context.Context, sc scope.Scope) *gorm.DB {
	q := s.db.Gorm.WithContext(ctx).Table("reconciliations r").
		Select(postgres.Columns[models.Reconciliation]("r") + ", p.slug, p.name").
		Joins("JOIN partners p ON p.id = r.partner_id")
	if !sc.All() {
		q = q.Where("r.partner_id IN ?", sc.IDs())
	}
	return q
}

func read(found []stored) ([]Reconciliation, error) {
	all := make([]Reconciliation, len(found))
	for i, f := range found {
		r := Reconciliation{Reconciliation: f.Reconciliation, Partner: f.Slug, PartnerName: f.Name}
		if err := json.Unmarshal([]byte(f.Profile), &r.Profile); err != nil {
			return nil, err
		}
		if f.Reconciliation.Mapping != nil {
			if err := json.Unmarshal([]byte(*f.Reconciliation.Mapping), &r.Mapping); err != nil {
				return nil, err
			}
		}
		if f.Reconciliation.Result != nil {
			if err := json.Unmarshal([]byte(*f.Reconciliation.Result), &r.Result); err != nil {
				return nil, err
			}
		}
		all[i] = r
	}
	return all, nil
}

func find(q *gorm.DB) ([]Reconciliation, error) {
	var found []stored
	if err := q.Find(&found).Error; err != nil {
		return nil, postgres.Translate(err)
	}
	return read(found)
}

// Get returns a reconciliation. It returns errNotFound if there is no such reconciliation in the scope.
func (s *Service) Get(ctx context.Context, sc scope.Scope, reconciliation uuid.UUID) (Reconciliation, error) {
	all, err := find(s.visible(ctx, sc).Where("r.id = ?", reconciliation))
	if err != nil {
		return Reconciliation{}, err
	}
	if len(all) == 0 {
		return Reconciliation{}, errNotFound
	}
	return all[0], nil
}

// List returns a page of reconciliations, newest first. The result newer reports whether there is a
// previous page, and the result older reports whether there is a next one.
func (s *Service) List(
	ctx context.Context, sc scope.Scope, q Query,
) (all []Reconciliation, newer, older bool, err error) {
	db := q.Page.Apply(s.visible(ctx, sc), "r.id")
	if q.Partner != uuid.Nil {
		db = db.Where("r.partner_id = ?", q.Partner)
	}
	if q.State != "" {
		db = db.Where("r.state = ?", q.State)
	}
	if all, err = find(db); err != nil {
		return nil, false, false, err
	}
	all, newer, older = postgres.SplitPage(q.Page, all)
	return all, newer, older, nil
}

const sameShown = 20

// SameFile returns earlier reconciliations of an identical file, newest first. It omits those that
// were discarded or are not in the scope.
func (s *Service) SameFile(ctx context.Context, sc scope.Scope, r Reconciliation) ([]Reconciliation, error) {
	return find(s.visible(ctx, sc).Where("r.file_sha256 = ? AND (r.created_at, r.id) < (?, ?) AND r.state <> 'discarded'",
		r.FileSHA256, r.CreatedAt, r.ID).Order("r.id DESC").Limit(sameShown))
}
