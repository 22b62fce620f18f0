package soak

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// colleague is one of the staff, signed in on every node.
type colleague struct {
	p       *platform
	email   string
	cookies map[*node]string
}

// colleague creates a user with a role, who signs in.
func (p *platform) colleague(t *testing.T, role string) *colleague {
	t.Helper()
	const password = "a password of some length"
	s := &colleague{p: p, email: uuid.NewString() + "@example.com", cookies: map[*node]string{}}
	cmd := exec.CommandContext(t.Context(), binary, "staff", "create", s.email, "--role", role, "--password-stdin")
	var said bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stderr = p.environment(), strings.NewReader(password), &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	for _, n := range p.nodes {
		form := url.Values{"email": {s.email}, "password": {password}}.Encode()
		resp := s.ask(t, n, http.MethodPost, "/login", strings.NewReader(form))
		cookie, _, found := strings.Cut(resp.Header.Get("Set-Cookie"), ";")
		if resp.StatusCode != http.StatusSeeOther || !found {
			t.Fatalf("signing in on %s: %s", n.name, resp.Status)
		}
		s.cookies[n] = cookie
	}
	return s
}

func (s *colleague) ask(t *testing.T, n *node, method, path string, body io.Reader) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, n.url("ADMIN")+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Cookie", s.cookies[n])
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

// gets reports whether a page answers so.
func (s *colleague) gets(t *testing.T, path string, status int) func(*node) bool {
	return func(n *node) bool { return s.ask(t, n, http.MethodGet, path, nil).StatusCode == status }
}

// change is what an administrator's change writes.
func (s *colleague) change(t *testing.T, sql string) {
	t.Helper()
	if _, err := s.p.root(t).Exec(t.Context(), fmt.Sprintf(sql, "(SELECT id FROM staff WHERE email = '"+s.email+"')")); err != nil {
		t.Fatal(err)
	}
}

// staffChangesReachEveryNode takes a role away, and then the person's access.
func (p *platform) staffChangesReachEveryNode(t *testing.T, within func(string, func(*node) bool)) {
	s := p.colleague(t, "auditor")
	within("a role", s.gets(t, "/staff", http.StatusOK))
	s.change(t, `UPDATE staff_roles SET role = 'finance' WHERE staff_id = %s`)
	within("another role", s.gets(t, "/staff", http.StatusForbidden))
	s.change(t, `UPDATE staff SET status = 'deactivated' WHERE id = %s`)
	for _, n := range p.nodes { // at once: the row is asked
		if !s.gets(t, "/", http.StatusSeeOther)(n) {
			t.Errorf("a deactivated user is accepted by %s", n.name)
		}
	}
}
