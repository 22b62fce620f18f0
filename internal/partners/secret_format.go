package partners

import (
	"crypto/rand"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/apperr"
)

const (
	secretPrefix = "pp_"
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	secretDigits = 43 // of base62: 256 bits, as 32 random bytes hold
	minImported  = 16
	maxImported  = 256
	leastVaried  = 8 // different characters of an imported one
)

func checkLabel(label string) *apperr.Error {
	return checkLine("label", "label", strings.TrimSpace(label))
}

// checkImported refuses a secret that is malformed, and one that somebody may guess:
// whoever does signs leads in the partner's name.
func checkImported(plain string) *apperr.Error {
	const mend = "import one of at least 32 random characters, or have a secret made here."
	bad := func(reason, message string) *apperr.Error {
		return invalid(reason, apperr.InvalidValue, "import", message)
	}
	n := utf8.RuneCountInString(plain)
	switch {
	case n < minImported || n > maxImported || !utf8.ValidString(plain) || strings.TrimSpace(plain) != plain ||
		strings.ContainsFunc(plain, func(r rune) bool { return !unicode.IsPrint(r) }):
		return bad("secret_form", "An imported secret has 16 to 256 printable characters, without blanks at its ends.")
	case isExample(plain):
		return bad("secret_weak", "This secret is an example that anybody can read: "+mend)
	case repeats(plain):
		return bad("secret_weak", "This secret repeats itself, so that it could be guessed: "+mend)
	case varied(plain) < leastVaried:
		return bad("secret_weak", "This secret has fewer than 8 different characters, so that it could be guessed: "+mend)
	}
	return nil
}

// isExample knows the secrets of this project's documents, and what people type or
// copy when they only want to see something work.
func isExample(plain string) bool {
	examples := []string{
		"example-secret-never-use-this-one", // the OpenAPI document's worked example
		"your-256-bit-secret", "your-signing-secret", "your-webhook-secret", "my-secret-signing-key",
		"0123456789abcdef", "1234567890123456", "abcdefghijklmnop", "qwertyuiopasdfgh",
		"correct horse battery staple", "correct-horse-battery-staple", "correcthorsebatterystaple",
	}
	return slices.Contains(examples, strings.ToLower(plain))
}

// repeats reports whether a text is one short piece over and over.
func repeats(plain string) bool {
	for piece := 1; piece <= len(plain)/2; piece++ {
		if plain[piece:] == plain[:len(plain)-piece] {
			return true
		}
	}
	return false
}

func varied(plain string) int {
	seen := map[rune]bool{}
	for _, r := range plain {
		seen[r] = true
	}
	return len(seen)
}

// secretHint is how much of a secret a list may show: enough to tell two apart, too
// little to help a guess. An imported one gives less of itself away.
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

// GenerateSecret draws 256 bits as base62 digits, without modulo bias.
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
