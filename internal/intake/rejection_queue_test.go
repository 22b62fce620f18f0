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

// addNumbered adds a rejection for the partner with the given number. Its request id contains
// number.
func (q *rejectionQueue) addNumbered(partner, number int) int64 {
	r := rejection{TrafficKey: TrafficKey{Partner: numberedPartner(partner)}}
	binary.BigEndian.PutUint64(r.request[:], uint64(number))
	return q.add(r)
}

// The queue has a limited size and keeps the newest rejections of each partner in order. A
// partner with less than an equal share never loses a rejection to a partner with more.
func TestRejectionQueueIsSharedFairly(t *testing.T) {
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 0))
		keep, partners := 1+random.IntN(3*maxQueuedRejections), 1+random.IntN(300)
		q := newRejectionQueue(keep)
		sent := make([]int, partners)
		var lost int64
		for range 3 * maxQueuedRejections {
			p := int(float64(partners) * random.ExpFloat64() / 8) // a few send most
			p = min(p, partners-1)
			sent[p]++
			lost += q.addNumbered(p, sent[p])
		}
		size, share := 0, maxQueuedRejections/len(q.of)
		for p, n := range sent {
			list := q.of[numberedPartner(p)]
			size += len(list)
			if len(list) > keep || len(list) < min(n, keep, share) {
				t.Errorf("seed %d: partner %d has %d of %d; limit %d, share %d", seed, p, len(list), n, keep, share)
			}
			for i, r := range list {
				if got, want := binary.BigEndian.Uint64(r.request[:]), uint64(n-len(list)+1+i); got != want {
					t.Fatalf("seed %d: partner %d: got number %d, want %d", seed, p, got, want)
				}
			}
		}
		if size != q.size || size > maxQueuedRejections {
			t.Errorf("seed %d: got %d rejections, size is %d", seed, size, q.size)
		}
		if size < maxQueuedRejections && lost > 0 {
			t.Errorf("seed %d: %d dropped from a queue that is not full", seed, lost)
		}
	}
}

// The newest rejection is added even if there are more partners than the queue has room for.
func TestRejectionQueueWithMorePartnersThanCapacity(t *testing.T) {
	q := newRejectionQueue(200)
	for i := range 2 * maxQueuedRejections {
		if lost := q.addNumbered(i, 1); lost != int64(i/maxQueuedRejections) {
			t.Fatalf("partner %d: %d dropped", i, lost)
		}
		if len(q.of[numberedPartner(i)]) != 1 || q.size != min(i+1, maxQueuedRejections) {
			t.Fatalf("partner %d has %d of %d", i, len(q.of[numberedPartner(i)]), q.size)
		}
	}
}

func BenchmarkRejectionQueueFlooded(b *testing.B) {
	q := newRejectionQueue(200)
	for i := range 2 * maxQueuedRejections {
		q.addNumbered(i%1000, i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q.addNumbered(0, i)
	}
}
