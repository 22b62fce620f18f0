package intake

import (
	"time"

	"github.com/google/uuid"
)

// maxQueuedRejections limits the number of rejections in memory between two writes.
const maxQueuedRejections = 5_000

type rejection struct {
	TrafficKey
	request uuid.UUID
	at      time.Time
	fields  []string
}

// rejectionQueue holds the most recent rejections of each partner until they are written. They are
// ordered from oldest to newest. If the queue is full, the oldest rejection of the partner with the most
// rejections is dropped.
type rejectionQueue struct {
	keep int // maximum per partner, both here and in the database
	size int
	of   map[uuid.UUID][]rejection
}

func newRejectionQueue(keep int) *rejectionQueue {
	return &rejectionQueue{keep: keep, of: map[uuid.UUID][]rejection{}}
}

// add adds a rejection to the queue. It returns how many rejections were dropped because the queue was
// full.
func (q *rejectionQueue) add(r rejection) (lost int64) {
	switch mine := len(q.of[r.Partner]); {
	case mine >= q.keep:
		q.removeOldest(r.Partner)
	case q.size >= maxQueuedRejections:
		q.removeOldest(q.longest(r.Partner))
		lost = 1
	}
	q.of[r.Partner] = append(q.of[r.Partner], r)
	q.size++
	return lost
}

// longest returns the partner with the most rejections in the queue. The parameter adding is the partner
// whose new rejection is being added. If this partner has at least an average share of the queue,
// longest returns it without a search. A flood of rejections for one partner therefore costs little.
func (q *rejectionQueue) longest(adding uuid.UUID) uuid.UUID {
	if mine := len(q.of[adding]); mine > 0 && mine >= maxQueuedRejections/len(q.of) {
		return adding
	}
	var longest uuid.UUID
	for partner, list := range q.of {
		if len(list) > len(q.of[longest]) {
			longest = partner
		}
	}
	return longest
}

func (q *rejectionQueue) removeOldest(partner uuid.UUID) {
	if q.of[partner] = q.of[partner][1:]; len(q.of[partner]) == 0 {
		delete(q.of, partner)
	}
	q.size--
}
