package admin_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/admin"
	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
	"github.com/pingpost/pingpost/models"
)

// TestBadForms submits invalid values to an administrator's forms. All must be rejected without a change.
func TestBadForms(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Administrator)
	rows := func() int {
		return h.Count(t, "staff", "true") + h.Count(t, "staff_roles", "true") +
			h.Count(t, "staff_invitations", "true") + h.Count(t, "staff", "status <> 'active'")
	}
	before := rows()
	fields := []string{"email", "password", "again", "current", "name", "role", "scope-finance", "partners-finance",
		"version", "proof", "code", "next", "theme", "return", "reason"}
	everywhere := func(value string) url.Values {
		form := url.Values{}
		for _, name := range fields {
			form.Set(name, value)
		}
		return form
	}
	scoped := url.Values{"email": {"x@example.com"}, "name": {"X"}, "role": {"finance"}, "scope-finance": {"some"}}
	for name, body := range map[string]string{
		"nothing":               "",
		"empty fields":          everywhere("").Encode(),
		"long fields":           everywhere(strings.Repeat("x", 10_000)).Encode(),
		"hostile":               everywhere(admintest.HostileText).Encode(),
		"NUL":                   everywhere("a\x00b").Encode(),
		"invalid UTF-8":         "email=%ff%fe&name=%c3%28&role=%ff&proof=%ff&code=%ff&password=%ff&again=%ff",
		"invalid escapes":       "email=%zz&name=%",
		"a megabyte":            "email=x%40example.com&name=" + strings.Repeat("x", 1<<20),
		"ten thousand fields":   strings.Repeat("role=finance&", 10_000),
		"JSON":                  `{"email":"x@example.com"}`,
		"a role for no partner": scoped.Encode(),
		"an unknown partner":    scoped.Encode() + "&partners-finance=" + url.QueryEscape(admintest.HostileText),
		"a stale version":       "version=-1&role=finance",
		"a huge version":        "version=99999999999999999999&role=finance",
	} {
		for _, r := range admin.Routes(h.Options) {
			if r.Method != http.MethodPost || r.Path == "/logout" || r.Path == "/theme" ||
				strings.HasPrefix(r.Path, "/audit") || strings.HasPrefix(r.Path, "/account/sessions") {
				continue
			}
			if strings.HasPrefix(r.Path, "/partners") || strings.HasPrefix(r.Path, "/leads") ||
				strings.HasPrefix(r.Path, "/pricing") || strings.HasPrefix(r.Path, "/payouts") ||
				strings.HasPrefix(r.Path, "/jobs") || strings.HasPrefix(r.Path, "/reconciliation") || strings.HasPrefix(r.Path, "/privacy") {
				continue // other roles' forms, which other tests submit
			}
			if strings.HasSuffix(r.Path, "/sessions/end") || r.Path == "/account/recovery-codes/kept" {
				continue // forms without fields
			}
			p := b.Send(t, http.MethodPost, admintest.FillIn(r.Path, h.StaffID(models.Auditor)),
				strings.NewReader(admintest.WithFormKeyBefore(body)),
				http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
			switch p.Status {
			case http.StatusBadRequest, http.StatusUnauthorized, http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusTooManyRequests:
			case http.StatusSeeOther:
				if r.Login == "" { // signed-in users are redirected from the sign-in pages
					t.Errorf("%s: %s redirects to %s", name, r.Path, p.Location())
				}
			default:
				t.Errorf("%s: %s: %d %.200s", name, r.Path, p.Status, p.Text())
			}
			if strings.Contains(p.Body, "<script>alert") ||
				strings.Contains(p.Body, "onerror=alert(1)>") && !strings.Contains(p.Body, "onerror=alert(1)&gt;") {
				t.Errorf("%s: %s returns markup without escaping it", name, r.Path)
			}
		}
		if now := rows(); now != before {
			t.Fatalf("%s: got %d rows, want %d", name, now, before)
		}
	}
	if p := b.Get(t, "/staff"); p.Status != http.StatusOK {
		t.Errorf("/staff afterwards: got %d, want 200", p.Status)
	}
	h.CheckAuditLog(t)
}

// TestMalformedForm checks that a malformed form is rejected even if its fields are not used, but only after
// the user's permission has been checked.
func TestMalformedForm(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	path := "/staff/" + h.StaffID(models.Auditor) + "/sessions/end"
	for _, post := range []struct {
		who    *admintest.Client
		status int
	}{
		{h.SignedInAs(t, models.Administrator), http.StatusBadRequest},
		{h.SignedInAs(t, models.Auditor), http.StatusForbidden},
		{h.NewClient(t), http.StatusSeeOther},
	} {
		p := post.who.Send(t, http.MethodPost, path, strings.NewReader("name=%zz"),
			http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
		if p.Status != post.status {
			t.Errorf("got %d, want %d: %s", p.Status, post.status, p.Text())
		}
	}
}

// TestBadPartnerForms submits invalid values to all forms for partners. All must be rejected without a
// change.
func TestBadPartnerForms(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	o.Client = o.Console.SignedInEverywhere(t)
	account, err := o.Options.Partners.CreateAccount(t.Context(), scope.System, models.Partner{ID: o.PartnerID},
		partners.NewAccount{Identifier: "harbour-1"})
	if err != nil {
		t.Fatal(err)
	}
	secret, err := o.Options.Partners.CreateSecret(t.Context(), scope.System, models.Partner{ID: o.PartnerID}, "live")
	if err != nil {
		t.Fatal(err)
	}
	state := func() string {
		return testkit.Value[string](t, o.Database, `SELECT md5(string_agg(x::text, '' ORDER BY x::text)) FROM (SELECT p::text FROM partners p UNION ALL
			SELECT a::text FROM accounts a UNION ALL SELECT s::text FROM signing_secrets s UNION ALL SELECT l::text FROM partner_links l) AS all_of_it(x)`)
	}
	fields := []string{
		"name", "slug", "legal_name", "address", "tax_id", "payment_terms", "manager", "notes", "version", "identifier", "signing", "status", "overlap", "when", "import",
		"contact-0-name", "contact-0-email", "contact-9-phone", "shared_base_url", "force", "default", "sandbox", "proof", "return",
	}
	everywhere := func(value string) string {
		form := url.Values{}
		for _, name := range fields {
			form.Set(name, value)
		}
		return form.Encode()
	}
	// These forms have no required fields, so most invalid values do not affect them.
	withoutRequired := map[string]bool{"/prices": true, "/link": true, "/link/revoke": true, "/secrets/new": true}
	before := state()
	for name, body := range map[string]string{
		"nothing":         "",
		"empty fields":    everywhere(""),
		"long fields":     everywhere(strings.Repeat("x", 3_000)),
		"hostile":         everywhere(admintest.HostileText),
		"NUL":             everywhere("a\x00b"),
		"invalid UTF-8":   "name=%ff&slug=%c3%28&identifier=%ff&label=%ff&import=%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff%ff&signing=%ff&overlap=%ff&when=%ff",
		"invalid escapes": "name=%zz&slug=%",
		"a megabyte":      "name=x&slug=y&label=" + strings.Repeat("x", 1<<20),
		"JSON":            `{"name":"x"}`,
		"a huge version":  "version=99999999999999999999&signing=off&confirmed=off&name=x&status=active",
	} {
		for _, r := range o.Routes("/partners") {
			short := strings.TrimPrefix(r.Path, "/partners/{id}")
			if r.Method != http.MethodPost || withoutRequired[short] && name != "a megabyte" && name != "invalid escapes" {
				continue
			}
			path := strings.NewReplacer("{id}", id.Format(id.Partner, o.PartnerID), "{account}",
				id.Format(id.Account, account.ID), "{secret}", id.Format(id.Secret, secret.ID)).Replace(r.Path)
			p := o.Send(t, http.MethodPost, path, strings.NewReader(admintest.WithFormKeyBefore(body)),
				http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
			switch p.Status {
			case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
			default:
				if r.Path != "/partners/{id}/check" {
					t.Errorf("%s: %s: %d %.200s", name, r.Path, p.Status, p.Text())
				}
			}
			if strings.Contains(p.Body, "<script>alert") ||
				strings.Contains(p.Body, "onerror=alert(1)>") && !strings.Contains(p.Body, "onerror=alert(1)&gt;") {
				t.Errorf("%s: %s returns markup without escaping it", name, r.Path)
			}
			if now := state(); now != before {
				t.Fatalf("%s: %s made a change", name, r.Path)
			}
		}
	}
	o.CheckAuditLog(t)
}

// TestRejectedFormKeepsInput checks that a rejected form contains the submitted values and their errors.
func TestRejectedFormKeepsInput(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Administrator)
	p := b.Post(t, "/staff/invite", url.Values{
		"email":            {"no address"},
		"name":             {`A "quoted" <name>`},
		"role":             {"finance", "auditor"},
		"scope-finance":    {"some"},
		"partners-finance": {"no-such-partner"},
	})
	if p.Status != http.StatusUnprocessableEntity {
		t.Fatalf("%d", p.Status)
	}
	for _, want := range []string{`value="no address"`, `value="A &#34;quoted&#34; &lt;name&gt;"`,
		`value="finance" checked`, `value="auditor" checked`, `value="some" selected`, `value="no-such-partner"`,
		`data-error="partners-finance"`, `id="error-summary"`} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("the page does not contain %s", want)
		}
	}
	if p := b.Post(t, "/staff/invite", url.Values{"email": {"x\x00@example.com"}, "name": {"a\x00b\xff"}, "role": {"auditor"}}); p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Body, "value=\"a\ufffdb\ufffd\"") {
		t.Errorf("invalid text: got %d %s", p.Status, p.Text())
	}
	if p := b.Post(t, "/staff/invite", url.Values{"email": {"auditor@EXAMPLE.com"}, "name": {"Twice"}, "role": {"auditor"}}); p.Status != http.StatusConflict || !slices.Equal(p.Codes(), []string{"email_taken"}) || !strings.Contains(p.Body, `value="Twice"`) {
		t.Errorf("%d %s", p.Status, p.Text())
	}
}

// TestWithoutDatabase checks that pages return 503 while the database is unavailable, and that users stay
// signed in.
func TestWithoutDatabase(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Administrator)
	h.Exec(t, `ALTER TABLE staff_sessions RENAME TO away`)
	for _, path := range []string{"/", "/staff", "/account"} {
		if p := b.Get(t, path); p.Status != http.StatusServiceUnavailable ||
			strings.Contains(p.Body, "staff_sessions") || strings.Contains(p.Body, "SQLSTATE") ||
			!strings.Contains(p.Body, "rq_") {
			t.Errorf("%s: %d %s", path, p.Status, p.Text())
		}
	}
	h.Exec(t, `ALTER TABLE away RENAME TO staff_sessions`)
	if p := b.Get(t, "/staff"); p.Status != http.StatusOK {
		t.Errorf("afterwards: %d", p.Status)
	}
	h.Exec(t, `ALTER TABLE traffic_minutes RENAME TO away`)
	if p := b.Get(t, "/"); p.Status != http.StatusServiceUnavailable ||
		!slices.Contains(p.Values("data-empty"), "failed") || !strings.Contains(p.Body, `<a class="button button-" href="/">`) {
		t.Errorf("%d %s", p.Status, p.Text())
	}
}

// TestPageThatTheUserLeft checks that a page that the user left while it was loading is not logged as an error.
func TestPageThatTheUserLeft(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Administrator)
	at, err := url.Parse(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	var log, access bytes.Buffer
	o := h.Options
	o.Log, o.AccessLog = slog.New(slog.NewTextHandler(&log, nil)), httpserver.NewAccessLog(&access, true)
	console, err := admin.New(o)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := pgx.Connect(t.Context(), h.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(t.Context())
	partner := web.PartnerURL(h.AddPartner(t, "north-road"))
	for path, table := range map[string]string{
		"/staff": "staff_sessions", "/": "traffic_minutes", partner + "?tab=traffic": "traffic_minutes",
	} {
		log.Reset()
		access.Reset()
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, h.URL+path, nil)
		for _, cookie := range b.Jar.Cookies(at) {
			r.AddCookie(cookie)
		}
		lock, err := owner.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lock.Exec(t.Context(), "LOCK TABLE "+table); err != nil {
			t.Fatal(err)
		}
		aborted := make(chan any)
		go func() {
			defer func() { aborted <- recover() }()
			console.ServeHTTP(httptest.NewRecorder(), r)
		}()
		testkit.Eventually(t, time.Minute, "the page waits for "+table, func() bool {
			return testkit.Value[bool](t, h.Database,
				`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)
		})
		leave()
		if got := <-aborted; got != http.ErrAbortHandler || log.Len() > 0 ||
			!strings.Contains(access.String(), "status=499 outcome=aborted") {
			t.Errorf("%s: got %v, logged %s%s", path, got, &log, &access)
		}
		if err := lock.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
