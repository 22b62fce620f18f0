package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a string that fmt, slog, JSON, YAML and other text encodings print as "[redacted]". An
// empty Secret is printed as an empty string, so that `config show` shows that it is missing.
//
// Use it only in exported fields, and never as a map key. Otherwise the secret is printed: fmt
// does not call methods on unexported fields, and encoding/json does not call them on keys.
type Secret string

const redacted = "[redacted]"

// Reveal returns the secret. Call it only where the secret is used.
func (s Secret) Reveal() string { return string(s) }

// String implements fmt.Stringer. It is for direct calls, because fmt calls Format instead.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format implements fmt.Formatter. Without it, fmt would print the secret for a verb that is
// not valid for strings, such as %d.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements encoding.TextMarshaler, for JSON, YAML and XML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
