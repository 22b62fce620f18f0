package partners_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

// lastEvent returns the newest audit event and the number of events.
func (o *partnerService) lastEvent(t *testing.T) (e models.AuditEvent, before, after map[string]any, n int) {
	t.Helper()
	if err := o.db.Gorm.Order("id DESC").Take(&e).Error; err != nil {
		t.Fatal(err)
	}
	for text, fields := range map[*string]*map[string]any{e.Before: &before, e.After: &after} {
		if text != nil {
			if err := json.Unmarshal([]byte(*text), fields); err != nil {
				t.Fatal(err)
			}
		}
	}
	return e, before, after, testkit.Value[int](t, o.db, `SELECT count(*) FROM audit_events`)
}

func (o *partnerService) found(t *testing.T, p models.Partner) models.Partner {
	t.Helper()
	found, err := o.Find(t.Context(), scope.System, p.Slug)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// errorFields returns the field and the code of each field error.
func errorFields(err error) (out []string) {
	if f := apperr.As(err); f != nil {
		for _, field := range f.Fields {
			out = append(out, strings.Join(field.Path, ".")+" "+string(field.Code))
		}
	}
	return out
}

func TestSetDetails(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	o.clock.Advance(time.Hour)
	o.Service = o.By(audit.Actor{Name: "jo@example.org"})
	people := []partners.Contact{
		{},
		{Name: " Ann ", Role: "Owner", Email: "ann@example.org", Phone: "+44 20 7946 0000"},
		{Name: " "},
		{Name: "Bob"},
	}
	details := partners.Details{
		Name:         " Harbour ",
		LegalName:    "Harbour Ltd",
		Address:      " 1 Quay\r\nPortsmouth ",
		TaxID:        "GB 1",
		PaymentTerms: "30 days",
		Manager:      "jo@example.org",
		Notes:        "slow\nbut sure",
		Contacts:     people,
	}
	wantError(t, "out of scope", o.SetDetails(t.Context(), scope.Partners(other.ID), p.ID, 1, details), apperr.NotFound, "partner")
	wantError(t, "unknown", o.SetDetails(t.Context(), scope.System, uuid.New(), 1, details), apperr.NotFound, "partner")
	wantError(t, "platform partner", o.SetDetails(t.Context(), scope.System, models.PlatformIDs.Partner, 1, details),
		apperr.NotFound, "partner")
	wantError(t, "another version", o.SetDetails(t.Context(), scope.System, p.ID, 2, details), apperr.Conflict, "changed")
	wantError(t, "valid", o.SetDetails(t.Context(), scope.Partners(p.ID), p.ID, 1, details), "", "")

	now := o.found(t, p)
	if now.Name != "Harbour" || now.LegalName != "Harbour Ltd" || now.Address != "1 Quay\nPortsmouth" ||
		now.TaxID != "GB 1" || now.PaymentTerms != "30 days" ||
		now.AccountManager != "jo@example.org" || now.Notes != "slow\nbut sure" || now.RowVersion != 2 ||
		!now.UpdatedAt.Equal(o.clock.Now()) {
		t.Errorf("got %+v", now)
	}
	if got := partners.Contacts(now); len(got) != 2 ||
		got[0] != (partners.Contact{Name: "Ann", Role: "Owner", Email: "ann@example.org", Phone: "+44 20 7946 0000"}) || got[1].Name != "Bob" {
		t.Errorf("contacts %+v", got)
	}
	if people[0] != (partners.Contact{}) || people[1].Name != " Ann " {
		t.Error("the caller's contacts were changed")
	}
	if now := o.found(t, other); now.Name != "meadow-media" || now.RowVersion != 1 || len(partners.Contacts(now)) != 0 {
		t.Errorf("the other partner changed: %+v", now)
	}
	wantError(t, "stale", o.SetDetails(t.Context(), scope.System, p.ID, 1, details), apperr.Conflict, "changed")
}

// The audit log contains only the changed fields, without the contacts' email addresses and phone
// numbers.
func TestDetailsInTheAuditLog(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	d := partners.Details{Name: p.Name, Notes: "new"}
	set := func() { // at the current version
		t.Helper()
		wantError(t, "set", o.SetDetails(t.Context(), scope.System, p.ID, o.found(t, p).RowVersion, d), "", "")
	}
	for i, c := range []struct {
		do            func()
		before, after map[string]any
	}{
		{func() {}, map[string]any{"notes": ""}, map[string]any{"notes": "new"}},
		{func() {
			d.Contacts = []partners.Contact{{Name: "Ann", Email: "ann@example.org", Phone: "020 7946 0000"}}
			d.Manager = "jo"
		},
			map[string]any{"contacts": "0 people", "manager": ""}, map[string]any{"contacts": "1 person", "manager": "jo"}},
		{func() {
			d.Contacts[0].Email = "other@example.org"
		}, map[string]any{"contacts": "1 person"}, map[string]any{"contacts": "1 person, changed"}},
	} {
		c.do()
		set()
		e, before, after, _ := o.lastEvent(t)
		if e.Action != "partner.details" || e.PartnerID == nil || *e.PartnerID != p.ID ||
			!maps.Equal(before, c.before) || !maps.Equal(after, c.after) {
			t.Errorf("%d: %s %v → %v", i, e.Action, before, after)
		}
	}
	_, _, _, events := o.lastEvent(t)
	version := o.found(t, p).RowVersion
	set()
	if _, _, _, n := o.lastEvent(t); n != events || o.found(t, p).RowVersion != version {
		t.Errorf("an update without changes wrote an audit event (%d, want %d) or a new version", n, events)
	}
}

func TestSetDetailsReportsAllProblems(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	long := strings.Repeat("é", 201)
	many := make([]partners.Contact, 12)
	for i := range many {
		many[i].Name = fmt.Sprint("person ", i)
	}
	many[3] = partners.Contact{}
	for _, c := range []struct {
		name string
		d    partners.Details
		want []string
	}{
		{"everything", partners.Details{
			Name:         " ",
			LegalName:    long,
			Address:      strings.Repeat("a", 2001),
			TaxID:        "a\tb",
			PaymentTerms: long,
			Manager:      "a\xff",
			Notes:        "bell\a",
			Contacts: []partners.Contact{
				{},
				{Role: long, Email: "ann", Phone: strings.Repeat("1", 41)},
				{Name: "a\nb", Email: "ann@example.org "},
			},
		}, []string{"name required", "legal_name too_long", "address too_long", "tax_id invalid_value", "payment_terms too_long", "manager invalid_value", "notes invalid_value",
			"contact-1-role too_long", "contact-1-phone too_long", "contact-1-name required", "contact-1-email invalid_value", "contact-2-name invalid_value"}},
		{"eleven contacts", partners.Details{Name: "A", Contacts: many}, []string{"contact-11-name too_many"}},
		{"maximum lengths", partners.Details{
			Name:     long[2:],
			Address:  strings.Repeat("a\n", 999) + "é",
			Notes:    strings.Repeat("€", 2000),
			Contacts: many[1:11],
		}, nil},
		{"a very long email address", partners.Details{
			Name:     "A",
			Contacts: []partners.Contact{{Name: "A", Email: strings.Repeat("a", 250) + "@example.org"}},
		}, []string{"contact-0-email invalid_value"}},
	} {
		err := o.SetDetails(t.Context(), scope.System, p.ID, o.found(t, p).RowVersion, c.d)
		if got := errorFields(err); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q (%v)", c.name, got, c.want, err)
		}
		if f := apperr.As(err); f != nil {
			for _, field := range f.Fields { // the command line shows only the error's message
				if !strings.Contains(err.Error(), field.Message) || f.Code != apperr.Invalid {
					t.Errorf("%s: error %q does not contain %q", c.name, err, field.Message)
				}
			}
		}
	}
}

func TestConcurrentSetDetails(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	errs := atOnce(4, func(i int) error {
		return o.SetDetails(t.Context(), scope.System, p.ID, 1, partners.Details{Name: fmt.Sprint("name ", i)})
	})
	for _, err := range errs {
		if err != nil {
			wantError(t, "at once", err, apperr.Conflict, "changed")
		}
	}
	if n := succeeded(errs); n != 1 || o.found(t, p).RowVersion != 2 {
		t.Errorf("%d of 4 changes to the same version succeeded, want 1", n)
	}
}

func TestContactsIgnoresUnreadableColumn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "[]": 0, "{}": 0, `[{"name":"Ann","fax":1}]`: 1, `[1]`: 0} {
		if got := partners.Contacts(models.Partner{Contacts: text}); len(got) != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestSetStatusAtAVersion(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	wantError(t, "out of scope", o.SetStatusAt(t.Context(), scope.Partners(other.ID), p.ID, 1, models.PartnerApproved),
		apperr.NotFound, "partner")
	wantError(t, "unknown status", o.SetStatusAt(t.Context(), scope.System, p.ID, 1, "expired"),
		apperr.Invalid, "status")
	wantError(t, "approve", o.SetStatusAt(t.Context(), scope.System, p.ID, 1, models.PartnerApproved), "", "")
	wantError(t, "stale", o.SetStatusAt(t.Context(), scope.System, p.ID, 1, models.PartnerSuspended), apperr.Conflict, "changed")
	wantError(t, "no version", o.SetStatusAt(t.Context(), scope.System, p.ID, -1, models.PartnerSuspended),
		apperr.Conflict, "changed")
	_, before, after, events := o.lastEvent(t)
	if before["status"] != "pending" || after["status"] != "approved" {
		t.Errorf("audit event %v → %v", before, after)
	}
	wantError(t, "again", o.SetStatusAt(t.Context(), scope.System, p.ID, 2, models.PartnerApproved), "", "")
	if _, _, _, n := o.lastEvent(t); n != events || o.found(t, p).RowVersion != 2 {
		t.Error("setting the same status wrote an audit event or a new version")
	}
	wantError(t, "suspend", o.SetStatusAt(t.Context(), scope.System, p.ID, 2, models.PartnerSuspended), "", "")
	if now := o.found(t, p); now.Status != models.PartnerSuspended || now.RowVersion != 3 {
		t.Errorf("got %+v", now)
	}
}

func TestSetSigning(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	wantError(t, "out of scope", o.SetSigning(t.Context(), scope.Partners(other.ID), p.ID, 1, models.SigningOff, true),
		apperr.NotFound, "partner")
	err := o.SetSigning(t.Context(), scope.System, p.ID, 1, models.SigningInherit, true)
	wantError(t, "an account's mode", err, apperr.Invalid, "signing_mode")
	if got := errorFields(err); !slices.Equal(got, []string{"signing invalid_value"}) {
		t.Errorf("fields %q", got)
	}
	wantError(t, "report only", o.SetSigning(t.Context(), scope.System, p.ID, 1, models.SigningReportOnly, true), "", "")
	e, before, after, events := o.lastEvent(t)
	if e.Action != "partner.signing" || !maps.Equal(before, map[string]any{"signing": "default"}) ||
		!maps.Equal(after, map[string]any{"signing": "report_only"}) {
		t.Errorf("audit event %s %v → %v", e.Action, before, after)
	}
	wantError(t, "a stale page", o.SetSigning(t.Context(), scope.System, p.ID, 1, models.SigningRequired, false),
		apperr.Conflict, "changed")
	wantError(t, "no shared base URL", o.SetSigning(t.Context(), scope.System, p.ID, 2, models.SigningReportOnly, false), "", "")
	if now := o.found(t, p); now.SigningMode != models.SigningReportOnly || now.SharedBaseURL || now.RowVersion != 3 {
		t.Errorf("got %+v", now)
	}
	wantError(t, "no change", o.SetSigning(t.Context(), scope.System, p.ID, 3, models.SigningReportOnly, false), "", "")
	if _, _, _, n := o.lastEvent(t); n != events+1 {
		t.Errorf("got %d events, want %d", n, events+1)
	}
	if n, err := o.SharedAddresses(t.Context()); err != nil || n != 1 {
		t.Errorf("SharedAddresses() = %d, %v, want 1", n, err)
	}
}
