package suggest

import (
	"testing"

	"pgregory.net/rapid"
)

func TestClosest(t *testing.T) {
	keys := []string{"api_addr", "admin_addr", "ops_addr", "public_url"}
	for name, want := range map[string]string{
		"api_adr": "api_addr", "API_ADDR": "api_addr", "ops_adr": "ops_addr", "public-url": "public_url",
		"amdin_addr": "admin_addr", "colour": "", "": "", "x": "",
	} {
		if got := Closest(name, keys); got != want {
			t.Errorf("%q suggests %q, want %q", name, got, want)
		}
	}
}

func TestDistanceIsAMetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-c]{0,8}`)
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		ab := distance(a, b)
		if (ab == 0) != (a == b) || ab != distance(b, a) || ab > distance(a, c)+distance(c, b) || ab > max(len(a), len(b)) {
			t.Fatalf("distance(%q, %q) = %d", a, b, ab)
		}
	})
}
