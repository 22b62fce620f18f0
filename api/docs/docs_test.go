package docs

import (
	"os"
	"testing"

	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// document returns the OpenAPI document.
func document(t *testing.T) []byte {
	t.Helper()
	content, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func options(t *testing.T) Options {
	t.Helper()
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	c := config.Defaults(config.Serve)
	c.HTTP.PublicURL = "https://leads.example.com/"
	return Options{
		Document:    document(t),
		Settings:    Settings{HTTP: c.HTTP, Limits: c.Limits, ReturnDays: c.Payouts.ReturnDays, SandboxDays: c.Retention.SandboxDays},
		Taxonomy:    taxonomy,
		DefaultMode: models.SigningRequired,
	}
}

func newPages(t *testing.T, platform models.SigningMode) *Pages {
	t.Helper()
	o := options(t)
	o.DefaultMode = platform
	pages, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// renderGeneral renders the page for all partners.
func renderGeneral(o Options) (string, error) {
	pages, err := New(o)
	if err != nil {
		return "", err
	}
	rendered, err := pages.General()
	return string(rendered), err
}
