package leads_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
)

// A lead is stored only if its wrapping key is registered. The other leads in its group are stored.
func TestDeliverChecksWrappingKey(t *testing.T) {
	t.Parallel()
	p := platform(t)
	const posts = 300
	inParallel(t, posts, func(i int) error {
		d, registered := delivery(p, p.Required), true
		switch i % 3 {
		case 1:
			d.WrappingKey, registered = "2", false
		case 2:
			d.Key.KeyWrapper, d.Key.KeyVersion, registered = "vault", "v1", false // the registered key of another wrapper
		}
		_, isNew, err := p.Leads.Deliver(t.Context(), d)
		switch {
		case registered && (err != nil || !isNew):
			return errors.Join(errors.New("a lead with a registered key was not stored"), err)
		case !registered && (err == nil || isNew || errors.Is(err, leads.ErrInactive) || !strings.Contains(err.Error(), "pingpost keys introduce")):
			return errors.Join(errors.New("a lead with an unregistered key got another result"), err)
		}
		return nil
	})
	if got := stored(t, p); got != "100/100/100/100" {
		t.Errorf("stored %s rows, want 100 (one of three)", got)
	}
}

// A transaction that was delivered with a registered key gets its receipt, whichever key the retry uses.
func TestRetryWithUnregisteredKeyGetsReceipt(t *testing.T) {
	t.Parallel()
	p := platform(t)
	first := delivery(p, p.Required)
	if _, _, err := p.Leads.Deliver(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	again := delivery(p, p.Required)
	again.Lead.ID, again.WrappingKey = first.Lead.ID, "2"
	receipt, isNew, err := p.Leads.Deliver(t.Context(), again)
	if err != nil || isNew || receipt.LeadID != first.Lead.ID || !bytes.Equal(receipt.Envelope.Wrapped, first.Key.WrappedKey) {
		t.Errorf("got receipt %+v, stored %v and error %v, want the first receipt", receipt, isNew, err)
	}
}

// Two nodes register different first keys at the same time. Both wait for the same lock, and one of them
// registers its keys.
func TestFirstKeysAreRegisteredOnce(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	holder := testkit.Connect(t, d.RootURL)
	tx, err := holder.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtext('wrapping keys'))`)
	}
	if err != nil {
		t.Fatal(err)
	}
	store := leads.NewStore(d.DB.Pool)
	results := make(chan []envelope.WrappingKey, 2)
	for _, name := range []string{"1", "2"} {
		go func() {
			added, err := store.RegisterFirstKeys(t.Context(), []envelope.WrappingKey{{Wrapper: "local", Key: name}, {Wrapper: "vault", Key: name}})
			if err != nil {
				t.Error(err)
			}
			results <- added
		}()
	}
	testkit.Eventually(t, 10*time.Second, "both wait for the lock", func() bool {
		return testkit.Value[int](t, d, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) == 2
	})
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	winner, loser := <-results, <-results
	if len(winner) == 0 {
		winner, loser = loser, winner
	}
	if len(winner) != 2 || len(loser) != 0 || winner[0].Key != winner[1].Key {
		t.Errorf("the nodes registered %v and %v, want the keys of one of them", winner, loser)
	}
	if got, err := store.WrappingKeys(t.Context()); err != nil || !slices.Equal(got, winner) {
		t.Errorf("got registered keys %v and error %v, want %v", got, err, winner)
	}

	// Later keys are registered on request, and only once.
	later := []envelope.WrappingKey{winner[0], {Wrapper: "local", Key: "3"}}
	for _, want := range [][]envelope.WrappingKey{later[1:], nil} {
		if added, err := store.RegisterKeys(t.Context(), later); err != nil || !slices.Equal(added, want) {
			t.Errorf("registered %v with error %v, want %v", added, err, want)
		}
	}
}
