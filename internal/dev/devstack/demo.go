package devstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/models"
)

// Partner is a demo partner, as it appears in the file that `pingpost dev --ready-file` writes.
type Partner struct {
	Slug     string             `json:"slug"`
	Name     string             `json:"name"`
	Signing  models.SigningMode `json:"signing"`
	Secret   string             `json:"secret"`
	Accounts []Account          `json:"accounts"`

	// Status is only printed; it is not in the file.
	Status models.PartnerStatus `json:"-"`
}

// Account is an account of a demo partner.
type Account struct {
	PartnerID string `json:"partner_id"`
	Default   bool   `json:"default"`
}

var demoPartners = []Partner{
	{Slug: "harbour-leads", Name: "Harbour Leads", Signing: models.SigningRequired,
		Accounts: []Account{{"harbour-search", true}, {"harbour-social", false}}},
	{Slug: "meadow-media", Name: "Meadow Media", Signing: models.SigningReportOnly,
		Accounts: []Account{{"meadow-web", true}, {"meadow-mail", false}}},
	{Slug: "tinker-forms", Name: "Tinker Forms", Signing: models.SigningOff,
		Accounts: []Account{{"tinker-main", true}, {"tinker-trial", false}}},
}

// SeedPartners creates the demo partners that are missing and returns all of them with their secrets,
// which are the same on every start. The parameter keys must contain the keys that the service uses.
func (s *Stack) SeedPartners(ctx context.Context, service *partners.Service, keys *keyring.Keys) ([]Partner, error) {
	out := make([]Partner, 0, len(demoPartners))
	for _, p := range demoPartners {
		if err := s.seedPartner(ctx, service, keys, &p); err != nil {
			return nil, fmt.Errorf("creating demo partner %s: %w", p.Slug, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// seedPartner creates a demo partner, or its missing parts if an earlier start was interrupted.
func (s *Stack) seedPartner(ctx context.Context, service *partners.Service, keys *keyring.Keys, p *Partner) error {
	row, err := service.Find(ctx, scope.System, p.Slug)
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		row, err = service.Create(ctx, partners.NewPartner{Slug: p.Slug, Name: p.Name, Signing: p.Signing})
	}
	if err != nil {
		return err
	}
	accounts, err := service.Accounts(ctx, row)
	if err != nil {
		return err
	}
	for i := len(accounts); i < len(p.Accounts); i++ {
		if _, err := service.CreateAccount(ctx, scope.System, row, partners.NewAccount{Identifier: p.Accounts[i].PartnerID}); err != nil {
			return err
		}
	}
	secrets, err := service.Secrets(ctx, scope.System, row)
	if err != nil {
		return err
	}
	if err := s.checkKey(keys, secrets); err != nil {
		return err
	}
	p.Secret = s.Keys.Secrets[p.Slug]
	if !slices.ContainsFunc(secrets, func(row models.SigningSecret) bool { return isDisplayable(row, p.Secret) }) {
		// There is no secret yet, or it was revoked or has an expiry. Save the new one in the file
		// first, so that it is not lost if the start is interrupted.
		p.Secret = partners.GenerateSecret()
		s.Keys.Secrets[p.Slug] = p.Secret
		if err := writeJSON(filepath.Join(s.dir, keysFile), s.Keys); err != nil {
			return err
		}
		if _, err := service.ImportSecret(ctx, scope.System, row, "demo", p.Secret); err != nil {
			return err
		}
	}
	p.Status = row.Status
	if row.Status == models.PartnerPending { // the partner is new; a suspended partner stays suspended
		p.Status = models.PartnerApproved
		return service.SetStatus(ctx, scope.System, row.ID, p.Status)
	}
	return nil
}

// checkKey returns an error if the platform key cannot decrypt the partner's secrets. Without this
// check, the node would report an error about a setting that `pingpost dev` does not use.
func (s *Stack) checkKey(keys *keyring.Keys, secrets []models.SigningSecret) error {
	for _, secret := range secrets {
		if secret.State != models.SecretActive {
			continue
		}
		if _, err := keys.Open(keyring.SigningSecret, secret.ID[:], secret.Sealed); err != nil {
			return fmt.Errorf("the platform_key in %s cannot decrypt the partner's secret: restore the file from a copy, or remove %s to start over without its data",
				filepath.Join(s.dir, keysFile), s.dir)
		}
	}
	return nil
}

// isDisplayable reports whether a saved secret can be printed, because it will work at least until the
// next start. The row must belong to the saved secret, and the secret must be active and have no expiry.
func isDisplayable(row models.SigningSecret, saved string) bool {
	return row.State == models.SecretActive && row.ExpiresAt == nil && saved != "" &&
		strings.HasPrefix(saved, row.Prefix) && strings.HasSuffix(saved, row.LastFour)
}

func nameOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:4])
}
