package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a text that every printer shows as "[redacted]": fmt with any verb,
// slog, JSON, YAML and other text encodings. An empty one shows as nothing, so
// that `config show` tells what is missing.
//
// Keep it in exported fields and never use it as a map's key: fmt asks no
// method of an unexported field, encoding/json none of a key, and both would
// print the text.
type Secret string

const redacted = "[redacted]"

// Reveal is the text itself, for the one place that uses it.
func (s Secret) Reveal() string { return string(s) }

// String implements fmt.Stringer for callers that ask directly.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format implements fmt.Formatter. Without it a verb that does not fit a string,
// such as %d, would have fmt report the mistake together with the text.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements encoding.TextMarshaler, which JSON, YAML and XML ask.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
