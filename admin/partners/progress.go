package partners

import (
	"slices"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// progress is the state of a partner's onboarding.
type progress struct {
	accounts []models.Account
	secrets  []models.SigningSecret // valid ones
	signed   reporting.SignedPosts
}

func (h *Handlers) progress(k *web.Request, p models.Partner) (s progress, err error) {
	if s.accounts, err = h.Partners.Accounts(k.R.Context(), p); err != nil {
		return s, err
	}
	all, err := h.Partners.Secrets(k.R.Context(), k.Scope, p)
	if err != nil {
		return s, err
	}
	for _, step := range all {
		if partners.Valid(step, k.Now) {
			s.secrets = append(s.secrets, step)
		}
	}
	s.signed, err = h.Reporting.SignedPosts(k.R.Context(), k.Scope, p.ID)
	return s, err
}

// standard returns the accounts that are not sandboxes.
func (s progress) standard() []models.Account {
	return slices.DeleteFunc(slices.Clone(s.accounts), func(a models.Account) bool { return a.Sandbox })
}

// onboarded reports whether the partner has delivered a signed lead for a standard account, and signatures are
// required.
func (s progress) onboarded(p models.Partner, platform models.SigningMode) bool {
	return s.signed.Live && s.requiresSigning(p, platform)
}

// requiresSigning reports whether there are standard accounts, and signatures are required for all of them. The
// parameter platform is the platform's default signing mode.
func (s progress) requiresSigning(p models.Partner, platform models.SigningMode) bool {
	if len(s.standard()) == 0 ||
		partners.EffectiveMode(models.SigningInherit, p.SigningMode, platform) != models.SigningRequired {
		return false
	}
	return !slices.ContainsFunc(s.standard(), func(a models.Account) bool {
		return partners.EffectiveMode(a.SigningMode, p.SigningMode, platform) != models.SigningRequired
	})
}

// lastSecretEnd returns the latest expiry of the valid secrets. It is zero if there are no valid
// secrets, or if one of them does not expire.
func (s progress) lastSecretEnd() (at time.Time) {
	for _, secret := range s.secrets {
		if secret.ExpiresAt == nil {
			return time.Time{}
		}
		if secret.ExpiresAt.After(at) {
			at = *secret.ExpiresAt
		}
	}
	return at
}

func needsSecret(p models.Partner) bool {
	return p.Status == models.PartnerApproved && p.SigningMode != models.SigningOff
}

// attention returns the partner's open tasks.
func (s progress) attention(p models.Partner, url string, now time.Time) (all []ui.AttentionItem) {
	need := func(text, path, detail string) {
		all = append(all, ui.AttentionItem{Text: text, URL: url + path, Detail: detail})
	}
	if len(s.accounts) == 0 {
		need("No account", "/accounts/new",
			"Without an account, pings to the partner's base URL get no price, and all posts are rejected.")
	}
	if p.Status == models.PartnerPending && len(s.accounts) > 0 {
		need("Waiting for approval", "/onboarding", "Pending partners get no prices, and their posts are rejected.")
	}
	if i := slices.IndexFunc(s.accounts, func(a models.Account) bool { return a.IsDefault }); i >= 0 &&
		s.accounts[i].Status == models.AccountSuspended {
		need("Default account suspended", "?tab=accounts",
			"Pings to the partner's base URL get no price, and posts without a partnerId are rejected.")
	}
	if len(s.secrets) == 0 && needsSecret(p) {
		need("No valid signing secret", "/secrets/new", "The partner's signed posts are rejected.")
	}
	if ends := s.lastSecretEnd(); !ends.IsZero() && ends.Sub(now) < 7*24*time.Hour {
		need("All secrets expire soon", "?tab=secrets",
			"The last one expires at "+ends.UTC().Format("2006-01-02 15:04 UTC")+
				". After that, signed posts are rejected. Create a new secret.")
	}
	return all
}
