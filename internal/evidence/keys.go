package evidence

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"time"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/evidence/pack"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Keys manages the keys that sign packs. The private keys are sealed with the platform key.
type Keys struct {
	db    *postgres.DB
	keys  *keyring.Keys
	clock clock.Clock
	by    audit.Actor
}

// NewKeys returns the signing keys in a database.
func NewKeys(db *postgres.DB, keys *keyring.Keys, c clock.Clock) *Keys {
	return &Keys{db, keys, c, audit.Service}
}

// By returns a copy whose changes are attributed to the given actor.
func (k *Keys) By(actor audit.Actor) *Keys { return &Keys{k.db, k.keys, k.clock, actor} }

var errSealed = apperr.New(apperr.Unavailable, "evidence_key",
	"The key that signs evidence packs cannot be decrypted. Ask an operator to check that keys.platform_keys contains every platform key.")

var (
	errNoKey = apperr.New(apperr.Unavailable, "no_evidence_key",
		"There is no key that signs evidence packs yet. A node creates it when it starts. Try again in a minute.")
	errUnknownKey = apperr.New(apperr.NotFound, "evidence_key",
		"There is no evidence key with this ID. The published keys contain the IDs of all keys.")
	errRevokeTime = apperr.New(apperr.Invalid, "revocation_time",
		"The time cannot be in the future, and it cannot be later than a revocation of the same key that is already recorded.")
)

// ContentType is the media type of the published public keys.
const ContentType = "application/jwk-set+json"

// PublicKeys contains the published public keys as a JWK set.
type PublicKeys struct{ JSON []byte }

// LoadPublicKeys returns all public keys, including retired ones, newest first.
func (k *Keys) LoadPublicKeys(ctx context.Context) (*PublicKeys, error) {
	var rows []models.EvidenceKey
	if err := k.db.Gorm.WithContext(ctx).Omit("sealed").Order("created_at DESC, id").Find(&rows).Error; err != nil {
		return nil, postgres.Translate(err)
	}
	all := make([]pack.PublicKey, len(rows))
	for i, row := range rows {
		all[i] = pack.PublicKey{ID: row.ID, Key: row.PublicKey, From: row.CreatedAt}
		if row.RetiredAt != nil {
			all[i].Until = *row.RetiredAt
		}
		if row.RevokedAt != nil {
			all[i].Revoked = *row.RevokedAt
		}
	}
	text, err := pack.MarshalKeys(all)
	return &PublicKeys{text}, err
}

// Ensure creates the first key if there is none. Each node calls it when it starts, so that users who download
// packs do not create keys.
func (k *Keys) Ensure(ctx context.Context) error {
	row, err := active(k.db.Gorm.WithContext(ctx))
	if err == nil && row.ID == "" {
		err = k.change(ctx, func(tx *gorm.DB) error {
			if row, err = active(tx); err != nil || row.ID != "" {
				return err // another node has created the key
			}
			_, err = k.create(tx, "evidence.create_key")
			return err
		})
	}
	return postgres.Translate(err)
}

// signingKey returns the id of the active key and its private key.
func (k *Keys) signingKey(ctx context.Context) (kid string, key ed25519.PrivateKey, err error) {
	row, err := active(k.db.Gorm.WithContext(ctx))
	if err != nil {
		return "", nil, postgres.Translate(err)
	}
	if row.ID == "" {
		return "", nil, errNoKey
	}
	seed, err := k.keys.Open(keyring.EvidenceKey, []byte(row.ID), row.Sealed)
	if err != nil {
		return "", nil, errSealed.WithCause(err)
	}
	defer clear(seed)
	return row.ID, ed25519.NewKeyFromSeed(seed), nil
}

// active returns the active key, or a zero row if there is none.
func active(tx *gorm.DB) (row models.EvidenceKey, err error) {
	err = tx.Where("retired_at IS NULL").Limit(1).Find(&row).Error
	return row, err
}

// change runs a function in a transaction. Other changes to the keys wait until it ends.
func (k *Keys) change(ctx context.Context, do func(*gorm.DB) error) error {
	return k.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('evidence keys'))`).Error; err != nil {
			return err
		}
		return do(tx)
	})
}

// create adds the active key, with its audit event.
func (k *Keys) create(tx *gorm.DB, action string) (row models.EvidenceKey, err error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return row, err
	}
	seed := private.Seed()
	defer clear(seed)
	defer clear(private)
	row = models.EvidenceKey{PublicKey: public, CreatedAt: k.clock.Now().UTC().Truncate(time.Microsecond)}
	if row.ID, err = pack.KeyID(public); err != nil {
		return row, err
	}
	row.Sealed = k.keys.Seal(keyring.EvidenceKey, []byte(row.ID), seed)
	if err := tx.Omit("retired_at", "revoked_at").Create(&row).Error; err != nil {
		return row, err
	}
	return row, audit.Write(tx, row.CreatedAt, k.by,
		audit.Event{Action: action, Kind: "platform", After: map[string]any{"key": row.ID}})
}

// Rotate creates a new key and retires the active one, whose private key is deleted. It returns the id of
// the new key.
func (k *Keys) Rotate(ctx context.Context) (kid string, err error) {
	err = k.change(ctx, func(tx *gorm.DB) error {
		kid, err = k.rotate(tx)
		return err
	})
	return kid, postgres.Translate(err)
}

func (k *Keys) rotate(tx *gorm.DB) (kid string, err error) {
	retire := tx.Model(&models.EvidenceKey{}).Where("retired_at IS NULL").
		Updates(map[string]any{"retired_at": k.clock.Now(), "sealed": nil})
	if retire.Error != nil {
		return "", retire.Error
	}
	row, err := k.create(tx, "evidence.rotate_key")
	return row.ID, err
}

// Revoke marks a key as stolen: packs that were signed with it after the given time are not valid. If the key is
// active, Revoke also replaces it, like Rotate. A revocation cannot be withdrawn, but the time can be made earlier.
// Revoking a key again with the same time changes nothing.
//
// Errors: NotFound if there is no such key, and Invalid if the time is in the future or later than before.
func (k *Keys) Revoke(ctx context.Context, kid string, since time.Time) error {
	since = since.UTC().Truncate(time.Second) // as published
	if since.After(k.clock.Now()) {
		return errRevokeTime
	}
	err := k.change(ctx, func(tx *gorm.DB) error {
		var row models.EvidenceKey
		q := tx.Omit("sealed").Where("id = ?", kid).Limit(1).Find(&row)
		switch {
		case q.Error != nil:
			return q.Error
		case q.RowsAffected == 0:
			return errUnknownKey
		case row.RevokedAt != nil && since.Equal(*row.RevokedAt):
			return nil
		case row.RevokedAt != nil && since.After(*row.RevokedAt):
			return errRevokeTime
		}
		if row.RetiredAt == nil {
			if _, err := k.rotate(tx); err != nil {
				return err
			}
		}
		if err := tx.Model(&models.EvidenceKey{}).Where("id = ?", kid).Update("revoked_at", since).Error; err != nil {
			return err
		}
		e := audit.Event{
			Action: "evidence.revoke_key", Kind: "platform", After: map[string]any{"key": kid, "revoked_at": since},
		}
		if row.RevokedAt != nil {
			e.Before = map[string]any{"revoked_at": row.RevokedAt.UTC()}
		}
		return audit.Write(tx, k.clock.Now(), k.by, e)
	})
	return postgres.Translate(err)
}

// SealUses returns the number of keys sealed with each platform key.
func (k *Keys) SealUses(ctx context.Context) (map[keyring.KeyID]int64, error) {
	row, err := active(k.db.Gorm.WithContext(ctx))
	if err != nil {
		return nil, postgres.Translate(err)
	}
	uses := map[keyring.KeyID]int64{}
	if key, ok := keyring.KeyOf(row.Sealed); ok {
		uses[key] = 1
	}
	return uses, nil
}

// Reseal seals the active key with the first platform key, and reports whether it was sealed with another
// one. It can be run again at any time.
func (k *Keys) Reseal(ctx context.Context) (moved bool, err error) {
	err = k.change(ctx, func(tx *gorm.DB) error {
		row, err := active(tx)
		if key, ok := keyring.KeyOf(row.Sealed); err != nil || !ok || key == k.keys.IDs()[0] {
			return err
		}
		seed, err := k.keys.Open(keyring.EvidenceKey, []byte(row.ID), row.Sealed)
		if err != nil {
			return errSealed.WithCause(err)
		}
		defer clear(seed)
		res := tx.Model(&models.EvidenceKey{}).Where("id = ?", row.ID).
			Update("sealed", k.keys.Seal(keyring.EvidenceKey, []byte(row.ID), seed))
		moved = res.RowsAffected > 0
		return res.Error
	})
	return moved, postgres.Translate(err)
}
