package intake_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
)

func BenchmarkPost(b *testing.B) {
	n := newNode(b)
	requests := make([]intake.PostRequest, b.N)
	for i := range requests {
		requests[i] = n.signed(n.Required, n.Required.Slug,
			body(n.quote(b, n.Required.Slug), `"name":"Ann Lee"`, `"phone":"020 7946 0018"`, `"notes":"A tap drips."`))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, r := range requests {
		if _, err := n.in.Post(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRejectUnknownSecret handles a post of 2 KiB that does not identify its partner and is signed with
// an unknown secret. It tries the secrets of as many partners as can use the shared base URL.
func BenchmarkRejectUnknownSecret(b *testing.B) {
	n := newNode(b)
	for i := range partners.MaxSharedBaseURL {
		n.AddPartner(b, fmt.Sprint("partner-", i), models.SigningRequired)
	}
	n.Reload(b)
	if got := len(n.Deps.Directory.Get().Shared()); got != partners.MaxSharedBaseURL {
		b.Fatalf("%d partners can use the shared base URL, want %d", got, partners.MaxSharedBaseURL)
	}
	notes := fmt.Sprintf(`"notes":%q`, strings.Repeat("n", 1870))
	r := n.anonymous(b, unknownSecret, "", notes)
	if len(r.Body) < 1900 || len(r.Body) > 2048 {
		b.Fatalf("the post has %d bytes, want about 2,048", len(r.Body))
	}
	for b.Loop() {
		if _, err := n.in.Post(b.Context(), r); !errors.Is(err, signing.ErrSignature) {
			b.Fatalf("got error %v, want %v", err, signing.ErrSignature)
		}
	}
}

// BenchmarkBareRejectUnknownSecret measures only the hashes that BenchmarkRejectUnknownSecret needs.
func BenchmarkBareRejectUnknownSecret(b *testing.B) {
	message := []byte(strings.Repeat("n", 2048))
	for b.Loop() {
		for range partners.MaxSharedBaseURL {
			digest := sha256.Sum256(message)
			sha256.Sum256(digest[:])
		}
	}
}
