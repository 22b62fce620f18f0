package intake

import (
	"slices"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
)

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

// newWrongSignature returns nil if the post was not rejected because of its signature, or if there is no
// room for it.
func (in *Intake) newWrongSignature(
	req PostRequest, sender owner, start time.Time, err error,
) *wrongSignature {
	f := apperr.As(err)
	if f == nil || f.Code != signing.ErrSignature.Code {
		return nil
	}
	unknownAccount := f.Reason == string(models.OutcomeUnknownAccount)
	if !unknownAccount && f.Reason != signing.ErrSignature.Reason {
		return nil
	}
	claim, malformed := signing.Check(req.Headers, start)
	if malformed != nil || !in.Traffic.reserve(len(req.Body)) {
		return nil
	}
	w := &wrongSignature{claim, slices.Clone(req.Body), []*partners.Partner{sender.partner()}, unknownAccount}
	if sender.partner() == nil {
		w.partners = in.Directory.Get().Shared()
	}
	if sender.quoted != nil {
		w.partners = append([]*partners.Partner{sender.quoted}, w.partners...)
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

// findSecrets fills in the secrets of posts with a wrong signature, if they are known (see findSecret). The
// response was sent before, so its time reveals nothing.
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

// findSecret sets the partner and secret of a post if it was signed with a secret that expired or was revoked
// in the last 30 days, or with an active secret, but with a partnerId that no account has. Only the latter
// counts as a signed post, because a secret may have been revoked after others had learned it. findSecret adds
// the number of checked signatures to checks.
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
