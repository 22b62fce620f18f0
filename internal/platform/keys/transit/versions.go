package transit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hashicorp/vault/api"
)

// Rotate creates a new version of the key, which is used from then on. A node's identity is not
// allowed to do this, so Rotate needs a different identity.
func (w *Wrapper) Rotate(ctx context.Context) error {
	_, err := w.write(ctx, "rotate", w.keyPath()+"/rotate", nil)
	return err
}

func (w *Wrapper) keyPath() string { return w.mount + "/keys/" + w.key }

// Versions describes the versions of the key in Vault.
type Versions struct {
	Created       map[int]time.Time // when the versions that may decrypt were created
	MinDecryption int               // the oldest version that may decrypt
	MinEncryption int               // the oldest version that may encrypt; 0 if only the newest may
	MinAvailable  int               // the oldest version that was not deleted; 0 if none was
}

// CurrentAt returns the version that was current at a time, or 0 if Vault does not know it. Older versions
// had been replaced by then.
func (v Versions) CurrentAt(at time.Time) (version int) {
	for n, created := range v.Created {
		if !created.After(at) {
			version = max(version, n)
		}
	}
	return version
}

// Versions reads the versions of the key. It needs the same identity as Expire.
func (w *Wrapper) Versions(ctx context.Context) (v Versions, err error) {
	body, err := w.call(ctx, "read_key", func(ctx context.Context) (*api.Response, error) {
		return w.vault.Logical().ReadRawWithContext(ctx, w.keyPath())
	})
	if err != nil {
		return v, err
	}
	var response struct {
		Data struct {
			Keys          map[string]int64 `json:"keys"` // when each version was created, in Unix time
			MinDecryption int              `json:"min_decryption_version"`
			MinEncryption int              `json:"min_encryption_version"`
			MinAvailable  int              `json:"min_available_version"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &response); err != nil || len(response.Data.Keys) == 0 {
		return v, errors.New("the response from Vault does not describe a key that encrypts")
	}
	d := response.Data
	v = Versions{
		Created: map[int]time.Time{}, MinDecryption: d.MinDecryption, MinEncryption: d.MinEncryption,
		MinAvailable: d.MinAvailable,
	}
	for text, created := range d.Keys {
		n, err := strconv.Atoi(text)
		if err != nil {
			return v, errors.New("the response from Vault has a key version that is not a number")
		}
		v.Created[n] = time.Unix(created, 0)
	}
	return v, nil
}

// Expire deletes the versions of the key before the given one. This cannot be undone. Data keys that these versions
// encrypted can never be decrypted again. It needs an identity that is allowed to do this, and nothing else.
func (w *Wrapper) Expire(ctx context.Context, v Versions, before int) error {
	// Vault deletes only versions that may neither decrypt nor encrypt.
	minimum := fmt.Appendf(nil, `{"min_decryption_version":%d,"min_encryption_version":%d}`, max(v.MinDecryption, before),
		max(v.MinEncryption, before))
	if _, err := w.write(ctx, "configure", w.keyPath()+"/config", minimum); err != nil {
		return err
	}
	_, err := w.write(ctx, "trim", w.keyPath()+"/trim", fmt.Appendf(nil, `{"min_available_version":%d}`, before))
	return err
}
