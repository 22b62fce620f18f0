package intake

import (
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
)

// loggedRequest is a request in the log. It contains no values that were sent.
type loggedRequest struct {
	TrafficKey
	kind    models.RequestKind
	id      uuid.UUID
	at      time.Time
	took    time.Duration
	lead    uuid.UUID // that the response contains, or uuid.Nil
	status  int
	code    apperr.PublicCode // of the error
	message string            // of the error
	detail  string            // why and where the JSON is not valid: "duplicate_name at byte 42"
	fields  []string          // paths of the invalid fields

	wrong *wrongSignature // if an ended secret may have signed the post
}

// requestSet identifies the requests of one kind from one partner.
type requestSet struct {
	partner uuid.UUID
	kind    models.RequestKind
}

func (r loggedRequest) set() requestSet { return requestSet{r.Partner, r.kind} }

var requestColumns = []string{
	"partner_id", "kind", "at", "request_id", "endpoint", "account_id", "secret_id", "lead_id", "outcome", "status",
	"code", "message", "detail", "fields", "duration_us",
}

func (r *loggedRequest) row() []any {
	return []any{
		r.Partner, r.kind, r.at, r.id, r.Endpoint, nullable(r.Account), nullable(r.Secret), nullable(r.lead), r.Outcome,
		r.status, string(r.code), r.message, r.detail, append([]string{}, r.fields...), microseconds(r.took),
	}
}

// maxQueuedRequests limits the number of logged requests in memory between two writes.
const maxQueuedRequests = 5_000

// requestQueue holds the most recent requests of each set until they are written. They are ordered from
// oldest to newest. If the queue is full, the oldest request of the largest set is dropped.
type requestQueue struct {
	keep int // maximum for each set, both here and in the database
	size int
	sets map[requestSet][]loggedRequest
}

func newRequestQueue(keep int) *requestQueue {
	return &requestQueue{keep: keep, sets: map[requestSet][]loggedRequest{}}
}

// add adds a request to the queue. It returns how many requests were dropped because the queue was full.
func (q *requestQueue) add(r loggedRequest) (lost int64) {
	set := r.set()
	switch mine := len(q.sets[set]); {
	case mine >= q.keep:
		q.removeOldest(set)
	case q.size >= maxQueuedRequests:
		q.removeOldest(q.largest(set))
		lost = 1
	}
	q.sets[set] = append(q.sets[set], r)
	q.size++
	return lost
}

// largest returns the set with the most requests in the queue. The parameter adding is the set whose new request is
// being added. If this set has at least an average share of the queue, largest returns it without a search. A flood of
// requests from one partner therefore costs little.
func (q *requestQueue) largest(adding requestSet) requestSet {
	if mine := len(q.sets[adding]); mine > 0 && mine >= maxQueuedRequests/len(q.sets) {
		return adding
	}
	var largest requestSet
	for set, list := range q.sets {
		if len(list) > len(q.sets[largest]) {
			largest = set
		}
	}
	return largest
}

func (q *requestQueue) removeOldest(set requestSet) {
	if q.sets[set] = q.sets[set][1:]; len(q.sets[set]) == 0 {
		delete(q.sets, set)
	}
	q.size--
}

const (
	// maxWrongSignatures limits the size, in bytes, of the bodies with a wrong signature in memory.
	maxWrongSignatures = 4 << 20
	// maxSecretChecks limits how many signatures are checked between two writes of the log. A check takes
	// a few microseconds.
	maxSecretChecks = 2_000
)

// wrongSignature contains a post that was rejected because of its signature until it is known whether it
// was made with one of the partner's secrets.
type wrongSignature struct {
	claim          signing.Claim
	body           []byte
	partners       []*partners.Partner // that may have signed the post
	unknownAccount bool                // the post named a partnerId that no account has
}

// findSecrets fills in the secrets of posts with a wrong signature, if they are known (see findSecret). The responses
// have already been sent, so response times reveal nothing.
func (q *requestQueue) findSecrets() {
	var found []loggedRequest
	checks := 0
	for set, list := range q.sets {
		rest := list[:0]
		for _, r := range list {
			wrong := r.wrong
			r.wrong = nil
			if wrong != nil && checks < maxSecretChecks && wrong.findSecret(&r, &checks) && r.set() != set {
				found = append(found, r)
			} else {
				rest = append(rest, r)
			}
		}
		q.size -= len(list) - len(rest)
		if q.sets[set] = rest; len(rest) == 0 {
			delete(q.sets, set)
		}
	}
	for _, r := range found {
		q.add(r)
	}
}

// findSecret sets the partner and secret of a post if it was signed with a secret that expired or was revoked in the
// last 30 days, or if it was signed with an active secret but has a partnerId that no account has. Only the latter
// counts as a signed post, because a secret may have been revoked after others had learned it. findSecret adds the
// number of checked signatures to checks.
func (w *wrongSignature) findSecret(r *loggedRequest, checks *int) bool {
	for _, p := range w.partners {
		for _, s := range p.Secrets {
			if !s.RecentlyEnded(r.at) && !(w.unknownAccount && s.Active(r.at)) {
				continue
			}
			*checks++
			if s.Verify(w.claim, w.body) {
				r.Partner, r.Secret = p.ID, s.ID
				if s.Active(r.at) {
					r.kind = models.RequestSignedPost
				}
				return true
			}
		}
	}
	return false
}
