package docs

import (
	"bytes"
	"regexp"
	"testing"
	"time"
)

// The document states the settings that are in effect. A limit of 0 is no limit.
func TestFill(t *testing.T) {
	s := options(t).Settings
	s.HTTP.IdleTimeout, s.HTTP.ReadHeaderTimeout = 90*time.Second, 1500*time.Millisecond
	s.Limits.PingsPerAddress, s.Limits.PostsPerPartner = 0, 12345
	s.ReturnDays, s.SandboxDays = 1, 14
	const template = "{origin}/p/{partnerSlug}: {http.idle_timeout}, {http.read_header_timeout}, {limits.pings_per_address}, " +
		"{limits.posts_per_partner}, {payouts.return_days}, {retention.sandbox_days}"
	const want = "https://leads.example.com/p/{partnerSlug}: 90 seconds, 1.5s, no limit, " +
		"12,345 per second for each partner, 1 day, 14 days"
	if got := string(s.fill([]byte(template))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Every setting that the document names is replaced with its value.
func TestDocumentNamesKnownSettings(t *testing.T) {
	named := regexp.MustCompile(`\{(origin|[a-z]+\.[a-z_]+)\}`)
	if found := named.FindAll(document(t), -1); len(found) < 10 {
		t.Errorf("the document names only %d settings", len(found))
	}
	comments := regexp.MustCompile(`(?m)^#.*$`)
	if left := named.FindAll(comments.ReplaceAll(newPages(t, "").Document, nil), -1); len(left) > 0 {
		t.Errorf("without a value: %s", bytes.Join(left, []byte(", ")))
	}
}
