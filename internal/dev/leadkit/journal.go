package leadkit

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/journal"
)

// Journal is a journal whose disk can be full, and whose node can be killed after it has written.
type Journal struct {
	journal.Store
	Full, Killed atomic.Bool
	Written      func() // if not nil, called after each write
}

var (
	errFull   = errors.New("no space left on device")
	errKilled = errors.New("killed")
)

// Write implements journal.Store.
func (b *Journal) Write(ctx context.Context, sequence int64, text []byte) error {
	if b.Full.Load() {
		return errFull
	}
	err := b.Store.Write(ctx, sequence, text)
	if b.Killed.Load() {
		return errKilled
	}
	if b.Written != nil {
		b.Written()
	}
	return err
}

// inJournal returns how often each lead is in the erasure journal.
func (k Kit) inJournal(t *testing.T) map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(k.Folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for _, file := range files {
		var e journal.Entry
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &e)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, lead := range e.Leads {
			all[lead]++
		}
	}
	return all
}

// CheckErasedOnce fails the test unless exactly these leads are erased, each of them once.
func (k Kit) CheckErasedOnce(t *testing.T, want []uuid.UUID) {
	t.Helper()
	erased := testkit.Value[[]uuid.UUID](t, k.DB, `SELECT coalesce(array_agg(l.id ORDER BY l.id), '{}') FROM leads l
		WHERE state = 'erased' AND ciphertext IS NULL AND NOT EXISTS (SELECT FROM lead_keys k WHERE k.lead_id = l.id)`)
	entries := testkit.Value[[]uuid.UUID](t, k.DB, `SELECT coalesce(array_agg(lead_id ORDER BY lead_id), '{}') FROM erasures JOIN erasure_entries USING (sequence) WHERE erased_at IS NOT NULL`)
	slices.SortFunc(want, id.Compare)
	if !slices.Equal(erased, want) || !slices.Equal(entries, want) {
		t.Errorf("%d leads are erased, with %d entries in the database, want %d", len(erased), len(entries), len(want))
	}
	written := k.inJournal(t)
	for _, lead := range want {
		if n := written[id.Format(id.Lead, lead)]; n != 1 {
			t.Errorf("lead %s is in the journal %d times, want once", lead, n)
		}
	}
	if len(written) != len(want) {
		t.Errorf("got %d leads in the journal, want %d", len(written), len(want))
	}
	if _, err := k.Erasures.Verify(t.Context()); err != nil {
		t.Errorf("verify: %v", err)
	}
}
