package journal

import (
	"bytes"
	"context"
	"errors"
	"slices"
)

// memory is a journal in memory. Only one goroutine at a time may use it.
type memory map[int64][]byte

// Copy reads all entries of a journal, and returns a journal in memory that contains them. Entries that are written
// to the copy are not written to the original.
func Copy(ctx context.Context, original Store) (Store, error) {
	last, err := original.Last(ctx, 0)
	if err != nil {
		return nil, err
	}
	m := memory{}
	for sequence := int64(1); sequence <= last; sequence++ {
		text, err := original.Read(ctx, sequence)
		if errors.Is(err, ErrNotFound) {
			continue // the service reports the missing entry
		}
		if err != nil {
			return nil, err
		}
		m[sequence] = text
	}
	return m, nil
}

// Read implements Store.
func (m memory) Read(_ context.Context, sequence int64) ([]byte, error) {
	text, ok := m[sequence]
	if !ok {
		return nil, ErrNotFound
	}
	return slices.Clone(text), nil
}

// Write implements Store.
func (m memory) Write(_ context.Context, sequence int64, text []byte) error {
	if stored, ok := m[sequence]; ok && !bytes.Equal(stored, text) {
		return ErrConflict
	}
	m[sequence] = slices.Clone(text)
	return nil
}

// CheckWrite implements Store.
func (m memory) CheckWrite(context.Context) error { return nil }

// Last implements Store.
func (m memory) Last(_ context.Context, after int64) (last int64, err error) {
	for sequence := range m {
		if sequence > after {
			last = max(last, sequence)
		}
	}
	return last, nil
}
