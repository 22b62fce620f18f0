package intake

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
)

func numberedPartner(i int) (u uuid.UUID) {
	binary.BigEndian.PutUint32(u[:], uint32(i+1))
	return u
}

func numberedSet(i int) requestSet { return requestSet{partner: numberedPartner(i)} }

// addNumbered adds a request for the partner with the given number. Its request id contains
// number.
func (q *requestQueue) addNumbered(partner, number int) int64 {
	r := loggedRequest{TrafficKey: TrafficKey{Partner: numberedPartner(partner)}}
	binary.BigEndian.PutUint64(r.id[:], uint64(number))
	return q.add(r)
}

// The queue has a limited size and keeps the newest requests of each set in order. A
// partner with less than an equal share never loses a request to a partner with more.
func TestRequestQueueIsSharedFairly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 0))
		keep, partners := 1+random.IntN(3*maxQueuedRequests), 1+random.IntN(300)
		q := newRequestQueue(keep)
		sent := make([]int, partners)
		var lost int64
		for range 3 * maxQueuedRequests {
			p := int(float64(partners) * random.ExpFloat64() / 8) // a few send most
			p = min(p, partners-1)
			sent[p]++
			lost += q.addNumbered(p, sent[p])
		}
		size, share := 0, maxQueuedRequests/len(q.sets)
		for p, n := range sent {
			list := q.sets[numberedSet(p)]
			size += len(list)
			if len(list) > keep || len(list) < min(n, keep, share) {
				t.Errorf("seed %d: partner %d has %d of %d; limit %d, share %d", seed, p, len(list), n, keep, share)
			}
			for i, r := range list {
				if got, want := binary.BigEndian.Uint64(r.id[:]), uint64(n-len(list)+1+i); got != want {
					t.Fatalf("seed %d: partner %d: got number %d, want %d", seed, p, got, want)
				}
			}
		}
		if size != q.size || size > maxQueuedRequests {
			t.Errorf("seed %d: got %d requests, size is %d", seed, size, q.size)
		}
		if size < maxQueuedRequests && lost > 0 {
			t.Errorf("seed %d: %d dropped from a queue that is not full", seed, lost)
		}
	}
}

// The newest request is added even if there are more partners than the queue has room for.
func TestRequestQueueWithMorePartnersThanCapacity(t *testing.T) {
	t.Parallel()
	q := newRequestQueue(200)
	for i := range 2 * maxQueuedRequests {
		if lost := q.addNumbered(i, 1); lost != int64(i/maxQueuedRequests) {
			t.Fatalf("partner %d: %d dropped", i, lost)
		}
		if len(q.sets[numberedSet(i)]) != 1 || q.size != min(i+1, maxQueuedRequests) {
			t.Fatalf("partner %d has %d of %d", i, len(q.sets[numberedSet(i)]), q.size)
		}
	}
}

func BenchmarkRequestQueueFlooded(b *testing.B) {
	q := newRequestQueue(200)
	for i := range 2 * maxQueuedRequests {
		q.addNumbered(i%1000, i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q.addNumbered(0, i)
	}
}
