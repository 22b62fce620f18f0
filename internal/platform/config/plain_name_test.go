package config

import (
	"strings"
	"testing"
)

func TestPlainNameRejectsSecrets(t *testing.T) {
	for name, want := range map[string]bool{
		"api_addr":              true,
		"apiAddr":               true,
		"x-1":                   true,
		"":                      false,
		"a b":                   false,
		"a\nb":                  false,
		keyA:                    false,
		keyA[:43]:               false,
		databaseURL:             false,
		strings.Repeat("a", 41): false,
	} {
		if got := plainName(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
