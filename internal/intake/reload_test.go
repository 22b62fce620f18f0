package intake_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/pingpost/pingpost/internal/apperr"
)

// A post is judged by the partners as they were when it arrived. Of two
// directories the partner of its base URL and that of its account are not the
// same, and the post would be another partner's.
func TestAReloadDoesNotDisturbPosts(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	p := n.Required
	// Long, so that a reload falls between the two looks.
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
					t.Errorf("a post of the partner's own, during a reload: %v", err)
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
