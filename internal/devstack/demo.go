package devstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/internal/fault"
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

// Demonstrate makes the demonstration partners where they are missing and
// returns them with their secrets, which are the same on every start.
func (s *Stack) Demonstrate(ctx context.Context, service *partners.Service) ([]Partner, error) {
	out := make([]Partner, 0, len(demonstration))
	for _, p := range demonstration {
		if err := s.demonstrate(ctx, service, &p); err != nil {
			return nil, fmt.Errorf("making the demonstration partner %s: %w", p.Slug, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// demonstrate resumes wherever an earlier start was interrupted.
func (s *Stack) demonstrate(ctx context.Context, service *partners.Service, p *Partner) error {
	row, err := service.Find(ctx, scope.System, p.Slug)
	if f := fault.As(err); f != nil && f.Code == fault.NotFound {
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
	p.Secret = s.Keys.Secrets[p.Slug]
	if !slices.ContainsFunc(secrets, func(one models.SigningSecret) bool { return shows(one, p.Secret) }) {
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
	if row.Status != models.PartnerApproved { // new, or suspended while trying things out
		return service.SetStatus(ctx, scope.System, row.ID, models.PartnerApproved)
	}
	return nil
}

// shows reports whether the row is the remembered secret, active and not
// retiring: what is printed must work until the next start.
func shows(row models.SigningSecret, remembered string) bool {
	return row.State == models.SecretActive && row.RetiresAt == nil && remembered != "" &&
		strings.HasPrefix(remembered, row.Prefix) && strings.HasSuffix(remembered, row.LastFour)
}

// nameOf tells data folders of different places apart.
func nameOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:4])
}
