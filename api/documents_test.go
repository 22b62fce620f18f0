package api_test

import (
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/browser"
	"github.com/pingpost/pingpost/internal/config"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
)

// Each common question of integrators has a section that is in the table of contents, contains
// the codes and numbers of the answer, and fits on a screen.
func TestDocsAnswerQuestions(t *testing.T) {
	d := config.Defaults(config.Serve)
	number := func(n int) string { // formatted as on the page
		return regexp.MustCompile(`(\d)(\d{3})$`).ReplaceAllString(strconv.Itoa(n), "$1,$2")
	}
	reasons := []string{number(d.Payouts.ReturnDays) + " days", "leadId"}
	for _, one := range payouts.Reasons {
		reasons = append(reasons, string(one.Reason))
	}
	answers := map[string][]string{
		"declined-pings": {string(models.OutcomeExcluded), string(models.OutcomePaused), string(models.OutcomeExcluded),
			string(models.OutcomeCapped), "accepted: false"},
		"timeouts-and-retries": {"5 seconds", "Idempotent-Replayed: true", "408", "429", "Retry-After", "503",
			"500", "409", "Transaction has expired", "deliveredAt"},
		"rate-limits": {"429", "Retry-After", "/64", number(d.Limits.PingsPerAddress),
			number(d.Limits.SharedPingsPerAddress), number(d.Limits.PostsPerPartner),
			number(d.Limits.UnsignedPostsPerAddress), number(d.Limits.SignatureFailuresPerMinute),
			number(d.Limits.MatchFailuresPerMinute)},
		"duplicates":               {"duplicate"},
		"returns":                  reasons,
		"sandbox-accounts":         {"partnerId", "7 days"},
		"browsers-and-cors":        {"CORS", "OPTIONS", "405"},
		"versions-and-deprecation": {"info.version", "reason", "code"},
		"limits": {"15 minutes", "300 seconds",
			number(int(d.HTTP.ReadTimeout/time.Second)) + " seconds", "65,536"},
		"countries": {"GB", "UK", "EUR", "CH"},
		"support":   {"X-Request-Id"},
	}
	server := httptest.NewServer(newService(t, newPlatform(t), nil, nil).handler)
	t.Cleanup(server.Close)
	p := browser.Start(t).Page(t, browser.Emulation{})
	p.Open(server.URL + "/docs")
	lookAt(p, "docs")
	p.Emulate(browser.Emulation{})
	for id, wants := range answers {
		section := browser.Eval[struct {
			Text, Title, Link string
			Height            float64
		}](p, `(() => {
			const at = document.querySelector("section#`+id+`"), link = document.querySelector("nav a[href='#`+id+`']");
			return {text: at?.textContent ?? "", title: at?.querySelector("h2").textContent ?? "", link: link?.textContent ?? "", height: at?.getBoundingClientRect().height ?? 0};
		})()`)
		if section.Title == "" || section.Title != section.Link || section.Height > 800 {
			t.Errorf("%s: got title %q, link %q and a height of %.0f pixels", id, section.Title, section.Link, section.Height)
		}
		for _, want := range slices.Compact(wants) {
			if !strings.Contains(section.Text, want) {
				t.Errorf("%s does not contain %q", id, want)
			}
		}
	}
}
