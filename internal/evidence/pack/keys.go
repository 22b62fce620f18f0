package pack

import (
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// KeyPath is the path of the URL at which a platform publishes its public keys.
const KeyPath = "/.well-known/pingpost-evidence-key"

// KeyID returns the id of a public key, which is its JWK thumbprint (RFC 7638).
func KeyID(key ed25519.PublicKey) (string, error) {
	sum, err := (&jose.JSONWebKey{Key: key}).Thumbprint(crypto.SHA256)
	return base64.RawURLEncoding.EncodeToString(sum), err
}

// PublicKey verifies packs.
type PublicKey struct {
	ID    string
	Key   ed25519.PublicKey
	From  time.Time
	Until time.Time // zero while the key signs new packs
	// Revoked is the time at which the key was stolen, or zero. Packs signed later are not valid.
	Revoked time.Time
}

// jwk is a public key as a JWK (RFC 8037). The members nbf and exp are those of RFC 7519.
type jwk struct {
	Type      string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	ID        string `json:"kid"`
	Use       string `json:"use,omitempty"`
	Algorithm string `json:"alg,omitempty"`
	From      int64  `json:"nbf,omitempty"`
	Until     int64  `json:"exp,omitempty"`

	Revoked *revocation `json:"revoked,omitempty"`
}

// revocation has the members of OpenID Federation 1.0, section 8.7.
type revocation struct {
	At     int64  `json:"revoked_at"`
	Reason string `json:"reason"`
}

type jwkSet struct {
	Keys []jwk `json:"keys"`
}

// MarshalKeys returns public keys as a JWK set (RFC 7517).
func MarshalKeys(keys []PublicKey) ([]byte, error) {
	set := jwkSet{Keys: []jwk{}}
	for _, k := range keys {
		point := base64.RawURLEncoding.EncodeToString(k.Key)
		public := jwk{"OKP", "Ed25519", point, k.ID, "sig", string(jose.EdDSA), k.From.Unix(), 0, nil}
		if !k.Until.IsZero() {
			public.Until = k.Until.Unix()
		}
		if !k.Revoked.IsZero() {
			public.Revoked = &revocation{k.Revoked.Unix(), "compromised"}
			public.Until = min(public.Until, public.Revoked.At) // for programs that only know exp
		}
		set.Keys = append(set.Keys, public)
	}
	return json.Marshal(set)
}

// ParseKeys reads a JWK set. It skips keys of other types.
func ParseKeys(text []byte) (keys []PublicKey, err error) {
	var set jwkSet
	if err := json.Unmarshal(text, &set); err != nil || set.Keys == nil {
		return nil, errors.New("not a JWK set")
	}
	for _, key := range set.Keys {
		if key.Type != "OKP" || key.Curve != "Ed25519" {
			continue
		}
		x, err := base64.RawURLEncoding.Strict().DecodeString(key.X)
		if err != nil || len(x) != ed25519.PublicKeySize {
			return nil, errors.New("not an Ed25519 key")
		}
		k := PublicKey{Key: x, From: time.Unix(key.From, 0).UTC()}
		if key.Until != 0 {
			k.Until = time.Unix(key.Until, 0).UTC()
		}
		if key.Revoked != nil {
			k.Revoked = time.Unix(key.Revoked.At, 0).UTC()
		}
		if k.ID, err = KeyID(k.Key); err != nil || k.ID != key.ID {
			return nil, errors.New("the ID of a key is not its thumbprint")
		}
		keys = append(keys, k)
	}
	return keys, nil
}
