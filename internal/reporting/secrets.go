package reporting

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// The constant unsigned is an SQL list of the outcomes of unsigned posts that were accepted.
const unsigned = `'` + string(models.OutcomeDeliveredUnsigned) + `', '` + string(models.OutcomeDeliveredReportOnly) +
	`', '` +
	string(models.OutcomeReplayedUnsigned) + `', '` + string(models.OutcomeReplayedReportOnly) + `'`

// The constant accepted is the SQL condition for an accepted post.
const accepted = `endpoint = 'post' AND outcome IN ('` + string(models.OutcomeDelivered) + `', '` +
	string(models.OutcomeReplayed) + `', ` + unsigned + `)`

// The constant signed is the SQL condition for a signed post. It must match the condition of the index
// traffic_minutes_by_secret.
const signed = `secret_id <> '00000000-0000-0000-0000-000000000000'`

// SecretTraffic is the number of accepted posts that were signed with one secret in one step of a range.
type SecretTraffic struct {
	Secret uuid.UUID
	Step   int // index of the step in the range
	Posts  int64
}

// Secrets counts a partner's accepted posts by signing secret and step of the range. The counts show
// whether the partner has stopped using an old secret.
func (r *Reader) Secrets(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, within Range,
) ([]SecretTraffic, error) {
	return ofPartner[SecretTraffic](ctx, r.db, sc, partner, `SELECT secret_id, floor(extract(epoch FROM minute - $2) / $4)::int, sum(count)::bigint
		FROM traffic_minutes WHERE partner_id = $1 AND minute >= $2 AND minute < $3 AND `+signed+` AND `+accepted+`
		GROUP BY 1, 2 ORDER BY 1, 2`, within.From, within.Until, within.Step.Seconds())
}

// LastUsed returns the minute in which each of a partner's secrets last signed a post, including
// posts that were rejected. Secrets without recorded traffic are not in the result.
func (r *Reader) LastUsed(ctx context.Context, sc scope.Scope, partner uuid.UUID) (map[uuid.UUID]time.Time, error) {
	type use struct {
		Secret uuid.UUID
		At     time.Time
	}
	uses, err := ofPartner[use](ctx, r.db, sc, partner, `SELECT s.id, t.minute FROM signing_secrets s,
		LATERAL (SELECT minute FROM traffic_minutes m WHERE m.secret_id = s.id AND `+signed+
		` ORDER BY minute DESC LIMIT 1) t WHERE s.partner_id = $1`)
	last := make(map[uuid.UUID]time.Time, len(uses))
	for _, u := range uses {
		last[u.Secret] = u.At
	}
	return last, err
}

// SignedPosts reports which signed posts of a partner have been accepted.
type SignedPosts struct {
	Any  bool
	Live bool // for an account that is not a sandbox
}

// SignedPosts reports which signed posts of a partner have been accepted. It considers only recorded traffic.
func (r *Reader) SignedPosts(ctx context.Context, sc scope.Scope, partner uuid.UUID) (s SignedPosts, err error) {
	const posts = `SELECT FROM signing_secrets s JOIN traffic_minutes m ON m.secret_id = s.id AND m.` + signed + ` AND ` + accepted
	rows, err := ofPartner[SignedPosts](ctx, r.db, sc, partner, `SELECT EXISTS (`+posts+` WHERE s.partner_id = $1),
		EXISTS (`+posts+` JOIN accounts a ON a.id = m.account_id AND NOT a.sandbox WHERE s.partner_id = $1)`)
	if err == nil && len(rows) > 0 {
		s = rows[0]
	}
	return s, err
}

// AccountUnsigned counts an account's accepted posts. The unsigned ones would be rejected if
// signatures were required.
type AccountUnsigned struct {
	Account         uuid.UUID
	Posts, Unsigned int64     // Posts includes the unsigned ones
	Last            time.Time // minute of the last unsigned post; zero if all were signed
}

// Unsigned counts the posts that were accepted since the given time, and how many of them were
// unsigned. It returns these numbers for each of a partner's accounts, including sandbox accounts.
func (r *Reader) Unsigned(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, since time.Time,
) ([]AccountUnsigned, error) {
	const ofUnsigned = `FILTER (WHERE outcome IN (` + unsigned + `))`
	return ofPartner[AccountUnsigned](ctx, r.db, sc, partner, `SELECT account_id, sum(count)::bigint, coalesce(sum(count) `+ofUnsigned+`, 0)::bigint,
		coalesce(max(minute) `+ofUnsigned+
		`, '0001-01-01') FROM traffic_minutes WHERE partner_id = $1 AND minute >= $2 AND `+accepted+`
		GROUP BY 1 ORDER BY 1`, since)
}

// PartnerUnsigned is the number of leads that a partner delivered in unsigned posts.
type PartnerUnsigned struct {
	Partner uuid.UUID
	Name    string
	Leads   int64
}

// MostUnsigned returns the n partners that have delivered the most leads in unsigned posts since the
// given time. It counts only accounts that do not currently require signatures. The parameter platform
// is the platform's default signing mode.
func (r *Reader) MostUnsigned(
	ctx context.Context, sc scope.Scope, platform models.SigningMode, since time.Time, n int,
) ([]PartnerUnsigned, error) {
	rows, err := r.db.Pool.Query(ctx, `SELECT t.partner_id, p.name, sum(t.count)::bigint FROM traffic_minutes t
			JOIN partners p ON p.id = t.partner_id JOIN accounts a ON a.id = t.account_id
		WHERE t.minute >= $2 AND t.endpoint = 'post' AND t.outcome IN ($1, $3) AND ($4 OR t.partner_id = ANY ($5))
			AND coalesce(nullif(a.signing_mode, $8), nullif(p.signing_mode, $9), $7) <> $10
		GROUP BY 1, 2 ORDER BY 3 DESC, 1 LIMIT $6`,
		string(models.OutcomeDeliveredReportOnly), since, string(models.OutcomeDeliveredUnsigned), sc.All(), ids(sc), n,
		platform, models.SigningInherit, models.SigningDefault, models.SigningRequired)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[PartnerUnsigned])
	return all, postgres.Translate(err)
}

// ofPartner runs a query with the partner as $1 and returns the rows. It returns no rows if the
// partner is outside the scope.
func ofPartner[T any](
	ctx context.Context, db *postgres.DB, sc scope.Scope, partner uuid.UUID, sql string, args ...any,
) ([]T, error) {
	if !sc.Allows(partner) {
		return nil, nil
	}
	rows, err := db.Pool.Query(ctx, sql, append([]any{partner}, args...)...)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[T])
	return all, postgres.Translate(err)
}
