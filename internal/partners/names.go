package partners

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// namesLock serializes the creation of slugs and partnerIds, because no constraint can detect that two
// new names look alike. People read names out over the phone and copy them by hand. If two names looked
// alike, one partner's posts could be attributed to another partner. In the ..._likeness indexes,
// characters that look alike are replaced by a single character, so that names that look alike can be
// found.
const namesLock = `SELECT pg_advisory_xact_lock(hashtext('partners names'))`

var (
	errSlugTaken = clash("slug_taken", "slug", "A partner with this slug already exists. Choose another slug.")
	errSlugAlike = clash("slug_alike", "slug",
		"This slug is too similar to an existing one. Some characters count as equal: 0 and o; 1, i and l. Choose another slug.")
	errIdentifierTaken = clash("identifier_taken", "identifier",
		"An account with this partnerId already exists. Choose another partnerId.")
	errIdentifierTakenFolded = clash("identifier_taken", "identifier",
		"This partnerId differs from an existing one only in upper and lower case. Choose another partnerId.")
	errIdentifierAlike = clash("identifier_alike", "identifier",
		"This partnerId is too similar to an existing one. Some characters count as equal: 0 and o; 1, i and l; dot, hyphen and underscore. Choose another partnerId.")
)

type similarity struct{ Same, SameFolded, Similar bool }

func slugTaken(tx *gorm.DB, slug string) (*apperr.Error, error) {
	const query = `SELECT coalesce(bool_or(slug = ?), false) AS same, count(*) > 0 AS similar
		FROM partners WHERE translate(slug, '01i', 'oll') = translate(?, '01i', 'oll')`
	var name similarity
	if err := tx.Exec(namesLock).Error; err != nil || checkSlug(slug) != nil {
		return nil, err
	}
	if err := tx.Raw(query, slug, slug).Scan(&name).Error; err != nil {
		return nil, err
	}
	switch {
	case name.Same:
		return errSlugTaken, nil
	case name.Similar:
		return errSlugAlike, nil
	}
	return nil, nil
}

func identifierTaken(tx *gorm.DB, identifier string) (*apperr.Error, error) {
	const query = `SELECT coalesce(bool_or(identifier = ?), false) AS same, coalesce(bool_or(lower(identifier) = lower(?)), false) AS same_folded, count(*) > 0 AS similar
		FROM accounts WHERE translate(lower(identifier), '01i_.', 'oll--') = translate(lower(?), '01i_.', 'oll--')`
	var name similarity
	if err := tx.Exec(namesLock).Error; err != nil || checkIdentifier(identifier) != nil {
		return nil, err
	}
	if err := tx.Raw(query, identifier, identifier, identifier).Scan(&name).Error; err != nil {
		return nil, err
	}
	switch {
	case name.Same:
		return errIdentifierTaken, nil
	case name.SameFolded:
		return errIdentifierTakenFolded, nil
	case name.Similar:
		return errIdentifierAlike, nil
	}
	return nil, nil
}

const (
	maxSlug       = 63
	maxIdentifier = 128

	slugForm       = "A slug consists of 1 to 63 lower-case letters (a to z), digits and hyphens. It cannot start or end with a hyphen."
	identifierForm = "A partnerId consists of 1 to 128 letters (a to z, A to Z), digits, dots, hyphens and underscores. It must start with a letter or digit."
)

func checkSlug(slug string) *apperr.Error {
	return checkForm("slug_form", "slug", slug, maxSlug, isSlug,
		!strings.HasPrefix(slug, "-") && !strings.HasSuffix(slug, "-"), slugForm)
}

func isSlug(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' }

func checkIdentifier(identifier string) *apperr.Error {
	return checkForm("identifier_form", "identifier", identifier, maxIdentifier, isIdentifier,
		identifier != "" && !strings.ContainsRune("._-", rune(identifier[0])), identifierForm)
}

func isIdentifier(r rune) bool {
	return isSlug(r) || r >= 'A' && r <= 'Z' || r == '.' || r == '_'
}

// SlugOf returns the slug for a name: its letters without accents in lower case, and its digits, with hyphens
// instead of all other characters. The script in the console does the same.
func SlugOf(name string) string {
	slug, _ := slugOf(name)
	return slug
}

// slugOf is like SlugOf. The result complete reports whether the slug contains all letters and digits of the name.
func slugOf(name string) (slug string, complete bool) {
	var b strings.Builder
	complete = true
	for _, r := range strings.ToLower(norm.NFKD.String(name)) {
		switch {
		case r != '-' && isSlug(r):
			b.WriteRune(r)
		case unicode.IsMark(r): // an accent
		default:
			complete = complete && r != utf8.RuneError && !unicode.IsLetter(r) && !unicode.IsDigit(r)
			if text := b.String(); text != "" && !strings.HasSuffix(text, "-") {
				b.WriteByte('-')
			}
		}
	}
	slug = b.String()
	return strings.Trim(slug[:min(len(slug), maxSlug)], "-"), complete
}

// checkForm checks a name's characters and length. Its error describes the first invalid character,
// because that character can look like a valid one (for example, the Cyrillic а).
func checkForm(reason, field, text string, most int, allowed func(rune) bool, ends bool, form string) *apperr.Error {
	for _, r := range text {
		if !allowed(r) {
			return invalid(reason, apperr.InvalidValue, field, form+" "+replacement(text, r))
		}
	}
	switch {
	case text == "":
		return invalid(reason, apperr.Required, field, form)
	case len(text) > most:
		return invalid(reason, apperr.TooLong, field, form)
	case !ends:
		return invalid(reason, apperr.InvalidValue, field, form)
	}
	return nil
}

// replacement returns the sentence that says how to fix a name with an invalid character.
func replacement(text string, r rune) string {
	if slug, complete := slugOf(text); complete && slug != "" {
		return describe(r) + " is not allowed. Enter " + slug + " instead."
	}
	return "Replace " + describe(r) + "."
}

// describe describes a character so that it can be recognised even if it is invisible or looks like
// another one.
func describe(r rune) string {
	switch {
	case r == utf8.RuneError:
		return "the bytes that are not valid UTF-8"
	case r == ' ':
		return "the space"
	case r < utf8.RuneSelf && unicode.IsPrint(r):
		return fmt.Sprintf("%q", string(r))
	}
	for script, table := range unicode.Scripts {
		if script != "Common" && script != "Inherited" && unicode.Is(table, r) {
			return fmt.Sprintf("%q (%U, %s)", string(r), r, strings.ReplaceAll(script, "_", " "))
		}
	}
	return fmt.Sprintf("the character %U", r)
}
