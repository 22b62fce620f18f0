package intake_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/models"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	t.Run("pings per address", func(t *testing.T) { pingsPerAddress(t, n) })
	t.Run("posts per partner", func(t *testing.T) { postsPerPartner(t, n) })
	t.Run("unsigned posts per address", func(t *testing.T) { unsignedPostsPerAddress(t, n) })
	t.Run("invalid signatures per address", func(t *testing.T) { invalidSignaturesPerAddress(t, n) })
}

// Pings to the shared base URL, including invalid ones, have a limit per address. Pings to
// partners' base URLs have a separate limit.
func pingsPerAddress(t *testing.T, n *node) {
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
		t.Errorf("invalid ping: %v", f)
	}
	for _, body := range []string{good, bad} { // rejected before it is parsed
		n.Time.Advance(300 * time.Millisecond)
		if f := apperr.As(ping("2001:db8::4", shared, body)); f == nil || f.Code != apperr.TooMany ||
			f.RetryAfter <= 0 || f.RetryAfter > time.Second {
			t.Errorf("fourth ping: %v", f)
		}
	}
	for i, slug := range []string{n.Off.Slug, n.Required.Slug, n.Off.Slug, n.Required.Slug, n.Off.Slug} {
		if f := apperr.As(ping("2001:db8::5", slug, good)); (f == nil) != (i < 4) {
			t.Errorf("ping %d to a partner's base URL: %v", i+1, f)
		}
	}
	if err := ping("2001:db8:0:1::1", shared, good); err != nil {
		t.Errorf("another address: %v", err)
	}
	n.Time.Advance(400 * time.Millisecond)
	if err := ping("2001:db8::1", shared, good); err != nil {
		t.Errorf("a second later: %v", err)
	}
}

// Posts have a limit per partner and second. Posts with a forged signature do not count. Above
// the limit, signatures are not checked.
func postsPerPartner(t *testing.T, n *node) {
	n = n.with(intake.Settings{PostRate: 2})
	own := func() intake.PostRequest {
		return n.signed(n.Required, n.Required.Slug, body(n.quote(t, n.Required.Slug)))
	}
	forged := own()
	forged.Headers = testkit.SignWith(unknownSecret, n.Time.Now(), forged.Body)
	for range 5 {
		n.rejected(t, forged, badSignature)
	}
	first := own()
	var delivered intake.PostResult
	n.stores(t, oneLead, func() { delivered = n.post(t, first) })
	n.again(t, delivered, first, true) // a retry counts as the second post
	third := own()
	n.stores(t, nothing, func() {
		for _, r := range []intake.PostRequest{third, forged, n.anonymous(t, n.Required.Secret, "")} {
			if f := n.rejected(t, r, tooMany); f.RetryAfter != time.Second {
				t.Errorf("got Retry-After %s", f.RetryAfter)
			}
		}
	})
	n.post(t, n.signed(n.Off, n.Off.Slug, body(n.quote(t, n.Off.Slug))))
	n.Time.Advance(time.Second)
	n.stores(t, oneLead, func() { n.post(t, third) })
}

// Unsigned posts, including invalid ones, have a limit per address and second, across all partners.
// Signed posts do not count (decision 28).
func unsignedPostsPerAddress(t *testing.T, n *node) {
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
			t.Errorf("got Retry-After %s", f.RetryAfter)
		}
	}
	signed := n.signed(n.Off, n.Off.Slug, body(n.quote(t, n.Off.Slug)))
	signed.Address = clientaddr.Group("2001:db8::1")
	n.post(t, signed)
	// The unsigned posts did not count towards the partner's limit.
	n.rejected(t, n.signed(n.Off, n.Off.Slug, body(n.quote(t, n.Off.Slug))), tooMany)
	n.post(t, from("2001:db8:0:1::1", n.Off.Slug, body(n.quote(t, n.Off.Slug))))
	n.Time.Advance(time.Second)
	n.post(t, from("2001:db8::1", n.Off.Slug, body(n.quote(t, n.Off.Slug))))
}

// Invalid signatures have their own limit. Valid signatures and unsigned posts do not count towards
// it, but a signed post with an unknown partnerId does.
func invalidSignaturesPerAddress(t *testing.T, n *node) {
	n = n.with(intake.Settings{WrongSignatures: 3})
	const here, there = "192.0.2.1", "192.0.2.2"
	signed := func(secret, slug, address string) intake.PostRequest {
		r := n.anonymous(t, secret, address)
		r.Slug = slug
		return r
	}
	n.post(t, signed(n.Off.Secret, n.Off.Slug, here))
	n.rejected(t, signed(unknownSecret, n.Off.Slug, here), badSignature)
	n.rejected(t, signed(unknownSecret, n.Required.Slug, here), badSignature)
	unknown := unsigned(shared, []byte(`{"partnerId":"no-such-account"}`))
	unknown.Address, unknown.Headers = clientaddr.Group(here), testkit.SignWith(n.Off.Secret, n.Time.Now(), unknown.Body)
	n.rejected(t, unknown, badSignature.as(models.OutcomeUnknownAccount))
	// On a partner's own base URL, valid signatures are accepted even above the limit (decision 12).
	n.post(t, signed(n.Off.Secret, n.Off.Slug, here))
	for _, r := range []intake.PostRequest{signed(unknownSecret, n.Off.Slug, here), unknown, signed(n.Off.Secret, shared, here)} {
		if f := n.rejected(t, r, tooMany); f.RetryAfter != time.Minute {
			t.Errorf("got Retry-After %s", f.RetryAfter)
		}
	}
	n.post(t, signed(n.Off.Secret, n.Off.Slug, there))
	open := unsigned(n.Off.Slug, body(n.quote(t, n.Off.Slug)))
	open.Address = clientaddr.Group(here)
	n.post(t, open)
	n.Time.Advance(time.Minute)
	n.post(t, signed(n.Off.Secret, n.Off.Slug, here))
}
