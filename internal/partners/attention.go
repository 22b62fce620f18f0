package partners

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

const (
	maxExpiring  = 5
	maxRejecting = 5
	// minRejected is the number of rejected posts below which a partner is not listed, whatever their share.
	minRejected = 3
)

// ExpiringPartner is an approved partner whose valid secrets all have an expiry.
type ExpiringPartner struct {
	Partner uuid.UUID
	Name    string
	Ends    time.Time // when the last secret expires
}

// RejectedPartner is an approved partner with many rejected posts.
type RejectedPartner struct {
	Partner uuid.UUID
	Name    string
	PostFigures
}

// MostRejected returns approved partners with many rejected posts in the last 24 hours: at least minRejected, and more
// than 5% of the partner's posts. Partners with the most rejected posts come first. It returns at most maxRejecting
// partners, and the number of the others.
func (s *Service) MostRejected(ctx context.Context, sc scope.Scope) (most []RejectedPartner, others int64, err error) {
	rows, err := s.db.Pool.Query(ctx, `SELECT p.id, p.name, f.posts, f.rejected_posts, f.rejected_before, count(*) OVER ()
		FROM partners p JOIN partner_figures f ON f.partner_id = p.id
		WHERE p.status = 'approved' AND p.id <> $1 AND f.rejected_posts >= $2 AND f.rejected_posts * 20 > f.posts
			AND ($3 OR p.id = ANY ($4))
		ORDER BY f.rejected_posts DESC, p.id LIMIT $5`,
		models.PlatformIDs.Partner, minRejected, sc.All(), append([]uuid.UUID{}, sc.IDs()...), maxRejecting)
	if err != nil {
		return nil, 0, postgres.Translate(err)
	}
	most, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r RejectedPartner, err error) {
		return r, row.Scan(&r.Partner, &r.Name, &r.Posts, &r.Rejected, &r.RejectedBefore, &others)
	})
	return most, others - int64(len(most)), postgres.Translate(err)
}

// Pending counts the partners that are waiting for approval.
func (s *Service) Pending(ctx context.Context, sc scope.Scope) (n int64, err error) {
	err = restrict(s.db.Gorm.WithContext(ctx), sc, "id").Model(&models.Partner{}).
		Where("status = ?", models.PartnerPending).Count(&n).Error
	return n, postgres.Translate(err)
}

// ExpiringBefore returns approved partners whose valid secrets all expire before the given time. It
// returns at most maxExpiring partners, ordered by expiry.
func (s *Service) ExpiringBefore(ctx context.Context, sc scope.Scope, at time.Time) ([]ExpiringPartner, error) {
	rows, err := s.db.Pool.Query(ctx, `SELECT p.id, p.name, max(s.expires_at) FROM partners p JOIN signing_secrets s ON s.partner_id = p.id
		WHERE p.status = 'approved' AND s.state = 'active' AND (s.expires_at IS NULL OR s.expires_at > $1)
		AND ($2 OR p.id = ANY ($3))
		GROUP BY p.id HAVING bool_and(s.expires_at IS NOT NULL AND s.expires_at < $4) ORDER BY 3, 1 LIMIT $5`,
		s.clock.Now(), sc.All(), append([]uuid.UUID{}, sc.IDs()...), at, maxExpiring)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ExpiringPartner])
	return all, postgres.Translate(err)
}
