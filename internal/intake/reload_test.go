//go:build !short

package intake_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// A post uses the same directory from start to end. Otherwise the partner of its base URL and the
// partner of its account could be different pointers, and the post would seem to belong to another
// partner.
func TestReloadDoesNotAffectPosts(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	p := n.Required
	// The notes are long, so that a reload happens between the two lookups.
	b := body("tx_none", partnerID(p.Accounts[0].Identifier), `"notes":"`+strings.Repeat("x", 9_000)+`"`)
	r := n.signed(p, p.Slug, b)
	over := make(chan struct{})
	var posting sync.WaitGroup
	for range 2 {
		posting.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				_, err := n.in.Post(t.Context(), r)
				if f := apperr.As(err); f == nil || f.Reason != badTransactionID.reason {
					t.Errorf("post during a reload: %v", err)
					return
				}
			}
		})
	}
	defer posting.Wait()
	defer close(over)
	for range 100 {
		if _, err := n.sees.Exec(t.Context(), `UPDATE partners SET notes = notes WHERE id = $1`, p.ID); err != nil {
			t.Fatal(err)
		}
		n.Reload(t)
	}
}
