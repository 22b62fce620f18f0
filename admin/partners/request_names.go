package partners

import (
	"cmp"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

const (
	// wrongSignature is the outcome of a post with a wrong signature.
	wrongSignature = "signature"
	// endedSecretFix is the fix for a post with an expired or revoked secret.
	endedSecretFix = "Sign with a valid secret. If the partner has none, create one."
)

// requestNames contains the partners, accounts and secrets of requests by their IDs, and the ends of the secrets that
// had expired or been revoked when a request was signed with them.
type requestNames struct {
	partners map[uuid.UUID]models.Partner
	accounts map[uuid.UUID]models.Account
	secrets  map[uuid.UUID]models.SigningSecret
	ends     map[uuid.UUID]secretEnd
}

// secretEnd is when and by whom a secret was revoked, or when it expired.
type secretEnd struct {
	at      time.Time
	by      string // "" if it is not known
	revoked bool
}

// text returns text such as "was revoked by ada@example.com".
func (e secretEnd) text() string {
	switch {
	case !e.revoked:
		return "expired"
	case e.by == "":
		return "was revoked"
	}
	return "was revoked by " + e.by
}

func (h *Handlers) requestNames(k *web.Request, all []reporting.Request) (n requestNames, err error) {
	var partners, accounts, secrets []uuid.UUID
	for _, r := range all {
		partners, accounts, secrets = append(partners, r.Partner), append(accounts, r.Account), append(secrets, r.Secret)
	}
	ctx := k.R.Context()
	if n.partners, err = h.Partners.ByIDs(ctx, k.Scope, partners); err != nil {
		return n, err
	}
	if n.accounts, err = h.Partners.AccountsByIDs(ctx, k.Scope, accounts); err != nil {
		return n, err
	}
	if n.secrets, err = h.Partners.SecretsByIDs(ctx, k.Scope, secrets); err != nil {
		return n, err
	}
	n.ends = map[uuid.UUID]secretEnd{}
	for _, r := range all {
		secret, known := n.secrets[r.Secret]
		if _, done := n.ends[r.Secret]; done || !known || r.Outcome != wrongSignature {
			continue
		}
		at, by, err := h.Partners.SecretEnd(ctx, k.Scope, secret)
		if err != nil {
			return n, err
		}
		if !at.After(r.At) { // otherwise, its expiry was changed later
			n.ends[r.Secret] = secretEnd{at: at, by: by, revoked: secret.State == models.SecretRevoked}
		}
	}
	return n, nil
}

// groupNames is like requestNames, for the newest request of each group.
func (h *Handlers) groupNames(k *web.Request, groups []reporting.RequestGroup) (requestNames, error) {
	newest := make([]reporting.Request, len(groups))
	for i, g := range groups {
		newest[i] = g.Request
	}
	return h.requestNames(k, newest)
}

// partner returns the name of a partner and the link to its page. It returns an empty link if the partner is not known.
func (n requestNames) partner(k *web.Request, partner uuid.UUID) ui.Link {
	p, known := n.partners[partner]
	if !known {
		return ui.Link{}
	}
	return k.PartnerLink(partner, cmp.Or(p.Name, p.Slug))
}

// secretName returns text such as “live” (…9f3K).
func secretName(s models.SigningSecret) string {
	return "“" + s.Label + "” (…" + s.LastFour + ")"
}

// laterText returns how long after the end of a secret the first request arrived: "the first 3 minutes". Without a
// second request, it returns "3 minutes".
func laterText(first, end time.Time, count int64) string {
	text := ui.Span(max(first.Sub(end), 0))
	if count > 1 {
		return "the first " + text
	}
	return text
}
