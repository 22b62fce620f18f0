package partners_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

// At most MaxSharedBaseURL partners can use the shared base URL, even if partners are created
// concurrently (decision 13).
func TestSharedBaseURLSlots(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	if _, err := o.Create(t.Context(), partners.NewPartner{Slug: "elsewhere", Name: "Elsewhere", NoSharedBaseURL: true}); err != nil {
		t.Fatal(err)
	}
	for i := range partners.MaxSharedBaseURL - 1 {
		if p := o.partner(t, fmt.Sprint("partner-", i)); !p.SharedBaseURL {
			t.Fatalf("partner %d has no slot", i+1)
		}
	}
	slots := make([]bool, 8)
	for _, err := range atOnce(len(slots), func(i int) error {
		p, err := o.Create(t.Context(), partners.NewPartner{Slug: fmt.Sprint("late-", i), Name: "Late"})
		slots[i] = p.SharedBaseURL
		return err
	}) {
		if err != nil {
			t.Error("creating a partner failed:", err)
		}
	}
	used := 0
	for _, slot := range slots {
		if slot {
			used++
		}
	}
	if used != 1 {
		t.Errorf("%d of %d concurrent partners got the last slot, want 1", used, len(slots))
	}
	if p := o.partner(t, "too-late"); p.SharedBaseURL {
		t.Error("a partner got a slot beyond the maximum")
	}
	var n int
	if err := o.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM partners WHERE shared_base_url`).Scan(&n); err != nil || n != partners.MaxSharedBaseURL {
		t.Errorf("%d partners have a slot, want %d (%v)", n, partners.MaxSharedBaseURL, err)
	}

	if n, err := o.SharedAddresses(t.Context()); err != nil || n != partners.MaxSharedBaseURL {
		t.Errorf("SharedAddresses() = %d, %v, want %d", n, err, partners.MaxSharedBaseURL)
	}
	o.switchSlots(t)
}

// switchSlots releases a slot and assigns it again. At first, all slots are in use.
func (o *partnerService) switchSlots(t *testing.T) {
	t.Helper()
	set := func(slug string, shared bool) error {
		p, err := o.Find(t.Context(), everyPartner, slug)
		if err != nil {
			t.Fatal(err)
		}
		return o.SetSigning(t.Context(), everyPartner, p.ID, p.RowVersion, models.SigningDefault, shared)
	}
	err := set("too-late", true)
	wantError(t, "all slots in use", err, apperr.Conflict, "shared_address_full")
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(partners.MaxSharedBaseURL)) ||
		!strings.Contains(err.Error(), "base URL") {
		t.Errorf("got error %v, want one with the number of slots and the base URL", err)
	}
	wantError(t, "keep a slot", set("partner-0", true), "", "")
	wantError(t, "release a slot", set("partner-0", false), "", "")
	slugs := []string{"too-late", "elsewhere", "partner-0"}
	errs := atOnce(len(slugs), func(i int) error { return set(slugs[i], true) })
	for i, err := range errs {
		if err != nil {
			wantError(t, slugs[i], err, apperr.Conflict, "shared_address_full")
		}
	}
	if n := succeeded(errs); n != 1 {
		t.Errorf("%d partners got the last slot, want 1", n)
	}
}
