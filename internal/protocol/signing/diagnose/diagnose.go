// Package diagnose explains why a partner's signature is invalid.
package diagnose

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/protocol/signing"
)

// MaxDiagnosed is the maximum size of a body that is diagnosed, in bytes. Larger posts are
// rejected (decision 22).
const MaxDiagnosed = 64 << 10

// These are the states of a CandidateKey.
const (
	KeyActive  = "active"
	KeyExpired = "expired" // the expiry has passed
	KeyRevoked = "revoked"
)

// CandidateKey is a secret that a signature may have been made with. Name identifies it
// in the diagnosis, which never contains Key.
type CandidateKey struct {
	Name  string
	Key   []byte
	State string
}

// Diagnosis contains the secret that a signature was made with, and the mistakes that explain
// an invalid signature.
type Diagnosis struct {
	Matches      bool     // the signature has a valid form and was made with an active secret
	Key          int      // index of the secret; -1 if no secret explains the signature
	Causes       []string // codes of the mistakes, the verdict's code first; empty if the signature is valid
	Verdict, Fix string   // Fix is "" if nothing is wrong
	Notes        []string // further remarks
	Signed       []byte   // the bytes that the service expects to be signed
}

type finding struct{ cause, verdict, fix string }

// Signature checks a signature in the same way as signing.Check and Verifier.Verify. If it is
// invalid, Signature looks for common mistakes. A timestamp that is too far from now is reported,
// but does not make the signature invalid, because the post may have been sent earlier.
func Signature(timestamp, body, signature string, keys []CandidateKey, now time.Time) Diagnosis {
	timestamp = signing.TrimBlanks(timestamp)
	d := Diagnosis{Key: -1, Signed: []byte(timestamp + "." + body)}
	switch {
	case len(body) > MaxDiagnosed:
		d.Causes = []string{"body_too_large"}
		d.Verdict = fmt.Sprintf("The body has %d bytes. Posts with more than %d bytes are rejected before their signature is checked.",
			len(body), MaxDiagnosed)
		d.Fix = "Send a shorter body."
		return d
	case len(keys) == 0:
		d.Causes = []string{"no_secret"}
		d.Verdict, d.Fix = "This partner has no signing secret.", "Create a secret and send it to the partner."
		return d
	}
	sig := readSignature(signing.TrimBlanks(signature))
	sent := readTimestamp(timestamp, now)
	var found []finding
	for _, f := range []finding{sig.wrong, sent.wrong} {
		if f.verdict != "" {
			found = append(found, f)
		}
	}
	d.Notes = append(d.Notes, sig.note)
	if sig.mac != nil {
		found = append(found, d.explain(newMatcher(sig.mac, keys), timestamp, body, sent, keys, len(found) > 0)...)
	}
	d.conclude(found, sent, keys)
	return d
}

func (d *Diagnosis) explain(
	t *matcher, timestamp, body string, sent sentTime, keys []CandidateKey, malformed bool,
) (found []finding) {
	if len(t.mac) == sha256.Size {
		if d.Key = t.hmac(d.Signed); d.Key < 0 {
			f, key := t.explain(timestamp, body, sent)
			d.Key, found = key, append(found, f)
		}
	} else {
		d.Key = t.otherHash(d.Signed) // readSignature has already reported the wrong hash
	}
	if t.overBudget() {
		d.Notes = append(d.Notes,
			"Some combinations of mistakes were not checked, because the body is long and the partner has many secrets.")
	}
	if d.Key < 0 {
		return found
	}
	right := len(found) == 0
	if key := keys[d.Key]; key.State != KeyActive {
		found = append(found, finding{
			"secret_" + key.State,
			"The signature was made with secret " + key.Name + ", which " + stateText(key.State) + ".",
			"Sign with an active secret.",
		})
	} else if !right || malformed {
		d.Notes = append(d.Notes, "The secret is correct: "+key.Name+".")
	}
	d.Matches = len(found) == 0 && !malformed
	return found
}

func stateText(state string) string {
	if state == KeyRevoked {
		return "was revoked"
	}
	return "has expired"
}

// conclude makes the first finding the verdict and adds the others to the notes.
func (d *Diagnosis) conclude(found []finding, sent sentTime, keys []CandidateKey) {
	for _, f := range slices.Concat(found, []finding{sent.outside}) {
		if f.cause != "" {
			d.Causes = append(d.Causes, f.cause)
		}
	}
	switch {
	case len(found) > 0:
		d.Verdict, d.Fix = found[0].verdict, found[0].fix
		for _, f := range found[1:] {
			d.Notes = append(d.Notes, f.verdict+" "+f.fix)
		}
		if sent.outside.verdict != "" {
			d.Notes = append(d.Notes, sent.outside.verdict+" "+sent.outside.fix)
		}
	case sent.outside.verdict != "":
		d.Verdict = "The signature is valid. It was made with secret " + keys[d.Key].Name + ". " + sent.outside.verdict
		d.Fix = sent.outside.fix
	default:
		d.Verdict = "The signature is valid. It was made with secret " + keys[d.Key].Name + "."
	}
	kept := d.Notes[:0]
	for _, note := range d.Notes {
		if note = strings.TrimSpace(note); note != "" {
			kept = append(kept, note)
		}
	}
	d.Notes = kept
}
