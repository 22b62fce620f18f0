package partners_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

// Each partner at the shared address costs every anonymous post a comparison, so
// that the places are bounded, however many are made at once (decision 13).
func TestPlacesAtTheSharedAddress(t *testing.T) {
	o := newPartnerService(t)
	if _, err := o.Create(t.Context(), partners.NewPartner{Slug: "elsewhere", Name: "Elsewhere", NoSharedAddress: true}); err != nil {
		t.Fatal(err)
	}
	for i := range partners.MaxSharedAddress - 1 {
		if p := o.partner(t, fmt.Sprint("partner-", i)); !p.SharedAddress {
			t.Fatalf("partner %d has no place", i+1)
		}
	}
	places := make([]bool, 8)
	for _, err := range atOnce(len(places), func(i int) error {
		p, err := o.Create(t.Context(), partners.NewPartner{Slug: fmt.Sprint("late-", i), Name: "Late"})
		places[i] = p.SharedAddress
		return err
	}) {
		if err != nil {
			t.Error("without a place a partner is made all the same:", err)
		}
	}
	given := 0
	for _, place := range places {
		if place {
			given++
		}
	}
	if given != 1 {
		t.Errorf("%d of %d made at once got the last place", given, len(places))
	}
	if p := o.partner(t, "too-late"); p.SharedAddress {
		t.Error("one too many has a place")
	}
	var n int
	if err := o.db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM partners WHERE shared_address`).Scan(&n); err != nil || n != partners.MaxSharedAddress {
		t.Errorf("%d have a place, want %d (%v)", n, partners.MaxSharedAddress, err)
	}

	if n, err := o.SharedAddresses(t.Context()); err != nil || n != partners.MaxSharedAddress {
		t.Errorf("%d places are taken (%v), want %d", n, err, partners.MaxSharedAddress)
	}
	o.switchPlaces(t)
}

// switchPlaces gives places up and takes them again, with all of them taken at first.
func (o *partnerService) switchPlaces(t *testing.T) {
	t.Helper()
	take := func(slug string, place bool) error {
		p, err := o.Find(t.Context(), everyPartner, slug)
		if err != nil {
			t.Fatal(err)
		}
		return o.SetSigning(t.Context(), everyPartner, p.ID, p.RowVersion, models.SigningDefault, place)
	}
	err := take("too-late", true)
	wantError(t, "all are taken", err, apperr.Conflict, "shared_address_full")
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(partners.MaxSharedAddress)) ||
		!strings.Contains(err.Error(), "base URL") {
		t.Errorf("said %v", err)
	}
	wantError(t, "keep a place", take("partner-0", true), "", "")
	wantError(t, "give one up", take("partner-0", false), "", "")
	slugs := []string{"too-late", "elsewhere", "partner-0"}
	errs := atOnce(len(slugs), func(i int) error { return take(slugs[i], true) })
	for i, err := range errs {
		if err != nil {
			wantError(t, slugs[i], err, apperr.Conflict, "shared_address_full")
		}
	}
	if n := succeeded(errs); n != 1 {
		t.Errorf("%d got the last place", n)
	}
}
