package soak

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
)

// TestNodeWithUnregisteredKey starts a third node with a local key that is not registered, under load.
// Its posts get 503, and the first two nodes must stay ready throughout. Once its key is introduced, it
// must be ready.
func TestNodeWithUnregisteredKey(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, setup{})
	c := p.clients(t, rand.New(rand.NewPCG(rand.Uint64(), 4)))
	c.awaitAcknowledged(t, 100)
	ownKey := []string{"LEAD_VAULT_KEK=c3RyYW5nZXItc3RyYW5nZXItc3RyYW5nZXItc3RyYW4="}
	third := p.newNode(t, "the third node", ownKey...)
	third.launch(t)
	third.await(t, func(ctx context.Context) bool {
		failing, err := third.failingChecks(ctx)
		return err == nil && slices.Equal(failing, []string{"wrapping_key"})
	})
	for range 30 {
		tx, err := c.ping(third)
		if err != nil {
			t.Fatal(err)
		}
		if status := c.status(third, postBody(tx, 1), p.secret); status != http.StatusServiceUnavailable {
			t.Errorf("a post to the third node got %d, want 503", status)
		}
		for _, n := range p.nodes {
			if failing, err := n.failingChecks(t.Context()); err != nil || len(failing) > 0 {
				t.Errorf("%s is not ready: %v (%v)", n.name, failing, err)
			}
		}
	}
	c.awaitAcknowledged(t, 100)
	introduce := p.command(t, "keys", "introduce")
	introduce.Env = append(introduce.Env, ownKey...)
	runCommand(t, introduce)
	third.await(t, third.ready)
	tx, err := c.ping(third)
	if err != nil {
		t.Fatal(err)
	}
	if status := c.status(third, postBody(tx, 1), p.secret); status != http.StatusOK {
		t.Errorf("a post with the introduced key got %d, want 200", status)
	}
	c.end()
}
