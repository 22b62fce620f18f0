package intake_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/intake"
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
