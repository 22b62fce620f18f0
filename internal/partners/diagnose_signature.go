package partners

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/payload"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/signing/diagnose"
	"github.com/pingpost/pingpost/models"
)

// maxTried is the maximum number of secrets that DiagnoseSignature tries. It tries the newest ones.
const maxTried = 100

// DiagnoseSignature finds the secret that a signature was made with. If no secret matches, it looks for
// the mistake in the signature. It tries the partner's newest secrets, including expired and revoked
// ones. It does not store the post. The body comes from a form, in which browsers end every line with CR
// LF, so DiagnoseSignature tries the body with LF as well.
func (s *Service) DiagnoseSignature(
	ctx context.Context, sc scope.Scope, partner models.Partner, timestamp, body, signature string,
) (diagnose.Diagnosis, error) {
	if !sc.Allows(partner.ID) {
		return diagnose.Diagnosis{}, errNoPartner
	}
	var rows []models.SigningSecret
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		q := restrict(tx, sc, "partner_id").Where("partner_id = ?", partner.ID)
		if err := q.Order("created_at DESC, id DESC").Limit(maxTried).Find(&rows).Error; err != nil {
			return err
		}
		return s.auditChange(tx, "signature.check", "partner", id.Format(id.Partner, partner.ID), partner.ID, nil, nil)
	})
	if err != nil {
		return diagnose.Diagnosis{}, err
	}
	keys, unread := s.decryptSecrets(rows)
	defer func() {
		for _, k := range keys {
			clear(k.Key)
		}
	}()
	d := diagnoseSignature(timestamp, body, signature, keys, s.clock.Now())
	remarks, err := s.accountNotes(ctx, partner, body)
	if err != nil {
		return diagnose.Diagnosis{}, err
	}
	d.Notes = append(d.Notes, remarks...)
	for _, name := range unread {
		d.Notes = append(d.Notes, "The secret "+name+" was not checked, because no configured platform key can decrypt it.")
	}
	if len(rows) == maxTried {
		d.Notes = append(d.Notes, fmt.Sprintf("Only the newest %d secrets were checked.", maxTried))
	}
	return d, nil
}

// accountNotes returns remarks about the account that the body names. A post with a valid signature is
// rejected if this account is unknown or not active (decision 59).
func (s *Service) accountNotes(ctx context.Context, partner models.Partner, body string) (notes []string, err error) {
	accounts, err := s.Accounts(ctx, partner)
	if err != nil {
		return nil, err
	}
	post, _ := payload.ParsePost([]byte(body)) // it contains the partnerId even if another field is invalid
	i := slices.IndexFunc(accounts, func(a models.Account) bool {
		return a.Identifier == post.PartnerID || post.PartnerID == "" && a.IsDefault
	})
	switch {
	case i < 0 && post.PartnerID == "":
		notes = append(notes, "The post is rejected, because the partner has no account.")
	case i < 0:
		notes = append(notes, "The post is rejected, because its partnerId is not one of this partner's accounts. "+
			"Its spelling must match exactly.")
	case accounts[i].Status != models.AccountActive:
		notes = append(notes, "The post is rejected unless it was delivered before, because the account "+
			accounts[i].Identifier+" is suspended.")
	}
	if partner.Status != models.PartnerApproved {
		notes = append(notes, "The post is rejected unless it was delivered before, because the partner is not active.")
	}
	return notes, nil
}

// diagnoseSignature tries the body with LF line breaks first, then with CR LF.
func diagnoseSignature(timestamp, body, signature string, keys []diagnose.CandidateKey, now time.Time) diagnose.Diagnosis {
	plain := strings.ReplaceAll(body, "\r\n", "\n")
	d := diagnose.Signature(timestamp, plain, signature, keys, now)
	if d.Matches || plain == body {
		return d
	}
	if windows := diagnose.Signature(timestamp, body, signature, keys, now); windows.Matches {
		windows.Notes = append(windows.Notes, "The body has CR LF line breaks.")
		return windows
	}
	return d
}

// decryptSecrets decrypts secrets for a diagnosis. The result unread contains the names of the secrets
// that could not be decrypted.
func (s *Service) decryptSecrets(rows []models.SigningSecret) (keys []diagnose.CandidateKey, unread []string) {
	now := s.clock.Now()
	for _, row := range rows {
		name := row.Label + " (…" + row.LastFour + ")"
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
