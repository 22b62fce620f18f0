// Package diagnose finds out what is wrong with a signature, for the partner who made it.
package diagnose

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/signing"
)

// MaxDiagnosed bounds the body that is diagnosed: a post has no more (decision 22).
const MaxDiagnosed = 64 << 10

// The states of a CandidateKey key.
const (
	KeyActive  = "active"
	KeyRetired = "retired"
	KeyRevoked = "revoked"
)

// CandidateKey is a secret that a signature may have been made with. Name tells it from
// others in the diagnosis, in which Key never is.
type CandidateKey struct {
	Name  string
	Key   []byte
	State string
}

// Diagnosis says which secret made a signature, or the first mistake that explains it.
type Diagnosis struct {
	Matches      bool     // the signature is one of an active secret, in the form that is accepted
	Key          int      // of the secrets that were given; -1 when none explains the signature
	Causes       []string // the mistakes by name, that of the verdict first; none for a right signature
	Verdict, Fix string   // Fix is empty if nothing is wrong
	Notes        []string // what else there is to know
	Signed       []byte   // what the service takes to be signed
}

// finding is a mistake, and how it is mended.
type finding struct{ cause, verdict, fix string }

// Signature judges a signature as signing.Check and Verify do, and when it is wrong tries what
// partners get wrong. A post that was sent a while ago is out of the window now: that
// is told, and does not make its signature wrong.
func Signature(timestamp, body, signature string, keys []CandidateKey, now time.Time) Diagnosis {
	timestamp = signing.TrimBlanks(timestamp)
	d := Diagnosis{Key: -1, Signed: []byte(timestamp + "." + body)}
	switch {
	case len(body) > MaxDiagnosed:
		d.Causes = []string{"body_too_large"}
		d.Verdict = fmt.Sprintf("The body has %d bytes, and a post at most %d: it was refused before its signature was looked at.",
			len(body), MaxDiagnosed)
		d.Fix = "Send less."
		return d
	case len(keys) == 0:
		d.Causes = []string{"no_secret"}
		d.Verdict, d.Fix = "This partner has no secret that a signature could be made with.", "Make a secret, and hand it over."
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
		found = append(found, d.explain(newTrial(sig.mac, keys), timestamp, body, sent, keys, len(found) > 0)...)
	}
	d.conclude(found, sent, keys)
	return d
}

// explain finds the secret and what is wrong with a signature whose headers are well formed.
func (d *Diagnosis) explain(
	t *matcher, timestamp, body string, sent sentTime, keys []CandidateKey, malformed bool,
) (found []finding) {
	if len(t.mac) == sha256.Size {
		if d.Key = t.hmac(d.Signed); d.Key < 0 {
			f, key := t.explain(timestamp, body, sent)
			d.Key, found = key, append(found, f)
		}
	} else {
		d.Key = t.otherHash(d.Signed) // that it is another hash was found before
	}
	if t.overBudget() {
		d.Notes = append(d.Notes, "The body is long and the secrets are many: not every combination of mistakes was tried.")
	}
	if d.Key < 0 {
		return found
	}
	right := len(found) == 0
	if key := keys[d.Key]; key.State != KeyActive {
		found = append(found, finding{
			"secret_" + key.State,
			"The signature was made with the secret " + key.Name + ", which is " + key.State + ".",
			"Sign with a secret that is active.",
		})
	} else if !right || malformed {
		d.Notes = append(d.Notes, "The secret is the right one: "+key.Name+".")
	}
	d.Matches = len(found) == 0 && !malformed
	return found
}

// conclude puts the first finding into the verdict and the others into the notes.
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
			d.Notes = append(d.Notes, "Besides: "+f.verdict+" "+f.fix)
		}
		if sent.outside.verdict != "" {
			d.Notes = append(d.Notes, sent.outside.verdict+" "+sent.outside.fix)
		}
	case sent.outside.verdict != "":
		d.Verdict = "The signature is right: it was made with the secret " + keys[d.Key].Name + ". " + sent.outside.verdict
		d.Fix = sent.outside.fix
	default:
		d.Verdict = "The signature is right: it was made with the secret " + keys[d.Key].Name + "."
	}
	kept := d.Notes[:0]
	for _, note := range d.Notes {
		if note = strings.TrimSpace(note); note != "" {
			kept = append(kept, note)
		}
	}
	d.Notes = kept
}
