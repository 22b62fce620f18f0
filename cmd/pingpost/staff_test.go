package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/devstack"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// console returns an HTTP client without a session.
func console(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

func postForm(t *testing.T, c *http.Client, address string, form url.Values) (status int, at, body string) {
	t.Helper()
	resp, err := c.PostForm(address, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Request.URL.Path, string(text)
}

// staffCommands invites users. An administrator accepts the invitation and signs in.
func staffCommands(t *testing.T, p *platform) {
	text, err := os.ReadFile(p.readyFile)
	if err != nil {
		t.Fatal(err)
	}
	var running struct {
		AdminURL string `json:"admin_url"`
		Staff    []devstack.User
	}
	if err := json.Unmarshal(text, &running); err != nil {
		t.Fatal(err)
	}
	if len(running.Staff) != 7 {
		t.Errorf("the ready file has %d users, want 7", len(running.Staff))
	}
	for _, user := range running.Staff {
		form := url.Values{"email": {user.Email}, "password": {user.Password}}
		if status, at, body := postForm(t, console(t), running.AdminURL+"/login", form); status != http.StatusOK ||
			at != "/" {
			t.Errorf("%s cannot log in: %d at %s: %.200s", user.Email, status, at, body)
		}
		if !strings.Contains(p.stdout.String(), user.Email) || !strings.Contains(p.stdout.String(), user.Password) {
			t.Errorf("the login of %s is not printed", user.Email)
		}
	}

	made := printed[staffView](t,
		p.on(t, "staff", "create", "ada@example.com", "--name", "Ada", "--role", "administrator", "--json"))
	if made.Status != "invited" || !strings.HasPrefix(made.Invitation, "/invite/") || made.Roles[0] != "administrator" {
		t.Errorf("created %+v", made)
	}
	c := console(t)
	const password = "a password of some length"
	if status, _, body := postForm(t, c, running.AdminURL+made.Invitation,
		url.Values{"password": {password}, "again": {password}}); status != http.StatusOK {
		t.Errorf("accepting the invitation: %d %s", status, body)
	}
	// The node loads the new role within a second.
	testkit.Eventually(t, patience, "the administrator logs in", func() bool {
		status, at, _ := postForm(t, c, running.AdminURL+"/login", url.Values{
			"email":    {"ada@example.com"},
			"password": {password},
		})
		return status == http.StatusOK && at == "/"
	})
	o := call(t, password+"\n", nil, "staff", "create", "bob@example.com", "--role", "finance@harbour-leads,auditor",
		"--password-stdin", "--data-dir", p.dir)
	if out := o.ok(t); !strings.Contains(out, "bob@example.com: auditor, finance@harbour-leads") ||
		strings.Contains(out, "/invite/") || strings.Contains(out, password) {
		t.Errorf("printed %s", out)
	}
	if out := p.on(t, "staff", "list").ok(t); !strings.Contains(out, "bob@example.com") ||
		!strings.Contains(out, "auditor finance@harbour-leads") {
		t.Errorf("printed %s", out)
	}
	if list := printed[[]staffView](t, p.on(t, "staff", "list", "--json")); len(list) != 9 {
		t.Errorf("got %d users, want 9", len(list))
	}
	for want, args := range map[string][]string{
		"conflict/email_taken": {"staff", "create", "ADA@example.com", "--role", "auditor"},
		"invalid/email":        {"staff", "create", "ada", "--role", "auditor"},
		"invalid/role":         {"staff", "create", "x@example.com", "--role", "owner"},
		"not_found/partner":    {"staff", "create", "x@example.com", "--role", "finance@unknown"},
	} {
		p.on(t, args...).rejected(t, want)
	}
	p.on(t, "staff", "create", "x@example.com", "--role", "administrator@harbour-leads").rejected(t, "invalid/role")
	p.on(t, "staff", "create", "x@example.com").fails(t, 2, "--role")
	call(t, "\n", nil, "staff", "create", "y@example.com", "--role", "auditor", "--password-stdin", "--data-dir",
		p.dir).rejected(t, "invalid/password")
	call(t, "short\n", nil, "staff", "create", "z@example.com", "--role", "auditor", "--password-stdin", "--data-dir",
		p.dir).rejected(t, "invalid/password", "12 to 256 characters", "new invitation")
}

// auditCommands verifies the audit log that the other tests wrote. It then changes the log as the
// database's owner, and the command must detect the change.
func auditCommands(t *testing.T, p *platform) {
	v := printed[auditView](t, p.on(t, "audit", "verify", "--json"))
	if !v.Intact || v.Events < 10 || len(v.Head) != 64 {
		t.Errorf("%+v", v)
	}
	if out := p.on(t, "audit", "verify", "--head", v.Head).ok(t); !strings.Contains(out, v.Head) {
		t.Errorf("printed %s", out)
	}
	p.on(t, "audit", "verify", "--head", strings.Repeat("0", 64)).rejected(t, "conflict/head")
	p.on(t, "audit", "verify", "--head", "x").rejected(t, "invalid/head")
	running, err := devstack.ReadRunning(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	owner := testkit.Connect(t, running.OwnerURL)
	_, failed := owner.Exec(t.Context(), `ALTER TABLE audit_events DISABLE TRIGGER USER`)
	_, changed := owner.Exec(t.Context(),
		`UPDATE audit_events SET actor = 'another actor' WHERE id = (SELECT min(id) + 3 FROM audit_events)`)
	if err := errors.Join(failed, changed); err != nil {
		t.Fatal(err)
	}
	p.on(t, "audit", "verify").rejected(t, "conflict/broken")
}
