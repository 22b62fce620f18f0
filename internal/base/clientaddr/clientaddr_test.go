package clientaddr_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/base/clientaddr"
)

func TestGroup(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"192.0.2.1":               "192.0.2.1",
		"::ffff:192.0.2.1":        "192.0.2.1",
		"2001:db8:1:2:3:4:5:6":    "2001:db8:1:2::",
		"2001:db8:1:2:ffff::1%e0": "2001:db8:1:2::",
		"2001:db8:1:3::1":         "2001:db8:1:3::",
		"":                        "invalid IP",
		"192.0.2.1:80":            "invalid IP",
		"somewhere":               "invalid IP",
	} {
		if got := clientaddr.Group(text).String(); got != want {
			t.Errorf("Group(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestSite(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"192.0.2.1":            "192.0.2.1",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1::",
		"2001:db8:1:ffff::":    "2001:db8:1::",
		"":                     "invalid IP",
	} {
		if got := clientaddr.Site(clientaddr.Group(text)).String(); got != want {
			t.Errorf("Site(%q) = %s, want %s", text, got, want)
		}
	}
}
