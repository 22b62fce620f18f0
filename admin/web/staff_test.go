package web

import (
	"testing"
)

func TestDevice(t *testing.T) {
	for agent, want := range map[string][2]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0":                                                                  {"Firefox", "Linux"},
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 Safari/537.36 Edg/129.0":               {"Edge", "Windows"},
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15":                   {"Safari", "macOS"},
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1": {"Safari", "iPhone"},
		"Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/129.0.0.0 Mobile Safari/537.36":                            {"Chrome", "Android"},
		"curl/8.5.0": {"curl", ""},
		"":           {},
		"<script>":   {},
	} {
		if browser, system := device(agent); browser != want[0] || system != want[1] {
			t.Errorf("device(%q) = %q, %q, want %q", agent, browser, system, want)
		}
	}
}
