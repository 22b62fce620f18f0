package console

import (
	"context"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
)

const (
	staffEmail    = "dmitri@example.com"
	staffPassword = "correct horse battery"
	ownersAddress = "127.0.0.1"
)

// staffWithSecondFactor creates a user, signs in from ownersAddress, and sets up a second factor. It returns the setup
// key.
func staffWithSecondFactor(t *testing.T, n *node.Node) (secret string) {
	t.Helper()
	people := staff.NewService(n.DB.DB, n.Keys, n.Clock, staff.Settings{
		Idle:         time.Hour,
		Lifetime:     time.Hour,
		PasswordCost: testkit.CheapPasswords(),
	})
	by := audit.Actor{Address: ownersAddress}
	_, err := people.By(audit.Operator).Seed(t.Context(), staff.NewMember{
		Email: staffEmail,
		Name:  "Dmitri Sand",
		Roles: []models.StaffRole{{Role: models.Finance}},
	}, staffPassword)
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := people.By(by).Login(t.Context(), staff.LoginAttempt{Email: staffEmail, Password: staffPassword})
	if err != nil {
		t.Fatal(err)
	}
	session, err := people.Session(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	key, err := people.BeginSecondFactor(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	if session, err = people.Session(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if _, _, err := people.By(by).FinishSecondFactor(t.Context(), session,
		authenticatorCode(t, n, key.Secret())); err != nil {
		t.Fatal(err)
	}
	return key.Secret()
}

// authenticatorCode returns the current code of an authenticator app.
func authenticatorCode(t *testing.T, n *node.Node, secret string) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, n.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// visitor returns a client that connects from the given local address.
func visitor(t *testing.T, address string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, to)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Jar:           jar,
		Transport:     transport,
		Timeout:       20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// submit submits a form in the console and returns the status and the headers of the response.
func submit(t *testing.T, n *node.Node, v *http.Client, path string, form url.Values) (int, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.Admin+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", n.Admin)
	resp, err := v.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header
}

// TestSecondFactorCannotBeGuessed signs in 30 times with the right password, and tries 150 codes. The service checks
// only 20 of them, and the user can still sign in from a known address.
func TestSecondFactorCannotBeGuessed(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	secret := staffWithSecondFactor(t, n)
	login := func(v *http.Client) {
		t.Helper()
		if status, header := submit(t, n, v, "/login", url.Values{"email": {staffEmail}, "password": {staffPassword}}); status != http.StatusSeeOther || !strings.HasPrefix(header.Get("Location"), "/login/code") {
			t.Fatalf("login with the right password: got %d to %q", status, header.Get("Location"))
		}
	}
	checked, rejected := 0, 0
	for range 30 {
		attacker := visitor(t, "127.0.0.2")
		login(attacker)
		for range 5 {
			switch status, header := submit(t, n, attacker, "/login/code", url.Values{"code": {"wrong!"}}); status {
			case http.StatusUnauthorized:
				checked++
			case http.StatusTooManyRequests:
				rejected++
				if wait, err := strconv.Atoi(header.Get("Retry-After")); err != nil || wait < 1 {
					t.Errorf("got Retry-After %q", header.Get("Retry-After"))
				}
			default:
				t.Fatalf("wrong code: got %d", status)
			}
		}
	}
	if checked != 20 || rejected != 130 {
		t.Errorf("got %d checked codes and %d rejected codes, want 20 and 130", checked, rejected)
	}
	n.Manual.Advance(30 * time.Second) // the current code has already been used to set up the second factor
	owner := visitor(t, ownersAddress)
	login(owner)
	if status, header := submit(t, n, owner, "/login/code", url.Values{"code": {authenticatorCode(t, n, secret)}}); status != http.StatusSeeOther || header.Get("Location") != "/" {
		t.Errorf("login of the owner: got %d to %q", status, header.Get("Location"))
	}
}
