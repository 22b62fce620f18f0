package models

import "time"

// EvidenceKey is a key that signs evidence packs. One key signs new packs. The others are retired, and
// only their public keys are stored.
type EvidenceKey struct {
	ID        string `gorm:"primaryKey"` // the JWK thumbprint of the public key
	PublicKey []byte
	Sealed    []byte // the private key; nil if the key is retired
	CreatedAt time.Time
	RetiredAt *time.Time
	RevokedAt *time.Time // packs that were signed later are not valid
}
