package intake

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/signing"
)

const (
	// maxWrongSignatures limits the size, in bytes, of the bodies with a wrong signature in memory.
	maxWrongSignatures = 4 << 20
	// maxEndedChecks limits how many signatures are checked between two writes of the log. A check takes
	// a few microseconds.
	maxEndedChecks = 2_000
)

// wrongSignature contains a post with a wrong signature until it is known whether it was made with a
// secret that has expired or was revoked.
type wrongSignature struct {
	claim    signing.Claim
	body     []byte
	partners []*partners.Partner // that may have signed the post
}

// newWrongSignature returns nil if the post was not rejected because of a wrong signature, or if there is
// no room for it. The partner is nil if it is not known.
func (in *Intake) newWrongSignature(
	req PostRequest, partner *partners.Partner, start time.Time, err error,
) *wrongSignature {
	f := apperr.As(err)
	if f == nil || f.Reason != signing.ErrSignature.Reason {
		return nil
	}
	claim, malformed := signing.Check(req.Headers, start)
	if malformed != nil || !in.Traffic.reserve(len(req.Body)) {
		return nil
	}
	w := &wrongSignature{claim: claim, body: slices.Clone(req.Body), partners: []*partners.Partner{partner}}
	if partner == nil {
		w.partners = in.Directory.Get().Shared()
	}
	return w
}

// reserve reserves memory for a body until the next write of the log. It reports whether there was enough.
func (t *Traffic) reserve(size int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wrongBytes+size > maxWrongSignatures {
		return false
	}
	t.wrongBytes += size
	return true
}

// findEndedSecrets fills in the secrets of posts that were signed with a secret that has expired or was
// revoked in the last 30 days. The response was sent before, so its time reveals nothing.
func (q *requestQueue) findEndedSecrets() {
	checks := 0
	for set, list := range q.sets {
		for i := range list {
			r := &list[i]
			if r.wrong == nil {
				continue
			}
			if checks < maxEndedChecks {
				r.Partner, r.Secret = r.wrong.endedSecret(r.at, r.Partner, &checks)
			}
			r.wrong = nil
		}
		if set.partner == uuid.Nil { // the posts whose partner is now known move to its set
			delete(q.sets, set)
			q.size -= len(list)
			for _, r := range list {
				if r.Partner != uuid.Nil {
					q.add(r)
				}
			}
		}
	}
}

// endedSecret returns the ended secret that signed the post and its partner, or the given partner if there
// is no such secret. It adds the number of checked signatures to checks.
func (w *wrongSignature) endedSecret(at time.Time, partner uuid.UUID, checks *int) (owner, secret uuid.UUID) {
	for _, p := range w.partners {
		for _, s := range p.Secrets {
			if !s.RecentlyEnded(at) {
				continue
			}
			*checks++
			if s.Verify(w.claim, w.body) {
				return p.ID, s.ID
			}
		}
	}
	return partner, uuid.Nil
}
