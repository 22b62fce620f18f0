package intake_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/clientaddr"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/testkit"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	t.Run("pings of an address", func(t *testing.T) { pingsOfAnAddress(t, n) })
	t.Run("posts of a partner", func(t *testing.T) { postsOfAPartner(t, n) })
	t.Run("unsigned posts of an address", func(t *testing.T) { unsignedPostsOfAnAddress(t, n) })
	t.Run("wrong signatures of an address", func(t *testing.T) { forgeriesOfAnAddress(t, n) })
}

// An address has its pings to the shared address each second, whatever they say, and
// apart from them those to partners' base URLs.
func pingsOfAnAddress(t *testing.T, n *node) {
	n = n.with(intake.Settings{PingRate: 4, SharedPingRate: 3})
	ping := func(address, slug, body string) error {
		_, err := n.in.Ping(intake.PingRequest{Slug: slug, Address: clientaddr.Group(address), Body: []byte(body)})
		return err
	}
	const good, bad = `{"industry":"plumber","postcode":"1"}`, `{}`
	if err := errors.Join(ping("2001:db8::1", shared, good), ping("2001:db8::2", shared, good)); err != nil {
		t.Fatal(err)
	}
	if f := apperr.As(ping("2001:db8::3", shared, bad)); f == nil || f.Code != apperr.Invalid {
		t.Errorf("a bad ping: %v", f)
	}
	for _, body := range []string{good, bad} { // refused before it is read
		n.Time.Advance(300 * time.Millisecond)
		if f := apperr.As(ping("2001:db8::4", shared, body)); f == nil || f.Code != apperr.TooMany ||
			f.RetryAfter <= 0 || f.RetryAfter > time.Second {
			t.Errorf("the fourth ping: %v", f)
		}
	}
	for i, slug := range []string{n.Off.Slug, n.Required.Slug, n.Off.Slug, n.Required.Slug, n.Off.Slug} {
		if f := apperr.As(ping("2001:db8::5", slug, good)); (f == nil) != (i < 4) {
			t.Errorf("ping %d at a partner's base URL: %v", i+1, f)
		}
	}
	if err := ping("2001:db8:0:1::1", shared, good); err != nil {
		t.Errorf("a neighbour: %v", err)
	}
	n.Time.Advance(400 * time.Millisecond)
	if err := ping("2001:db8::1", shared, good); err != nil {
		t.Errorf("a second later: %v", err)
	}
}

// A partner has its posts each second. What others sign in its name is on nobody's
// account, and beyond the bound a signature is not looked at.
func postsOfAPartner(t *testing.T, n *node) {
	n = n.with(intake.Settings{PostRate: 2})
	own := func() intake.PostRequest {
		return n.signed(n.Required, n.Required.Slug, body(n.quote(t, n.Required.Slug)))
	}
	forged := own()
	forged.Headers = testkit.SignWith(someSecret, n.Time.Now(), forged.Body)
	for range 5 {
		n.rejected(t, forged, badSignature)
	}
	first := own()
	var delivered intake.PostResult
	n.stores(t, oneLead, func() { delivered = n.post(t, first) })
	n.again(t, delivered, first, true) // a retry counts as well: it is the second
	third := own()
	n.stores(t, nothing, func() {
		for _, r := range []intake.PostRequest{third, forged, n.anonymous(t, n.Required.Secret, "")} {
			if f := n.rejected(t, r, tooMany); f.RetryAfter != time.Second {
				t.Errorf("come back after %s", f.RetryAfter)
			}
		}
	})
	n.post(t, n.signed(n.Off, n.Off.Slug, body(n.quote(t, n.Off.Slug))))
	n.Time.Advance(time.Second)
	n.stores(t, oneLead, func() { n.post(t, third) })
}

// An address has its unsigned posts each second, whatever they say and whichever
// partner they name. Signed posts do not spend that budget (decision 28).
func unsignedPostsOfAnAddress(t *testing.T, n *node) {
	n = n.with(intake.Settings{UnsignedRate: 2, PostRate: 1})
	from := func(address, slug string, body []byte) intake.PostRequest {
		r := unsigned(slug, body)
		r.Address = clientaddr.Group(address)
		return r
	}
	junk := func(address, slug string) intake.PostRequest { return from(address, slug, []byte(`{}`)) }
	n.rejected(t, junk("2001:db8::1", n.Required.Slug), noSignature)
	n.rejected(t, junk("2001:db8::2", n.Off.Slug), badPost)
	for _, slug := range []string{n.Required.Slug, n.ReportOnly.Slug, n.Off.Slug, shared} {
		if f := n.rejected(t, junk("2001:db8::3", slug), tooMany); f.RetryAfter != time.Second {
			t.Errorf("retry after %s", f.RetryAfter)
		}
	}
	signed := n.signed(n.Off, n.Off.Slug, body(n.quote(t, n.Off.Slug)))
	signed.Address = clientaddr.Group("2001:db8::1")
	n.post(t, signed)
	// The partner's budget is spent now, by that post alone.
	n.rejected(t, n.signed(n.Off, n.Off.Slug, body(n.quote(t, n.Off.Slug))), tooMany)
	n.post(t, from("2001:db8:0:1::1", n.Off.Slug, body(n.quote(t, n.Off.Slug))))
	n.Time.Advance(time.Second)
	n.post(t, from("2001:db8::1", n.Off.Slug, body(n.quote(t, n.Off.Slug))))
}

// Wrong signatures have a budget of their own: neither rightly signed posts nor
// unsigned ones use it up, and an unknown partnerId costs as much as a known one.
func forgeriesOfAnAddress(t *testing.T, n *node) {
	n = n.with(intake.Settings{WrongSignatures: 3})
	const here, there = "192.0.2.1", "192.0.2.2"
	signed := func(secret, slug, address string) intake.PostRequest {
		r := n.anonymous(t, secret, address)
		r.Slug = slug
		return r
	}
	n.post(t, signed(n.Off.Secret, n.Off.Slug, here))
	n.rejected(t, signed(someSecret, n.Off.Slug, here), badSignature)
	n.rejected(t, signed(someSecret, n.Required.Slug, here), badSignature)
	nobody := unsigned(shared, []byte(`{"partnerId":"nobody-at-all"}`))
	nobody.Address, nobody.Headers = clientaddr.Group(here), testkit.SignWith(n.Off.Secret, n.Time.Now(), nobody.Body)
	n.rejected(t, nobody, badSignature)
	for _, r := range []intake.PostRequest{signed(n.Off.Secret, n.Off.Slug, here), nobody, signed(n.Off.Secret, shared, here)} {
		if f := n.rejected(t, r, tooMany); f.RetryAfter != time.Minute {
			t.Errorf("come back after %s", f.RetryAfter)
		}
	}
	n.post(t, signed(n.Off.Secret, n.Off.Slug, there))
	open := unsigned(n.Off.Slug, body(n.quote(t, n.Off.Slug)))
	open.Address = clientaddr.Group(here)
	n.post(t, open)
	n.Time.Advance(time.Minute)
	n.post(t, signed(n.Off.Secret, n.Off.Slug, here))
}
