package soak

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// user is a console user who is signed in on every node.
type user struct {
	p       *platform
	email   string
	cookies map[*node]string
}

// user creates a user with a role and signs in on every node.
func (p *platform) user(t *testing.T, role string) *user {
	t.Helper()
	const password = "a long enough password"
	u := &user{p: p, email: uuid.NewString() + "@example.com", cookies: map[*node]string{}}
	cmd := p.command(t, "staff", "create", u.email, "--role", role, "--password-stdin")
	cmd.Stdin = strings.NewReader(password)
	runCommand(t, cmd)
	for _, n := range p.nodes {
		form := url.Values{"email": {u.email}, "password": {password}}.Encode()
		resp := u.request(t, n, http.MethodPost, "/login", strings.NewReader(form))
		cookie, _, found := strings.Cut(resp.Header.Get("Set-Cookie"), ";")
		if resp.StatusCode != http.StatusSeeOther || !found {
			t.Fatalf("signing in on %s: %s", n.name, resp.Status)
		}
		u.cookies[n] = cookie
	}
	return u
}

func (u *user) request(t *testing.T, n *node, method, path string, body io.Reader) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, n.url("ADMIN")+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Cookie", u.cookies[n])
	client := http.Client{
		Timeout:       20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

// gets returns a function that reports whether a node's response for a page has the given status.
func (u *user) gets(t *testing.T, path string, status int) func(*node) bool {
	return func(n *node) bool { return u.request(t, n, http.MethodGet, path, nil).StatusCode == status }
}

// change runs a statement in which %s is replaced by the user's ID.
func (u *user) change(t *testing.T, sql string) {
	t.Helper()
	if _, err := u.p.root(t).Exec(t.Context(), fmt.Sprintf(sql, "(SELECT id FROM staff WHERE email = '"+u.email+"')")); err != nil {
		t.Fatal(err)
	}
}

// staffChangesReachEveryNode changes a user's role and then deactivates the user.
func (p *platform) staffChangesReachEveryNode(t *testing.T, within func(string, func(*node) bool)) {
	u := p.user(t, "auditor")
	within("role", u.gets(t, "/staff", http.StatusOK))
	u.change(t, `UPDATE staff_roles SET role = 'finance' WHERE staff_id = %s`)
	within("changed role", u.gets(t, "/staff", http.StatusForbidden))
	u.change(t, `UPDATE staff SET status = 'deactivated' WHERE id = %s`)
	for _, n := range p.nodes { // immediately, because each request reads the user's row
		if !u.gets(t, "/", http.StatusSeeOther)(n) {
			t.Errorf("%s still accepts a deactivated user", n.name)
		}
	}
}
