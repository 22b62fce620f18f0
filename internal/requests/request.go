package requests

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// ID formats the id of a privacy request.
func ID(request uuid.UUID) string { return id.Format(id.PrivacyRequest, request) }

// NewRequest is a privacy request to be created. The consumer's leads are found by email address, phone
// number or lead ids. What was searched for is not stored.
type NewRequest struct {
	Kind       models.PrivacyRequestKind
	Law        models.PrivacyLaw // "" for the configured law
	Reference  string            // such as a case number; optional; must not identify the consumer
	ReceivedOn time.Time         // date
	DueOn      time.Time         // date that the authority set for a complaint
	Person     leads.Person
	Leads      []uuid.UUID
	Identity   Identity // optional; see CheckIdentity
}

// maxRequestAge is how long ago a new request may have been received.
const maxRequestAge = 366 * 24 * time.Hour

// check returns the request with a trimmed reference, or an Invalid error at the field that is not valid.
func (n NewRequest) check(today time.Time) (NewRequest, error) {
	var err error
	if n.Reference, err = plaintext.Check("reference", n.Reference, plaintext.MaxNote); err != nil {
		return n, err
	}
	if n.Identity != (Identity{}) {
		if n.Identity, err = n.Identity.valid(); err != nil {
			return n, err
		}
	}
	switch {
	case Kinds.Label(n.Kind) == "":
		return n, apperr.InvalidField("kind", apperr.InvalidValue, "Choose the kind of request.")
	case Laws.Label(n.Law) == "":
		return n, apperr.InvalidField("law", apperr.InvalidValue, "Choose the law that applies.")
	case n.Kind == models.RequestComplaint && n.DueOn.Before(n.ReceivedOn):
		return n, apperr.InvalidField("due_on", apperr.Required, "Enter the day by which the authority expects an answer.")
	case n.ReceivedOn.After(today.AddDate(0, 0, 1)) || // it may be tomorrow where the user is
		today.Sub(n.ReceivedOn) > maxRequestAge:
		return n, apperr.InvalidField("received_on", apperr.InvalidValue,
			"Enter the day on which the request was received. It cannot be in the future or more than a year ago.")
	case n.Person.Email == "" && n.Person.Phone == "" && len(n.Leads) == 0 && n.Kind != models.RequestComplaint:
		return n, apperr.InvalidField("email", apperr.Required, "Enter an email address, a phone number or lead IDs.")
	}
	return n, nil
}

func (s *Service) today() time.Time { return s.clock.Now().UTC().Truncate(24 * time.Hour) }

// Create finds the consumer's leads at all partners and creates a privacy request for them. If there
// are none, the request is created without leads. All leads of a request are connected by shared email addresses
// or phone numbers; AddLeads adds exceptions.
//
// Errors: Invalid at the field that is not valid, TooMany if the user has reached the daily search limit, and
// those of erasure.Service.CheckJournal.
func (s *Service) Create(ctx context.Context, n NewRequest) (r models.PrivacyRequest, err error) {
	n.Law = cmp.Or(n.Law, s.DefaultLaw())
	if n, err = n.check(s.today()); err != nil {
		return r, err
	}
	if err := s.erasures.CheckJournal(ctx); err != nil {
		return r, err
	}
	rows, err := s.findLeads(ctx, n)
	if err != nil {
		return r, err
	}
	now := s.clock.Now()
	due := Deadline(n.Law, n.Kind, n.ReceivedOn)
	if n.Kind == models.RequestComplaint {
		due = n.DueOn
	}
	r = models.PrivacyRequest{
		ID: id.New(now), Kind: n.Kind, Law: n.Law, Reference: n.Reference, ReceivedOn: n.ReceivedOn, DueOn: due,
		CreatedBy: s.by.Name, CreatedAt: now, EmailSearched: n.Person.Email != "", PhoneSearched: n.Person.Phone != "",
	}
	for i := range rows {
		rows[i].RequestID = r.ID
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(&r).Error; err != nil {
			return err
		}
		if len(rows) > 0 {
			if err := tx.CreateInBatches(rows, postgres.Batch).Error; err != nil {
				return err
			}
		}
		if err := s.logRequest(tx, r.ID, "privacy_request.create",
			map[string]any{"kind": r.Kind, "law": r.Law, "leads": len(rows)}); err != nil {
			return err
		}
		if n.Identity == (Identity{}) {
			return nil
		}
		return s.apply(tx, r.ID, s.identityEdit(n.Identity))
	})
	return r, err
}

func (s *Service) logRequest(tx *gorm.DB, request uuid.UUID, action string, after map[string]any) error {
	return audit.Write(tx, s.clock.Now(), s.by, audit.Event{
		Action: action, Kind: "privacy_request", Object: ID(request), After: after,
	})
}

var (
	errNoRequest = apperr.New(apperr.NotFound, "privacy_request", "Not Found")
	errClosed    = apperr.New(apperr.Conflict, "request_closed",
		"This request is closed. Reload the page to see its outcome.")
	errIdentity = apperr.New(apperr.Conflict, "identity_unchecked",
		"First record how the consumer's identity was checked.")
	errSameUser = apperr.New(apperr.Forbidden, "same_person",
		"You checked the consumer's identity, so another user must do this (setting privacy.require_approval).")
	errCommandIdentity = apperr.New(apperr.Forbidden, "identity_by_command",
		"The identity check was recorded on the command line, which does not name a user. "+
			"Record it again in the console. Then another user must carry out this step, because privacy.require_approval is set.")
	errWrongKind = apperr.New(apperr.Conflict, "request_kind",
		"The consumer did not ask for this. Create another privacy request for what the consumer asked for.")
	errLeadsFound = apperr.New(apperr.Conflict, "leads_found",
		"Leads were found for this request. Choose another outcome.")
	errAlreadyErased = apperr.New(apperr.Conflict, "already_erased", "All leads of this request have already been erased, or are being erased. Close the request, and inform the consumer.")
	errNothingFound  = apperr.New(apperr.Conflict, "nothing_found",
		"No leads were found for this request. Close the request, and inform the consumer.")
)

// Request is a privacy request with the numbers of its leads.
type Request struct {
	models.PrivacyRequest
	Leads    int // that were found
	Partners int // of these leads
	Erased   int // of these leads, together with their consent
	Pending  int // of these leads; such an erasure is not finished
	Own      int // of these leads; erased, or being erased, by this request or after it was received
	Differ   int // of these leads; they have a different email address or phone number
	ToNotify int // partners that must still be notified of the erasure
}

// Open reports whether something remains to be done: the consumer must be answered, or a partner notified.
func (r Request) Open() bool { return r.Outcome == nil || r.ToNotify > 0 }

// HasErased reports whether there are leads whose erasure concerns their partners.
func (r Request) HasErased() bool { return r.Own > 0 }

// partlyErased reports whether some leads were erased, but not the others.
func (r Request) partlyErased() bool { return r.Own > 0 && r.Left() > 0 }

// AlreadyErased reports whether all leads were erased, or are being erased, for a reason other than this request.
func (r Request) AlreadyErased() bool {
	return r.Leads > 0 && r.Erased+r.Pending == r.Leads && r.Own == 0
}

// Left returns the number of leads that were not erased, and whose erasure is not pending.
func (r Request) Left() int { return r.Leads - r.Erased - r.Pending }

// Overdue reports whether the deadline of an open request has passed.
func (r Request) Overdue(now time.Time) bool {
	return r.Open() && now.UTC().Truncate(24*time.Hour).After(r.DueOn)
}

// requestCounts looks up each lead's erasures with a subquery for each table. With a join, Postgres might read all
// entries for each lead.
var requestCounts = postgres.Columns[models.PrivacyRequest]("privacy_requests") + `, l.leads, l.partners, l.erased, l.pending, l.own, l.differ, ` + toNotifySQL + ` AS to_notify FROM privacy_requests, LATERAL (
	SELECT count(*) AS leads, count(DISTINCT r.partner_id) AS partners, count(*) FILTER (WHERE e.done) AS erased, count(*) FILTER (WHERE NOT e.done) AS pending,
		count(*) FILTER (WHERE r.erased) AS own, count(*) FILTER (WHERE r.email_number > 1 OR r.phone_number > 1) AS differ
	FROM privacy_request_leads r LEFT JOIN LATERAL (
		SELECT bool_or((SELECT n.erased_at IS NOT NULL FROM erasure_entries n WHERE n.sequence = x.sequence
			AND NOT n.keeps_consent)) AS done
		FROM erasures x WHERE x.lead_id = r.lead_id) e ON true
	WHERE r.request_id = privacy_requests.id) l`

// toNotifySQL counts the partners of a request that must still be notified of the erasure.
var toNotifySQL = `CASE WHEN notices_due THEN (SELECT count(DISTINCT l.partner_id) FROM privacy_request_leads l
	WHERE l.request_id = privacy_requests.id AND ` + notifiable + ` AND NOT EXISTS (
		SELECT FROM privacy_request_notices n WHERE n.request_id = l.request_id AND n.partner_id = l.partner_id)) ELSE 0 END`

// noticesOpenSQL selects requests with partners to notify. It counts them, because there can be none although
// notices_due is set.
var noticesOpenSQL = `notices_due AND ` + toNotifySQL + ` > 0`

// Request returns a privacy request, or a NotFound error.
func (s *Service) Request(ctx context.Context, request uuid.UUID) (r Request, err error) {
	q := s.db.Gorm.WithContext(ctx).Raw("SELECT "+requestCounts+" WHERE privacy_requests.id = ?", request).Scan(&r)
	if q.Error == nil && q.RowsAffected == 0 {
		return r, errNoRequest
	}
	return r, postgres.Translate(q.Error)
}

// Open returns at most size open requests, in the order in which they are due. If after is not uuid.Nil, the list
// continues after this request.
func (s *Service) Open(ctx context.Context, after uuid.UUID, size int) ([]Request, error) {
	return s.list(ctx, `(outcome IS NULL OR `+noticesOpenSQL+`)`,
		`(due_on, id) > (SELECT due_on, id FROM privacy_requests WHERE id = ?)`, `due_on, id`, after, size)
}

// ToNotify is like Open, but returns only requests with partners to notify.
func (s *Service) ToNotify(ctx context.Context, after uuid.UUID, size int) ([]Request, error) {
	return s.list(ctx, noticesOpenSQL, `(due_on, id) > (SELECT due_on, id FROM privacy_requests WHERE id = ?)`,
		`due_on, id`, after, size)
}

// Due contains the numbers of open requests, and of partners to notify of erasures.
type Due struct {
	Unanswered, UnansweredOverdue int
	ToNotify, ToNotifyOverdue     int // partners, counted once for each request
}

// CountDue counts what is due, and what is overdue.
func (s *Service) CountDue(ctx context.Context) (d Due, err error) {
	err = s.db.Gorm.WithContext(ctx).Raw(`SELECT count(*) FILTER (WHERE outcome IS NULL) AS unanswered,
		count(*) FILTER (WHERE outcome IS NULL AND due_on < @today) AS unanswered_overdue,
		coalesce(sum(`+toNotifySQL+`), 0) AS to_notify,
		coalesce(sum(`+toNotifySQL+`) FILTER (WHERE due_on < @today), 0) AS to_notify_overdue
		FROM privacy_requests WHERE outcome IS NULL OR notices_due`, sql.Named("today", s.today())).Scan(&d).Error
	return d, postgres.Translate(err)
}

// Closed returns at most size closed requests, latest first. If after is not uuid.Nil, the list continues after this
// request.
func (s *Service) Closed(ctx context.Context, after uuid.UUID, size int) ([]Request, error) {
	return s.list(ctx, `outcome IS NOT NULL AND NOT (`+noticesOpenSQL+`)`,
		`(closed_at, id) < (SELECT closed_at, id FROM privacy_requests WHERE id = ?)`, `closed_at DESC, id DESC`, after, size)
}

func (s *Service) list(
	ctx context.Context, where, behind, order string, after uuid.UUID, size int,
) (all []Request, err error) {
	q := s.db.Gorm.WithContext(ctx).Model(&models.PrivacyRequest{}).Select("id").Where(where).Order(order).Limit(size)
	if after != uuid.Nil {
		q = q.Where(behind, after)
	}
	err = s.db.Gorm.WithContext(ctx).Raw("SELECT "+requestCounts+" WHERE privacy_requests.id IN (?) ORDER BY "+order, q).
		Scan(&all).Error
	return all, postgres.Translate(err)
}

// DeleteOld deletes requests that were closed, and whose last partner was notified, before the
// configured number of days. It returns their number. It leaves out requests whose export is stored, because an
// erasure must find it.
func (s *Service) DeleteOld(ctx context.Context) (int64, error) {
	before := s.clock.Now().AddDate(0, 0, -s.settings.RequestDays)
	n, err := postgres.InBatches(ctx, s.db.Pool, `DELETE FROM privacy_requests WHERE id IN (
		SELECT id FROM privacy_requests WHERE outcome IS NOT NULL AND NOT (`+noticesOpenSQL+`) AND closed_at < $1
		AND file_id IS NULL
			AND NOT EXISTS (SELECT FROM privacy_request_notices n WHERE n.request_id = id AND n.notified_at >= $1)
			LIMIT $2)`, before)
	if err != nil {
		return n, fmt.Errorf("delete old privacy requests: %w", err)
	}
	return n, nil
}
