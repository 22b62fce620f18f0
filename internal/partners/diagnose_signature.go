package partners

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/internal/protocol/signing/diagnose"
	"github.com/pingpost/pingpost/models"
)

// maxTried is the maximum number of secrets that DiagnoseSignature tries. It tries the newest ones.
const maxTried = 100

// DiagnoseSignature finds the secret that a signature was made with. If no secret matches, it looks for
// the mistake in the signature. It tries the partner's newest secrets, including expired and revoked
// ones. It does not store the post. Pasting a body changes its line breaks, so there can be several bodies.
// DiagnoseSignature returns the first one that was signed, or the first one if none was.
func (s *Service) DiagnoseSignature(
	ctx context.Context, sc scope.Scope, partner models.Partner, timestamp, signature string, bodies []string,
) (d diagnose.Diagnosis, body string, err error) {
	if !sc.Allows(partner.ID) {
		return d, "", errNoPartner
	}
	var rows []models.SigningSecret
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		q := restrict(tx, sc, "partner_id").Where("partner_id = ?", partner.ID)
		if err := q.Order("created_at DESC, id DESC").Limit(maxTried).Find(&rows).Error; err != nil {
			return err
		}
		return s.auditChange(tx, "signature.check", "partner", id.Format(id.Partner, partner.ID), partner.ID, nil, nil)
	})
	if err != nil {
		return d, "", err
	}
	keys, unread := s.decryptSecrets(rows)
	defer func() {
		for _, k := range keys {
			clear(k.Key)
		}
	}()
	body = signedBody(timestamp, signature, bodies, keys)
	d = diagnose.Signature(timestamp, body, signature, keys, s.clock.Now())
	for _, name := range unread {
		d.Notes = append(d.Notes, "The secret "+name+" was not checked, because no configured platform key can decrypt it.")
	}
	if len(rows) == maxTried {
		d.Notes = append(d.Notes, fmt.Sprintf("Only the newest %d secrets were checked.", maxTried))
	}
	return d, body, nil
}

// signedBody returns the first body that was signed with one of the keys, or the first body if none was.
func signedBody(timestamp, signature string, bodies []string, keys []diagnose.CandidateKey) string {
	seconds, _ := strconv.ParseInt(signing.TrimBlanks(timestamp), 10, 64)
	headers := signing.Headers{Timestamp: []string{timestamp}, Signature: []string{signature}}
	claim, err := signing.Check(headers, time.Unix(seconds, 0))
	if err != nil {
		return bodies[0]
	}
	for _, body := range bodies {
		for _, k := range keys {
			if signing.NewVerifier(k.Key).Verify(claim, []byte(body)) {
				return body
			}
		}
	}
	return bodies[0]
}

// decryptSecrets decrypts secrets for a diagnosis. The result unread contains the names of the secrets
// that could not be decrypted.
func (s *Service) decryptSecrets(rows []models.SigningSecret) (keys []diagnose.CandidateKey, unread []string) {
	now := s.clock.Now()
	for _, row := range rows {
		name := "“" + row.Label + "” (…" + row.LastFour + ")"
		plain, err := s.keys.Open(keyring.SigningSecret, row.ID[:], row.Sealed)
		if err != nil {
			unread = append(unread, name)
			continue
		}
		state := StateOf(row, now)
		if state == StateExpiring {
			state = diagnose.KeyActive
		}
		keys = append(keys, diagnose.CandidateKey{Name: name, Key: plain, State: state})
	}
	return keys, unread
}
