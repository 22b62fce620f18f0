package partners

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/models"
)

// MaxContacts is the maximum number of contacts that a partner can have.
const MaxContacts = 10

// Contact is a person to contact at a partner.
type Contact struct {
	Name  string `json:"name"`
	Role  string `json:"role,omitempty"`
	Email string `json:"email,omitempty"`
	Phone string `json:"phone,omitempty"`
}

// Contacts returns a partner's contacts, or nil if they cannot be decoded.
func Contacts(p models.Partner) []Contact {
	var out []Contact
	if json.Unmarshal([]byte(p.Contacts), &out) != nil {
		return nil // happens only if the column was edited by hand
	}
	return out
}

// Details contains the data about a partner that account managers enter. Address and Notes can have
// several lines.
type Details struct {
	Name, LegalName, Address, TaxID, PaymentTerms, Manager, Notes string
	Contacts                                                      []Contact
}

func (d Details) trimmed() Details {
	for _, text := range []*string{&d.Name, &d.LegalName, &d.TaxID, &d.PaymentTerms, &d.Manager} {
		*text = strings.TrimSpace(*text)
	}
	d.Address, d.Notes = lines(d.Address), lines(d.Notes)
	d.Contacts = slices.Clone(d.Contacts)
	for i, c := range d.Contacts {
		d.Contacts[i] = Contact{strings.TrimSpace(c.Name), strings.TrimSpace(c.Role), strings.TrimSpace(c.Email),
			strings.TrimSpace(c.Phone)}
	}
	return d
}

func (d Details) check() error {
	problems := []*apperr.Error{
		checkName(d.Name, errNoPartnerName), checkLine("legal_name", "legal name", d.LegalName),
		checkLines("address", "address", d.Address),
		checkLine("tax_id", "tax ID", d.TaxID), checkLine("payment_terms", "payment terms", d.PaymentTerms),
		checkLine("manager", "account manager", d.Manager), checkLines("notes", "notes", d.Notes),
	}
	people := 0
	for i, c := range d.Contacts {
		if c == (Contact{}) {
			continue
		}
		if people++; people == MaxContacts+1 {
			problems = append(problems,
				invalid("contact", apperr.TooManyItems, contactField(i, "name"),
					fmt.Sprintf("A partner can have at most %d contacts.", MaxContacts)))
		}
		problems = append(problems, c.check(i)...)
	}
	return joinProblems(problems...)
}

func contactField(i int, part string) string { return fmt.Sprintf("contact-%d-%s", i, part) }

func (c Contact) check(i int) []*apperr.Error {
	problems := []*apperr.Error{
		checkLine(contactField(i, "role"), "contact's role", c.Role),
		checkText(contactField(i, "phone"), c.Phone, maxPhone, unicode.IsControl,
			fmt.Sprintf("The phone number can have at most %d characters and cannot contain control characters.", maxPhone)),
	}
	if c.Name == "" {
		problems = append(problems, invalid("contact", apperr.Required, contactField(i, "name"), "Enter the contact's name."))
	} else {
		problems = append(problems, checkLine(contactField(i, "name"), "contact's name", c.Name))
	}
	if c.Email != "" && !payload.IsEmail(c.Email) {
		problems = append(problems,
			invalid("contact", apperr.InvalidValue, contactField(i, "email"),
				"Enter an email address like name@example.com, with at most 254 characters."))
	}
	return problems
}

// SetDetails replaces a partner's details. Empty contacts are dropped.
func (s *Service) SetDetails(ctx context.Context, sc scope.Scope, partner uuid.UUID, version int, d Details) error {
	d = d.trimmed()
	if err := d.check(); err != nil {
		return err
	}
	d.Contacts = slices.DeleteFunc(d.Contacts, func(c Contact) bool { return c == Contact{} })
	return s.change(ctx, sc, partner, version, "partner.details", func(_ *gorm.DB, before models.Partner) (e edit, err error) {
		e.set("name", "name", before.Name, d.Name)
		e.set("legal_name", "legal_name", before.LegalName, d.LegalName)
		e.set("address", "address", before.Address, d.Address)
		e.set("tax_id", "tax_id", before.TaxID, d.TaxID)
		e.set("payment_terms", "payment_terms", before.PaymentTerms, d.PaymentTerms)
		e.set("account_manager", "manager", before.AccountManager, d.Manager)
		e.set("notes", "notes", before.Notes, d.Notes)
		err = e.setContacts(Contacts(before), d.Contacts)
		return e, err
	})
}

// setContacts changes the contacts, but records only their number in the audit log. Audit events
// are never deleted, so they must not contain email addresses or phone numbers.
func (e *edit) setContacts(before, wants []Contact) error {
	if slices.Equal(before, wants) {
		return nil
	}
	text, err := json.Marshal(append([]Contact{}, wants...)) // encodes nil as an empty list, not as null
	after := people(wants)
	if len(before) == len(wants) {
		after += ", changed"
	}
	e.record("contacts", string(text), "contacts", people(before), after)
	return err
}

func people(list []Contact) string {
	if len(list) == 1 {
		return "1 person"
	}
	return fmt.Sprintf("%d people", len(list))
}
