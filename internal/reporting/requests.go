package reporting

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// Request is a request in the request log. It contains the names of its invalid fields, but never their
// values (decisions 24, 65).
type Request struct {
	ID         int64
	At         time.Time
	Partner    uuid.UUID `gorm:"column:partner_id"`
	RequestID  uuid.UUID
	Endpoint   string
	Account    uuid.UUID `gorm:"column:account_id"` // uuid.Nil if it is not known
	Secret     uuid.UUID `gorm:"column:secret_id"`  // that signed the post, even if it was no longer valid
	Lead       uuid.UUID `gorm:"column:lead_id"`    // that the response contained
	Outcome    string
	Status     int
	Code       string   // of the response; "" if the request was accepted
	Message    string   // of the response; "" if the request was accepted
	Detail     string   // why and where the JSON is not valid, or ""
	Fields     []string `gorm:"serializer:json"`
	DurationUS int64    `gorm:"column:duration_us"`
}

// Took returns the time from the request's arrival to its outcome.
func (r Request) Took() time.Duration { return time.Duration(r.DurationUS) * time.Microsecond }

// RequestFilter selects requests. A field with its zero value matches all requests.
type RequestFilter struct {
	Partner  uuid.UUID
	Endpoint string
	Outcome  string
	Rejected bool // only rejected requests
	Since    time.Time
}

// RequestPage is a page of requests, newest first.
type RequestPage struct {
	Requests     []Request
	Newer, Older bool // whether there are newer or older requests
}

// Requests returns a page of the request log.
func (r *Reader) Requests(
	ctx context.Context, sc scope.Scope, f RequestFilter, p postgres.Page[int64],
) (out RequestPage, err error) {
	q := f.apply(requests(ctx, r.db, sc))
	if err := p.Apply(q.Select(requestColumns), "id").Find(&out.Requests).Error; err != nil {
		return out, postgres.Translate(err)
	}
	out.Requests, out.Newer, out.Older = postgres.SplitPage(p, out.Requests)
	return out, nil
}

// RequestGroup is a group of requests that differ only in their time, ID and duration. The embedded
// request is the newest one.
type RequestGroup struct {
	Request
	Count int64
	First time.Time // when the oldest one arrived
	Place int       // among the groups of the same kind, from 1
}

// MaxRequestGroups is how many groups of each kind of request a page lists.
const MaxRequestGroups = 50

// RequestGroups groups the requests in the log, and returns the groups with the newest requests, up to limit groups of
// each kind of request. Each kind has its own limit, so that requests that anyone can send do not hide signed posts.
// The result complete reports whether these are all groups.
func (r *Reader) RequestGroups(
	ctx context.Context, sc scope.Scope, f RequestFilter, limit int,
) (groups []RequestGroup, complete bool, err error) {
	// Requests that differ only in the position of the error in their JSON belong to the same group.
	const equal = `kind, partner_id, endpoint, account_id, secret_id, outcome, status, code, message,
		split_part(detail, ' ', 1), fields`
	grouped := f.apply(requests(ctx, r.db, sc)).Group(equal).
		Select(`max(id) AS newest, count(*) AS count, min(at) AS first,
			row_number() OVER (PARTITION BY kind ORDER BY max(id) DESC) AS place`)
	err = r.db.Gorm.WithContext(ctx).Table("(?) AS g", grouped).Joins("JOIN api_requests ON id = newest").
		Select(requestColumns+", count, first, place").Where("place <= ?", limit+1).
		Order("newest DESC").Find(&groups).Error
	all := len(groups)
	groups = slices.DeleteFunc(groups, func(g RequestGroup) bool { return g.Place > limit })
	return groups, len(groups) == all, postgres.Translate(err)
}

const requestColumns = `id, at, partner_id, request_id, endpoint, account_id, secret_id, lead_id, outcome, status, code,
	message, detail, to_json(fields) AS fields, duration_us`

// requests returns a query for the requests in the scope. Only a scope with all partners includes the requests that
// belong to no partner.
func requests(ctx context.Context, db *postgres.DB, sc scope.Scope) *gorm.DB {
	q := db.Gorm.WithContext(ctx).Table("api_requests")
	if sc.All() {
		return q
	}
	return q.Where("partner_id IN ?", append(sc.IDs(), uuid.Max)) // uuid.Max, because GORM writes an empty list as NULL
}

func (f RequestFilter) apply(q *gorm.DB) *gorm.DB {
	if f.Partner != uuid.Nil {
		q = q.Where("partner_id = ?", f.Partner)
	}
	if f.Endpoint != "" {
		q = q.Where("endpoint = ?", f.Endpoint)
	}
	if f.Outcome != "" {
		q = q.Where("outcome = ?", f.Outcome)
	}
	if f.Rejected {
		q = q.Where("status >= 400")
	}
	if !f.Since.IsZero() {
		q = q.Where("at >= ?", f.Since)
	}
	return q
}

// FindRequest returns the logged request or the ping with the given request ID, and whether it was found.
// A post that delivered a lead is found by its lead.
func (r *Reader) FindRequest(ctx context.Context, sc scope.Scope, request uuid.UUID) (Request, bool, error) {
	var found []Request
	err := requests(ctx, r.db, sc).Select(requestColumns).Where("request_id = ?", request).Limit(1).Find(&found).Error
	if err != nil {
		return Request{}, false, postgres.Translate(err)
	}
	if len(found) > 0 {
		return found[0], true, nil
	}
	return r.findPing(ctx, sc, request)
}

// PostDuration returns how long the post with the given request ID took, and whether it was found. Only posts
// that delivered a lead are found.
func (r *Reader) PostDuration(ctx context.Context, request uuid.UUID) (took time.Duration, found bool, err error) {
	var us int64
	err = r.db.Pool.QueryRow(ctx, `SELECT duration_us FROM post_durations WHERE request_id = $1`, request).Scan(&us)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	return time.Duration(us) * time.Microsecond, err == nil, postgres.Translate(err)
}

// pingWindow is the maximum difference between the time in a ping's request ID and the time at which it
// was priced. The ping's body arrives between these two times.
const pingWindow = time.Minute

// findPing searches the ping log. A request ID contains its time, so the search reads only the pings of
// the minute after that time.
func (r *Reader) findPing(ctx context.Context, sc scope.Scope, request uuid.UUID) (Request, bool, error) {
	ping := Request{RequestID: request, Endpoint: "ping", Status: 200}
	from := id.Time(request)
	err := r.db.Pool.QueryRow(ctx, `SELECT issued_at, coalesce(partner_id, $4), outcome, duration_us FROM pings
		WHERE issued_at >= $1 AND issued_at < $2 AND request_id = $3`,
		postgres.PlanEachTime, from, from.Add(pingWindow), request, uuid.Nil).
		Scan(&ping.At, &ping.Partner, &ping.Outcome, &ping.DurationUS)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !sc.Allows(ping.Partner) {
		return Request{}, false, nil
	}
	return ping, err == nil, postgres.Translate(err)
}
