package devstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// Partner is a demonstration partner, as the ready file shows it.
type Partner struct {
	Slug     string             `json:"slug"`
	Name     string             `json:"name"`
	Signing  models.SigningMode `json:"signing"`
	Secret   string             `json:"secret"`
	Accounts []Account          `json:"accounts"`

	// Status is for the terminal: it is not in the ready file.
	Status models.PartnerStatus `json:"-"`
}

// Account is one of a demonstration partner's accounts.
type Account struct {
	PartnerID string `json:"partnerId"`
	Default   bool   `json:"default"`
}

// demonstration is one partner for each signing mode, with two ordinary accounts.
var demonstration = []Partner{
	{Slug: "harbour-leads", Name: "Harbour Leads", Signing: models.SigningRequired,
		Accounts: []Account{{"harbour-search", true}, {"harbour-social", false}}},
	{Slug: "meadow-media", Name: "Meadow Media", Signing: models.SigningReportOnly,
		Accounts: []Account{{"meadow-web", true}, {"meadow-mail", false}}},
	{Slug: "tinker-forms", Name: "Tinker Forms", Signing: models.SigningOff,
		Accounts: []Account{{"tinker-main", true}, {"tinker-trial", false}}},
}

// SeedPartners makes the demonstration partners where they are missing and
// returns them with their secrets, which are the same on every start. keys are
// those that service seals with.
func (s *Stack) SeedPartners(ctx context.Context, service *partners.Service, keys *keyring.Keys) ([]Partner, error) {
	out := make([]Partner, 0, len(demonstration))
	for _, p := range demonstration {
		if err := s.demonstrate(ctx, service, keys, &p); err != nil {
			return nil, fmt.Errorf("the demonstration partner %s: %w", p.Slug, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// demonstrate resumes wherever an earlier start was interrupted.
func (s *Stack) demonstrate(ctx context.Context, service *partners.Service, keys *keyring.Keys, p *Partner) error {
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
		if _, err := service.CreateAccount(ctx, row, partners.NewAccount{Identifier: p.Accounts[i].PartnerID}); err != nil {
			return err
		}
	}
	secrets, err := service.Secrets(ctx, row)
	if err != nil {
		return err
	}
	if err := s.checkKey(keys, secrets); err != nil {
		return err
	}
	p.Secret = s.Keys.Secrets[p.Slug]
	if !slices.ContainsFunc(secrets, func(one models.SigningSecret) bool { return isDisplayable(one, p.Secret) }) {
		// None yet, or revoked or retired since. Written down before it is stored:
		// the other way round it would be lost.
		p.Secret = partners.GenerateSecret()
		s.Keys.Secrets[p.Slug] = p.Secret
		if err := writeJSON(filepath.Join(s.dir, keysFile), s.Keys); err != nil {
			return err
		}
		if _, err := service.ImportSecret(ctx, row, "demonstration", p.Secret); err != nil {
			return err
		}
	}
	p.Status = row.Status
	if row.Status == models.PartnerPending { // new; a suspended one stays as its operator wanted it
		p.Status = models.PartnerApproved
		return service.SetStatus(ctx, scope.System, row.ID, p.Status)
	}
	return nil
}

// checkKey refuses a platform key that does not open what the folder holds.
// Later on it would be told of a configuration that dev does not read.
func (s *Stack) checkKey(keys *keyring.Keys, secrets []models.SigningSecret) error {
	for _, one := range secrets {
		if one.State != models.SecretActive {
			continue
		}
		if _, err := keys.Open(keyring.SigningSecret, one.ID[:], one.Sealed); err != nil {
			return fmt.Errorf("the platform_key in %s is not the one that sealed its secret: put the file back from a copy, or remove %s to begin anew",
				filepath.Join(s.dir, keysFile), s.dir)
		}
	}
	return nil
}

// isDisplayable reports whether the row is the remembered secret, active and not
// retiring: what is printed must work until the next start.
func isDisplayable(row models.SigningSecret, remembered string) bool {
	return row.State == models.SecretActive && row.RetiresAt == nil && remembered != "" &&
		strings.HasPrefix(remembered, row.Prefix) && strings.HasSuffix(remembered, row.LastFour)
}

// nameOf tells data folders of different places apart.
func nameOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:4])
}
