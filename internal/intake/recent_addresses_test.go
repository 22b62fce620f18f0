package intake

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"
)

func numbered(i int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(i))
	return netip.AddrFrom4(b)
}

func TestRecentAddressesAreRememberedForAWindow(t *testing.T) {
	t.Parallel()
	var r recentAddresses
	now := testTime
	r.add(numbered(0), now)
	r.add(numbered(1), now.Add(recentWindow-1))
	for _, c := range []struct {
		after  time.Duration
		first  bool
		second bool
	}{
		{0, true, true}, {recentWindow, true, true}, {2*recentWindow - 1, true, true}, {2 * recentWindow, false, false},
	} {
		if first, second := r.has(numbered(0), now.Add(c.after)), r.has(numbered(1), now.Add(c.after)); first != c.first || second != c.second {
			t.Errorf("after %s: got %t, %t", c.after, first, second)
		}
	}
	if r.has(numbered(2), now) {
		t.Error("has reports an address that was not added")
	}
}

func TestRecentAddressesAreLimited(t *testing.T) {
	t.Parallel()
	var r recentAddresses
	for i := range 5 * maxRecentAddresses {
		r.add(numbered(i), testTime)
		if !r.has(numbered(i), testTime) || !r.has(numbered(max(i-maxRecentAddresses+1, 0)), testTime) {
			t.Fatalf("%d: one of the last %d addresses was forgotten", i, maxRecentAddresses)
		}
	}
	if n := len(r.current) + len(r.before); n > 2*maxRecentAddresses {
		t.Errorf("got %d addresses", n)
	}
}
