package partners_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

// Errors describe the invalid character, because it can be invisible or look like a valid one.
func TestErrorsDescribeTheInvalidCharacter(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "meadow-media")
	for text, want := range map[string]string{
		"h\u0430rbour":   "\"\u0430\" (U+0430, Cyrillic)",
		"harbοur":        "(U+03BF, Greek)",
		"har\u200bbour":  "U+200B",
		"har bour":       "",
		"har/bour":       `"/"`,
		"har\u00a0bour":  "U+00A0",
		"har\xffbour":    "",
		"har\tbour":      "U+0009",
		"ｈarbour":        "Latin",
		"har\u202ebour":  "U+202E",
		"-é":             "U+00E9",
		"harbour\u0301x": "U+0301",
	} {
		_, err := o.Create(t.Context(), partners.NewPartner{Slug: text, Name: "A"})
		if wantError(t, text, err, apperr.Invalid, "slug_form"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q as a slug: got error %v, want one with %s", text, err, want)
		}
		_, err = o.CreateAccount(t.Context(), everyPartner, p, partners.NewAccount{Identifier: text, Name: "A"})
		if wantError(t, text, err, apperr.Invalid, "identifier_form"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q as a partnerId: got error %v, want one with %s", text, err, want)
		}
	}
	_, err := o.Create(t.Context(), partners.NewPartner{Slug: "Harbour", Name: "A"})
	if err == nil || !strings.Contains(err.Error(), `"H"`) || !strings.Contains(err.Error(), "Enter harbour instead.") {
		t.Errorf("upper case: %v", err)
	}
}

func TestSlugOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Copper Sons!": "copper-sons", "  Plömber & Söhne  GmbH ": "plomber-sohne-gmbh", "A--b_c.d": "a-b-c-d", "ＦＵＬＬ 1": "full-1",
		"O'Brien": "o-brien", "Сова": "", "!": "", "": "", strings.Repeat("ab ", 30): strings.Repeat("ab-", 21)[:62],
	} {
		if got := partners.SlugOf(name); got != want {
			t.Errorf("SlugOf(%q) = %q, want %q", name, got, want)
		}
	}
}

// All problems are reported at once, including conflicts with existing rows.
func TestCreateReportsAllProblems(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "meadow-media")
	o.account(t, p, "meadow-1")
	_, err := o.Create(t.Context(), partners.NewPartner{Slug: "meadow-media", LegalName: "a\ab", Signing: "sometimes"})
	if got := errorFields(err); !slices.Equal(got, []string{"name required", "legal_name invalid_value", "signing invalid_value", "slug conflict"}) {
		t.Errorf("a partner: %q (%v)", got, err)
	}
	wantError(t, "a partner", err, apperr.Invalid, "name")
	_, err = o.CreateAccount(t.Context(), everyPartner, p, partners.NewAccount{Identifier: "MEADOW.I", Name: "a\ab"})
	if got := errorFields(err); !slices.Equal(got, []string{"name invalid_value", "identifier conflict"}) {
		t.Errorf("an account: %q (%v)", got, err)
	}
}

// If several names that look alike are created concurrently, only one succeeds.
func TestConcurrentLookAlikes(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	slugs := []string{"oil-1", "0il-l", "o1l-i", "0l1-1"}
	errs := atOnce(len(slugs), func(i int) error {
		_, err := o.Create(t.Context(), partners.NewPartner{Slug: slugs[i], Name: "Oil"})
		return err
	})
	for i, err := range errs {
		if err != nil {
			wantError(t, slugs[i], err, apperr.Conflict, "slug_alike")
		}
	}
	if n := succeeded(errs); n != 1 {
		t.Errorf("%d of %d look-alike partners were created, want 1", n, len(slugs))
	}
	of := []models.Partner{o.partner(t, "first"), o.partner(t, "second")}
	identifiers := []string{"AFF-101", "aff_1O1", "Aff.iol", "aff-l0I"}
	errs = atOnce(len(identifiers), func(i int) error {
		_, err := o.CreateAccount(t.Context(), everyPartner, of[i%2], partners.NewAccount{Identifier: identifiers[i]})
		return err
	})
	for i, err := range errs {
		if err != nil {
			wantError(t, identifiers[i], err, apperr.Conflict, "identifier_alike")
		}
	}
	if n := succeeded(errs); n != 1 {
		t.Errorf("%d of %d look-alike accounts were created, want 1", n, len(identifiers))
	}
	o.account(t, of[0], "aff-102") // not a look-alike
}
