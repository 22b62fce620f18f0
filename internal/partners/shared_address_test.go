package partners_test

import (
	"fmt"
	"testing"

	"github.com/pingpost/pingpost/internal/partners"
)

// Each partner at the shared address costs every anonymous post a comparison, so
// that the places are bounded, however many are made at once (D13).
func TestPlacesAtTheSharedAddress(t *testing.T) {
	o := open(t)
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
}
