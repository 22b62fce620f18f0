package intake

import (
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/signing"
)

// Rejecting a post from an unknown partner, an inactive partner or a partner without a secret
// takes as long as rejecting an invalid signature, because a dummy verifier is used.
func TestPostVerifiesDummyForUnknownPartner(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	claim, err := signing.Check(signing.Headers{
		Timestamp: []string{"1767323045"},
		Signature: []string{strings.Repeat("0", 64)},
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	suspended := &partners.Partner{Default: &partners.Account{}}
	suspended.Default.Partner = suspended
	for name, c := range map[string]struct {
		basePartner *partners.Partner
		partnerID   string
	}{
		"unknown":                               {nil, "no-such-account"},
		"unknown on a partner's base URL":       {suspended, "no-such-account"},
		"not active":                            {suspended, ""},
		"without any account, without a secret": {&partners.Partner{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			used := 0
			in := New(Deps{}, Settings{})
			in.dummyVerifiers.New = func() any { used++; return signing.NewVerifier(nil) }
			p := post{
				directory:   &partners.Directory{},
				start:       now,
				claim:       claim,
				payload:     payload.Post{PartnerID: c.partnerID},
				basePartner: c.basePartner,
			}
			_, err := in.authenticate(t.Context(), p)
			if f := apperr.As(err); f == nil || f.Code != apperr.Unauthorized || f.Message != signing.ErrSignature.Message {
				t.Errorf("got error %v", err)
			}
			if used != 1 {
				t.Errorf("used %d dummy verifiers, want 1", used)
			}
		})
	}
}
