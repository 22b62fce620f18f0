package partners

import (
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// progress is how far a partner has come.
type progress struct {
	accounts []models.Account
	secrets  []models.SigningSecret // in force
	used     map[uuid.UUID]time.Time
}

func (h *Handlers) progress(k *web.Request, p models.Partner) (s progress, err error) {
	if s.accounts, err = h.Partners.Accounts(k.R.Context(), p); err != nil {
		return s, err
	}
	all, err := h.Partners.Secrets(k.R.Context(), p)
	if err != nil {
		return s, err
	}
	for _, one := range all {
		if partners.Valid(one, k.Now) {
			s.secrets = append(s.secrets, one)
		}
	}
	s.used, err = h.Reporting.LastUsed(k.R.Context(), k.Scope, p.ID)
	return s, err
}

// hasSignedPost reports whether a signed post was accepted.
func (s progress) hasSignedPost() bool { return len(s.used) > 0 }

// lastSecretEnd is when the last of the secrets ends; zero where one does not, or none is.
func (s progress) lastSecretEnd() (at time.Time) {
	for _, one := range s.secrets {
		if one.RetiresAt == nil {
			return time.Time{}
		}
		if one.RetiresAt.After(at) {
			at = *one.RetiresAt
		}
	}
	return at
}

// attention lists what needs attention.
func (s progress) attention(p models.Partner, url string, now time.Time) (all []ui.AttentionItem) {
	need := func(text, path, detail string) {
		all = append(all, ui.AttentionItem{Text: text, URL: url + path, Detail: detail})
	}
	if len(s.accounts) == 0 {
		need("No account yet", "/accounts/new", "Without one every ping on its base URL and every post is refused.")
	}
	if p.Status == models.PartnerPending && len(s.accounts) > 0 {
		need("Waits for approval", "/onboarding", "Until then it gets no price, and its posts are refused.")
	}
	if len(s.secrets) == 0 && p.Status == models.PartnerApproved && p.SigningMode != models.SigningOff {
		need("No valid signing secret", "/secrets/new", "Its signed posts are refused.")
	}
	if ends := s.lastSecretEnd(); !ends.IsZero() && ends.Sub(now) < 7*24*time.Hour {
		need("Every secret ends", "?tab=secrets",
			"The last one at "+ends.UTC().Format("2006-01-02 15:04 UTC")+
				"; after that its signed posts are refused. Make one that stays.")
	}
	return all
}
