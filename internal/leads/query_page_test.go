package leads_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/models"
)

func TestGet(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	text, url, other := "I agree", "https://cert.example.com/1", o.Off.ID
	lead := o.add(t, "a", o.Required, func(d *leads.Delivery) {
		d.Lead.QuotedPartner, d.Lead.PhoneFlagged = &other, true
		d.Consent.DisclosureText, d.Consent.FormCertURL = &text, &url
	})
	f, err := o.Get(t.Context(), scope.Everywhere, lead)
	if err != nil {
		t.Fatal(err)
	}
	if f.ID != lead || f.TransactionID != "tx_test" || f.PartnerName != "harbour-leads" ||
		f.Identifier != "harbour-leads-main" || f.QuotedFor != "tinker-forms" || f.PriceMinor != 4560 ||
		!f.PhoneFlagged || !f.HMACVerified || !f.ByEmail || f.ByPhone || !f.ReceivedAt.Equal(o.Time.Now()) ||
		f.KeyVersion != "1" {
		t.Errorf("got %+v", f)
	}
	if f.Secret.Prefix == "" || len(f.Secret.LastFour) != 4 {
		t.Errorf("got secret %+v", f.Secret)
	}
	if want := (leads.Sizes{Ciphertext: 10, IV: 12, AuthTag: 16, Salt: 16, WrappedKey: 9}); f.Envelope != want {
		t.Errorf("got envelope %+v, want %+v", f.Envelope, want)
	}
	if *f.Consent.DisclosureText != text || *f.Consent.FormCertURL != url || len(f.Events) != 1 ||
		f.Events[0].Kind != models.EventDelivered {
		t.Errorf("got consent %+v and events %+v", f.Consent, f.Events)
	}
	if f.Ciphertext != nil || f.EmailDigest != nil {
		t.Error("Get read encrypted data or digests")
	}
	// The partner of the quote is left out if it is not in the scope.
	if f, err = o.Get(t.Context(), scope.Partners(o.Required.ID), lead); err != nil || f.QuotedFor != "" ||
		f.QuotedPartner != nil {
		t.Errorf("got QuotedFor %q and error %v, want none", f.QuotedFor, err)
	}
	o.erase(t, lead)
	if f, err = o.Get(t.Context(), scope.Everywhere, lead); err != nil || f.State != "erased" ||
		f.Envelope.Salt != 0 || f.ByEmail || f.Consent.LeadID != lead {
		t.Errorf("erased lead: got %+v and error %v", f, err)
	}
	_, unknown := o.Get(t.Context(), scope.Everywhere, uuid.New())
	_, outOfScope := o.Get(t.Context(), scope.Partners(o.Off.ID), lead)
	if !notFound(unknown) || fmt.Sprint(unknown) != fmt.Sprint(outOfScope) {
		t.Errorf("got %v for an unknown lead and %v out of scope, want the same error", unknown, outOfScope)
	}
}
