package envelope

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// ParseWrapped returns the wrapper and the key version of a wrapped data key. For local:5f1c09aa:…, it
// returns "local" and "5f1c09aa". For vault:v3:…, it returns "vault" and "v3".
func ParseWrapped(wrapped []byte) (wrapper, version string, err error) {
	parts := bytes.SplitN(wrapped, []byte(":"), 3)
	if len(parts) != 3 || len(parts[0]) == 0 || len(parts[1]) == 0 {
		return "", "", ErrNotWrapped
	}
	return string(parts[0]), string(parts[1]), nil
}

// ErrNoWrapper means that no key wrapper is configured to wrap new data keys.
var ErrNoWrapper = errors.New("no key wrapper is configured")

// Wrappers contains the configured key wrappers. One of them, the writer, wraps new data keys.
// All of them can unwrap the keys that they wrapped.
type Wrappers struct {
	writer KeyWrapper
	pool   *Pool
	all    map[string]KeyWrapper
}

// NewWrappers returns Wrappers with the given key wrappers. The writer wraps new data keys, and may be
// nil. The others only unwrap.
func NewWrappers(writer KeyWrapper, others ...KeyWrapper) *Wrappers {
	w := &Wrappers{writer: writer, all: map[string]KeyWrapper{}}
	for _, other := range others {
		w.all[other.Name()] = other
	}
	if writer != nil {
		w.all[writer.Name()] = writer
	}
	return w
}

// NewPooledWrappers returns Wrappers that take new data keys from a pool. The writer is the pool's
// writer.
func NewPooledWrappers(pool *Pool, others ...KeyWrapper) *Wrappers {
	w := NewWrappers(pool.writer, others...)
	w.pool = pool
	return w
}

// Configured reports whether there is a writer, the key wrapper for new data keys. Without a writer,
// posts get a response with status 503 (decision 21).
func (w *Wrappers) Configured() bool { return w.writer != nil }

// Writer returns the name of the writer, the key wrapper for new data keys. If there is no writer, it
// returns "".
func (w *Wrappers) Writer() string {
	if w.writer == nil {
		return ""
	}
	return w.writer.Name()
}

// Keys returns all configured wrapping keys. If there is a writer, the first one wraps new data keys.
func (w *Wrappers) Keys() (keys []WrappingKey) {
	if w.writer != nil {
		keys = WrappingKeys(w.writer)
	}
	for name, wrapper := range w.all {
		if name != w.Writer() {
			keys = append(keys, WrappingKeys(wrapper)...)
		}
	}
	return keys
}

// WrappingKeys returns the wrapping keys of a key wrapper, beginning with the one that wraps new data keys.
func WrappingKeys(w KeyWrapper) (keys []WrappingKey) {
	for _, key := range w.Keys() {
		keys = append(keys, WrappingKey{w.Name(), key})
	}
	return keys
}

// Reads reports whether data keys that were wrapped with the given key version can be unwrapped. It does
// not try to unwrap a key.
func (w *Wrappers) Reads(wrapper, version string) bool {
	found, ok := w.all[wrapper]
	return ok && found.Reads(version)
}

// DataKey returns a new data key. If there is a pool, the key comes from the pool. Otherwise it comes
// from the writer, the key wrapper for new data keys.
func (w *Wrappers) DataKey(ctx context.Context) (DataKey, error) {
	switch {
	case w.writer == nil:
		return DataKey{}, ErrNoWrapper
	case w.pool != nil:
		return w.pool.Take(ctx)
	}
	keys, err := NewDataKeys(ctx, w.writer, 1)
	if err != nil {
		return DataKey{}, err
	}
	return keys[0], nil
}

// CurrentKeyVersion returns the name and the current key version of the writer, the key wrapper for new
// data keys.
func (w *Wrappers) CurrentKeyVersion(ctx context.Context) (wrapper, version string, err error) {
	if w.writer == nil {
		return "", "", ErrNoWrapper
	}
	keys, err := NewDataKeys(ctx, w.writer, 1)
	if err != nil {
		return "", "", err
	}
	defer keys[0].Zero()
	return ParseWrapped(keys[0].Wrapped)
}

// Unwrap decrypts data keys, each with the wrapper that wrapped it. If a wrapper does not
// respond, only its keys fail.
func (w *Wrappers) Unwrap(ctx context.Context, wrapped [][]byte) []Unwrapped {
	out := make([]Unwrapped, len(wrapped))
	w.each(wrapped, func(i int, err error) { out[i].Err = err }, func(wrapper KeyWrapper, theirs [][]byte, at []int) error {
		results, err := wrapper.Unwrap(ctx, theirs)
		for j, i := range at[:len(results)] {
			out[i] = results[j]
		}
		return err
	})
	return out
}

// Rewrap wraps data keys with the newest key version of the writer. If a key was wrapped by the writer,
// and the writer is a Rewrapper, the writer rewraps the key directly. Otherwise the key is unwrapped and
// wrapped again.
func (w *Wrappers) Rewrap(ctx context.Context, wrapped [][]byte) []Rewrapped {
	out := make([]Rewrapped, len(wrapped))
	if w.writer == nil {
		for i := range out {
			out[i].Err = ErrNoWrapper
		}
		return out
	}
	w.each(wrapped, func(i int, err error) { out[i].Err = err }, func(wrapper KeyWrapper, theirs [][]byte, at []int) error {
		results, err := w.move(ctx, wrapper, theirs)
		for j, i := range at[:len(results)] {
			out[i] = results[j]
		}
		return err
	})
	return out
}

func (w *Wrappers) move(ctx context.Context, from KeyWrapper, wrapped [][]byte) ([]Rewrapped, error) {
	if rewrapper, can := w.writer.(Rewrapper); can && from == w.writer {
		return rewrapper.Rewrap(ctx, wrapped)
	}
	opened, err := from.Unwrap(ctx, wrapped)
	defer clear(opened)
	if err != nil {
		return nil, err
	}
	out := make([]Rewrapped, len(wrapped))
	keys, at := make([][KeySize]byte, 0, len(wrapped)), make([]int, 0, len(wrapped))
	defer clear(keys[:cap(keys)])
	for i := range opened {
		if out[i].Err = opened[i].Err; out[i].Err == nil {
			keys, at = append(keys, opened[i].Key), append(at, i)
		}
	}
	if len(keys) == 0 {
		return out, nil
	}
	sealed, err := w.writer.Wrap(ctx, keys)
	if err != nil {
		return nil, err
	}
	for j, i := range at {
		out[i].Wrapped = sealed[j]
	}
	return out, nil
}

// This method groups the wrapped keys by wrapper and calls the function do once for each group. In a
// group, theirs[j] is wrapped[at[j]]. If do returns an error, the function fail is called for every key
// in the group. It is also called for every key that cannot be parsed or whose wrapper is not
// configured.
func (w *Wrappers) each(
	wrapped [][]byte, fail func(i int, err error), do func(wrapper KeyWrapper, theirs [][]byte, at []int) error,
) {
	places := map[string][]int{}
	for i, text := range wrapped {
		name, _, err := ParseWrapped(text)
		if _, configured := w.all[name]; err == nil && !configured {
			err = fmt.Errorf("the key wrapper %q is not configured: %w", name, ErrNotWrapped)
		}
		if err != nil {
			fail(i, err)
			continue
		}
		places[name] = append(places[name], i)
	}
	for name, at := range places {
		theirs := make([][]byte, len(at))
		for j, i := range at {
			theirs[j] = wrapped[i]
		}
		if err := do(w.all[name], theirs, at); err != nil {
			for _, i := range at {
				fail(i, err)
			}
		}
	}
}
