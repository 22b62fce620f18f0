package main

import (
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/devstack"
	"github.com/pingpost/pingpost/models"
)

// TestWelcome checks that the printed commands use the public URL and the first approved partner.
func TestWelcome(t *testing.T) {
	t.Parallel()
	r := ready{APIURL: "http://localhost:1", Partners: []devstack.Partner{
		{Slug: "harbour-leads", Signing: models.SigningRequired, Status: models.PartnerSuspended},
		{Slug: "meadow-media", Signing: models.SigningOff, Status: models.PartnerApproved},
	}}
	var b strings.Builder
	if err := printWelcome(&b, r, "https://leads.example.com", devFlags{dataDir: "/my data"}); err != nil {
		t.Fatal(err)
	}
	shown := b.String()
	commands := strings.Join(pasteable(shown), "")
	head, _, _ := strings.Cut(shown, "TX=")
	for _, want := range []string{
		"partner API  http://localhost:1 ", " partner list --data-dir '/my data'\n",
		"harbour-leads   signing required   suspended", " partner approve harbour-leads --data-dir '/my data'\n",
		"meadow-media   signing off\n", "https://leads.example.com/p/harbour-leads\n",
	} {
		if !strings.Contains(head, want) {
			t.Errorf("%q is not in the output: %s", want, head)
		}
	}
	if strings.Contains(commands, "localhost") || strings.Contains(commands, "harbour-leads") ||
		strings.Count(commands, "https://leads.example.com/p/meadow-media/api/lead/") != 4 {
		t.Errorf("got the commands %s", commands)
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"[::]:8080":      "http://localhost:8080",
		"0.0.0.0:8080":   "http://localhost:8080",
		"127.0.0.1:8080": "http://127.0.0.1:8080",
		"[::1]:8080":     "http://[::1]:8080",
		"192.0.2.7:80":   "http://192.0.2.7:80",
	} {
		if got := origin(addr); got != want {
			t.Errorf("origin(%s) = %s, want %s", addr, got, want)
		}
	}
}
