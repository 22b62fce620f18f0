package leads

import (
	"encoding/json"

	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/payload"
)

// Contact is the plaintext of the envelope: everything personal that a lead may
// hold, and nothing else (D20).
type Contact struct {
	Email   string          `json:"email"`
	Name    string          `json:"name,omitempty"`
	Phone   string          `json:"phone,omitempty"`
	E164    string          `json:"phoneE164,omitempty"`
	Address string          `json:"address,omitempty"`
	Notes   string          `json:"notes,omitempty"`
	Answers json.RawMessage `json:"answers,omitempty"`
}

// Digests are the look-up digests of e-mail and phone under the writing platform
// key, so that a person can be found again without anything readable in the
// clear; phone's is nil when there is none.
func (c Contact) Digests(keys *keyring.Keys) (email, phone []byte) {
	email = keys.Digest(keyring.LookUp, []byte(payload.NormaliseEmail(c.Email)))
	switch {
	case c.E164 != "":
		phone = keys.Digest(keyring.LookUp, []byte(c.E164))
	case c.Phone != "":
		phone = keys.Digest(keyring.LookUp, []byte(c.Phone))
	}
	return email, phone
}
