package intake

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/models"
)

// maxQueuedRequests limits the number of logged requests in memory between two writes.
const maxQueuedRequests = 5_000

// requestSet identifies the requests of one kind of one partner.
type requestSet struct {
	partner uuid.UUID
	kind    models.RequestKind
}

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

// largest returns the set with the most requests in the queue. The parameter adding is the set whose new
// request is being added. If this set has at least an average share of the queue, largest returns it
// without a search. A flood of requests of one partner therefore costs little.
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
