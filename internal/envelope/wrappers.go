package envelope

import (
	"bytes"
	"context"
	"fmt"
)

// Origin names the wrapper and key version of a wrapped data key: "local",
// "5f1c09aa" of local:5f1c09aa:…; "vault", "v3" of vault:v3:….
func Origin(wrapped []byte) (wrapper, version string, err error) {
	parts := bytes.SplitN(wrapped, []byte(":"), 3)
	if len(parts) != 3 || len(parts[0]) == 0 || len(parts[1]) == 0 {
		return "", "", ErrNotWrapped
	}
	return string(parts[0]), string(parts[1]), nil
}

// Wrappers are the configured key wrappers: one writes, every one reads.
type Wrappers struct {
	writer KeyWrapper
	all    map[string]KeyWrapper
}

// NewWrappers takes the writing wrapper, nil when none is configured, and
// whichever others may be read.
func NewWrappers(writer KeyWrapper, others ...KeyWrapper) *Wrappers {
	w := &Wrappers{writer: writer, all: map[string]KeyWrapper{}}
	for _, one := range others {
		w.all[one.Name()] = one
	}
	if writer != nil {
		w.all[writer.Name()] = writer
	}
	return w
}

// Configured reports whether there is a wrapper to write with. Without one
// posts get the specification's 503 (D21).
func (w *Wrappers) Configured() bool { return w.writer != nil }

// Writer names the writing wrapper; "" when there is none.
func (w *Wrappers) Writer() string {
	if w.writer == nil {
		return ""
	}
	return w.writer.Name()
}

// DataKey makes a fresh data key with the writing wrapper.
func (w *Wrappers) DataKey(ctx context.Context) (DataKey, error) {
	if w.writer == nil {
		return DataKey{}, fmt.Errorf("no key wrapper is configured")
	}
	return NewDataKey(ctx, w.writer)
}

// Unwrap decrypts a data key with the wrapper that it names.
func (w *Wrappers) Unwrap(ctx context.Context, wrapped []byte) ([KeySize]byte, error) {
	name, _, err := Origin(wrapped)
	if err != nil {
		return [KeySize]byte{}, err
	}
	one, ok := w.all[name]
	if !ok {
		return [KeySize]byte{}, fmt.Errorf("the key wrapper %q is not configured: %w", name, ErrNotWrapped)
	}
	return one.Unwrap(ctx, wrapped)
}
