package partners

import (
	"crypto/rand"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

const (
	secretPrefix = "pp_"
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	secretDigits = 43 // base62 digits, enough for 256 bits
	minImported  = 16
	maxImported  = 256
	minDistinct  = 8 // distinct characters in an imported secret
)

func checkLabel(label string) *apperr.Error {
	return checkLine("label", "label", strings.TrimSpace(label))
}

func checkImported(plain string) *apperr.Error {
	const advice = "Import one with at least 32 random characters, or create a new secret."
	bad := func(reason, message string) *apperr.Error {
		return invalid(reason, apperr.InvalidValue, "import", message)
	}
	n := utf8.RuneCountInString(plain)
	switch {
	case n < minImported || n > maxImported || !utf8.ValidString(plain) || strings.TrimSpace(plain) != plain ||
		strings.ContainsFunc(plain, func(r rune) bool { return !unicode.IsPrint(r) }):
		return bad("secret_form",
			"An imported secret must have 16 to 256 printable characters and no spaces at the start or end.")
	case isExample(plain):
		return bad("secret_weak", "This secret is a published example. "+advice)
	case repeats(plain):
		return bad("secret_weak", "This secret is a repeated pattern, which is easy to guess. "+advice)
	case distinctRunes(plain) < minDistinct:
		return bad("secret_weak", "This secret has fewer than 8 different characters, which is easy to guess. "+advice)
	}
	return nil
}

// isExample reports whether a secret is a common placeholder or appears in this project's
// documentation.
func isExample(plain string) bool {
	examples := []string{
		"example-secret-never-use-this-one", // the OpenAPI document's worked example
		"your-256-bit-secret", "your-signing-secret", "your-webhook-secret", "my-secret-signing-key",
		"0123456789abcdef", "1234567890123456", "abcdefghijklmnop", "qwertyuiopasdfgh",
		"correct horse battery staple", "correct-horse-battery-staple", "correcthorsebatterystaple",
	}
	return slices.Contains(examples, strings.ToLower(plain))
}

func repeats(plain string) bool {
	for piece := 1; piece <= len(plain)/2; piece++ {
		if plain[piece:] == plain[:len(plain)-piece] {
			return true
		}
	}
	return false
}

func distinctRunes(plain string) int {
	seen := map[rune]bool{}
	for _, r := range plain {
		seen[r] = true
	}
	return len(seen)
}

// secretHint returns the parts of a secret that lists can show: the prefix and the last four
// characters, or the last two of a short imported secret. They are enough to recognise the secret,
// but not to guess it.
func secretHint(plain string) (prefix, last string) {
	runes := []rune(plain)
	if strings.HasPrefix(plain, secretPrefix) {
		prefix = secretPrefix
	}
	if len(runes) < 2*minImported {
		return prefix, string(runes[len(runes)-2:])
	}
	return prefix, string(runes[len(runes)-4:])
}

// GenerateSecret returns a random 256-bit secret in base62. All characters after the prefix are equally
// likely.
func GenerateSecret() string {
	out := []byte(secretPrefix)
	var buf [64]byte
	for len(out) < len(secretPrefix)+secretDigits {
		rand.Read(buf[:])
		for _, b := range buf {
			if int(b) < 4*len(base62) && len(out) < len(secretPrefix)+secretDigits {
				out = append(out, base62[int(b)%len(base62)])
			}
		}
	}
	return string(out)
}
