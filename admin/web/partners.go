package web

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// FindPartner returns the partner that the user entered in a field: by ID, slug or name, or by an account's name.
// It returns a notice if no partner in the scope matches, or if several do.
func (k *Request) FindPartner(sc scope.Scope, field, text string) (models.Partner, *Notice, error) {
	p, candidates, err := k.console.Partners.Resolve(k.R.Context(), sc, text)
	notice, err := k.unresolved(field, "partner", text, candidates, err, func(m partners.Match) ui.Link {
		return ui.Link{Label: m.PartnerName + " (" + m.Slug + ")", URL: m.Slug}
	})
	return p, notice, err
}

// FindAccount is like FindPartner for an account. If partner is not uuid.Nil, it finds only accounts of that partner.
func (k *Request) FindAccount(sc scope.Scope, partner uuid.UUID, field, text string) (models.Account, *Notice, error) {
	a, candidates, err := k.console.Partners.ResolveAccount(k.R.Context(), sc, partner, text)
	notice, err := k.unresolved(field, "account", text, candidates, err, func(m partners.Match) ui.Link {
		return ui.Link{Label: m.Identifier + " (" + m.PartnerName + ")", URL: m.Identifier}
	})
	return a, notice, err
}

// unresolved returns the notice for a text that does not identify one partner or account. The function choice
// returns the label of a candidate, and the text that identifies it in place of a URL.
func (k *Request) unresolved(
	field, kind, text string, candidates []partners.Match, err error, choice func(partners.Match) ui.Link,
) (*Notice, error) {
	match := "“" + Short(strings.TrimSpace(text)) + "”"
	if IsContact(text) {
		match = "this text"
	}
	f := apperr.As(err)
	switch {
	case f != nil && f.Code == apperr.NotFound:
		return &Notice{
			Kind: "warn", Code: "no_" + kind,
			Text: fmt.Sprintf("No %s matches %s, or you do not have access to it. Enter part of the name, or the ID.",
				kind, match),
		}, nil
	case err != nil || len(candidates) == 0:
		return nil, err
	}
	n := &Notice{
		Kind: "warn", Code: "several_" + kind + "s",
		Text: fmt.Sprintf("Several %ss match %s. Choose one:", kind, match),
	}
	for _, m := range candidates {
		link := choice(m)
		link.URL = k.withField(field, link.URL)
		n.Choices = append(n.Choices, link)
	}
	return n, nil
}

// withField returns the URL of this page with another value in a field, or "" if the page shows a submitted form.
func (k *Request) withField(field, value string) string {
	if k.R.Method != http.MethodGet {
		return ""
	}
	q := maps.Clone(k.R.URL.Query())
	for _, cursor := range []string{"before", "after"} {
		q.Del(cursor)
	}
	q.Set(field, value)
	return (&url.URL{Path: k.R.URL.Path, RawQuery: q.Encode()}).String()
}

// AtField returns a notice as a field error.
func AtField(n Notice, field string) ui.FieldError {
	text := n.Text
	if len(n.Choices) > 0 {
		labels := make([]string, len(n.Choices))
		for i, c := range n.Choices {
			labels[i] = c.Label
		}
		text += " " + strings.Join(labels, ", ") + "."
	}
	return ui.FieldError{Field: field, Code: n.Code, Message: text}
}

// PartnerNames maps ids of partners to their slugs.
type PartnerNames map[uuid.UUID]string

// NamesOfPartners reads the slugs of the partners with the given ids, except for partners that the
// user cannot see.
func (k *Request) NamesOfPartners(ids []uuid.UUID) (PartnerNames, error) {
	all, err := k.console.Partners.ByIDs(k.R.Context(), k.Scope, ids)
	names := make(PartnerNames, len(all))
	for partner, p := range all {
		names[partner] = p.Slug
	}
	return names, err
}

// Of returns the slug of a partner, or its id if the slug is missing.
func (s PartnerNames) Of(partner uuid.UUID) string {
	if name, ok := s[partner]; ok {
		return name
	}
	return id.Format(id.Partner, partner)
}

// AllPartnerNames reads the slugs of all partners, for pages that show the scopes of roles.
func (k *Request) AllPartnerNames() (PartnerNames, error) {
	all, err := k.console.Partners.List(k.R.Context(), scope.System)
	if err != nil {
		return nil, err
	}
	names := make(PartnerNames, len(all))
	for _, p := range all {
		names[p.ID] = p.Slug
	}
	return names, nil
}

// PartnerLink returns a partner's name, with a link to the partner's page if the user may see that page.
// The platform account has no page.
func (k *Request) PartnerLink(partner uuid.UUID, name string) ui.Link {
	if partner == models.PlatformIDs.Partner || !k.MayAt(ReadPartners, partner) {
		return ui.Link{Label: name}
	}
	return ui.Link{Label: name, URL: PartnerURL(partner)}
}
