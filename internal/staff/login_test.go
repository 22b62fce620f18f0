package staff_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	ada := h.addUser(t, "Ada@example.com", models.Administrator)
	gone := h.addUser(t, "gone@example.com", models.Auditor)
	if err := h.By(audit.Operator).Deactivate(t.Context(), gone.ID, gone.RowVersion); err != nil {
		t.Fatal(err)
	}
	if _, err := h.By(audit.Operator).Invite(t.Context(),
		staff.NewMember{Email: "new@example.com", Name: "New", Roles: everywhere(models.Finance)}); err != nil {
		t.Fatal(err)
	}
	for n, email := range []string{"Ada@example.com", "ada@EXAMPLE.com", "  ada@example.com\t"} {
		token, session, err := h.login(t, email, password, home)
		if err != nil || session.Stage != models.StageOpen || h.session(t, token).Staff.ID != ada.ID {
			t.Errorf("login as %q: stage %s, %v", email, session.Stage, err)
		}
		if got := h.events(t, "login", models.AuditDone); got != n+1 {
			t.Errorf("got %d logins in the audit log, want %d", got, n+1)
		}
	}
	var first string
	for n, c := range []struct{ email, password string }{
		{"ada@example.com", "wrong"},
		{"ada@example.com", ""},
		{"", password},
		{"stranger@example.com", password},
		{"stranger@example.com", ""},
		{"gone@example.com", password},
		{"new@example.com", ""},
		{"new@example.com", password},
		{"ada@example.com' OR '1'='1", password},
		{"ada@example.com\x00", "x"},
		{"\xff\xfe", password},
		{strings.Repeat("a", 1<<20), password},
		{"ada@example.com", strings.Repeat("a", 1<<20)},
		{"%@example.com", password},
	} {
		address := fmt.Sprint("203.0.113.", n) // a new address, to avoid throttling
		token, _, err := h.login(t, c.email, c.password, address)
		if reason(err) != "login" || token != "" {
			t.Errorf("login as %.40q: %v, want login", c.email, err)
		}
		if n == 0 {
			first = err.Error()
		}
		if err.Error() != first {
			t.Errorf("login as %.40q: %v, want the same error as for a wrong password: %s", c.email, err, first)
		}
	}
	if n := h.events(t, "login", models.AuditRejected); n != 14 {
		t.Errorf("got %d rejected logins in the audit log, want 14", n)
	}
	if n := testkit.Value[int](t, h.Database, `SELECT count(*) FROM audit_events WHERE outcome = 'rejected' AND (actor LIKE 'stranger%' OR reason LIKE '%stranger%')`); n != 0 {
		t.Error("the audit log contains an email address of an unknown user")
	}
	h.verifyAuditLog(t)
}

func TestPasswordCostFollowsOWASP(t *testing.T) {
	t.Parallel()
	production := settings()
	production.PasswordCost = nil
	h := newStaffPlatform(t, production)
	h.addUser(t, "ada@example.com", models.Administrator)
	if hash := testkit.Value[string](t, h.Database, `SELECT password_hash FROM staff`); !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("password hash starts with %q", hash[:min(len(hash), 40)])
	}
}

// A login as an unknown, invited or deactivated user takes as long as one with a wrong password,
// because the password is hashed once, with the same parameters.
func TestLoginTakesAsLongForUnknownUsers(t *testing.T) {
	t.Parallel()
	production := settings()
	production.PasswordCost = nil
	h := newStaffPlatform(t, production)
	h.addUser(t, "ada@example.com", models.Administrator)
	gone := h.addUser(t, "gone@example.com", models.Auditor)
	if err := h.By(audit.Operator).Deactivate(t.Context(), gone.ID, gone.RowVersion); err != nil {
		t.Fatal(err)
	}
	if _, err := h.By(audit.Operator).Invite(t.Context(),
		staff.NewMember{Email: "new@example.com", Name: "New", Roles: everywhere(models.Finance)}); err != nil {
		t.Fatal(err)
	}
	var hashed []string // the password and the parameters of the hash, for each comparison
	h.CompareWith(func(password, hash string) (bool, error) {
		parameters, salt, _, err := argon2id.DecodeHash(hash)
		if err == nil {
			hashed = append(hashed, fmt.Sprintf("%s %+v %d", password, *parameters, len(salt)))
		}
		return argon2id.ComparePasswordAndHash(password, hash)
	})
	var known []string
	for _, email := range []string{"ada@example.com", "stranger@example.com", "gone@example.com", "new@example.com"} {
		hashed = nil
		if _, _, err := h.login(t, email, "wrong", home); reason(err) != "login" {
			t.Fatal(err)
		}
		if email == "ada@example.com" {
			known = hashed
		}
		if len(hashed) != 1 || !slices.Equal(hashed, known) {
			t.Errorf("login as %s compared %q, want %q", email, hashed, known)
		}
	}
}

func TestThrottling(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	h.addUser(t, "ada@example.com", models.Administrator)
	h.addUser(t, "bob@example.com", models.Auditor)
	fail := func(email, address string) error {
		_, _, err := h.login(t, email, "wrong", address)
		return err
	}
	for range 6 { // the wait starts after the sixth failure
		if err := fail("ada@example.com", away); reason(err) != "login" {
			t.Fatal(err)
		}
	}
	var waits []time.Duration
	for range 7 {
		err := fail("ada@example.com", away)
		f := apperr.As(err)
		if f == nil || f.Code != apperr.TooMany {
			t.Fatalf("login during the wait: %v, want too many", err)
		}
		if _, _, err := h.login(t, "ada@example.com", password, away); !hasCode(err, apperr.TooMany) {
			t.Errorf("correct password during the wait: %v, want too many", err)
		}
		waits = append(waits, f.RetryAfter)
		h.time.Advance(f.RetryAfter)
		if err := fail("ada@example.com", away); reason(err) != "login" {
			t.Fatalf("wrong password after the wait: %v, want login", err)
		}
	}
	if !slices.IsSorted(waits) || waits[0] != 30*time.Second || waits[6] != 15*time.Minute {
		t.Errorf("waits = %v, want 30 s rising to 15 min", waits)
	}
	if _, _, err := h.login(t, "bob@example.com", password, away); err != nil {
		t.Errorf("other user at the same address: %v", err)
	}
	if _, _, err := h.login(t, "ada@example.com", password, home); err != nil {
		t.Errorf("same user at another address: %v", err)
	}
	h.time.Advance(15 * time.Minute)
	if _, _, err := h.login(t, "ada@example.com", password, away); err != nil {
		t.Errorf("correct password after the longest wait: %v", err)
	}
	for range 5 { // earlier failures are forgotten
		if err := fail("ada@example.com", away); reason(err) != "login" {
			t.Errorf("wrong password after a correct one: %v, want login", err)
		}
	}
	h.time.Advance(time.Hour + time.Second)
	for range 5 {
		if err := fail("ada@example.com", away); reason(err) != "login" {
			t.Errorf("wrong password an hour later: %v, want login", err)
		}
	}
}

// An attacker who guesses from many addresses is throttled, and cannot lock out the user at
// the user's known addresses.
func TestAttackLocksOutNoUser(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	h.addUser(t, "ada@example.com", models.Administrator)
	h.signIn(t, "ada@example.com") // makes home a known address
	throttled := 0
	for n := range 40 {
		if _, _, err := h.login(t, "ada@example.com", "wrong", fmt.Sprintf("203.0.113.%d", n)); hasCode(err, apperr.TooMany) {
			throttled++
		}
	}
	if throttled < 15 {
		t.Errorf("%d of 40 guesses from different addresses were throttled, want at least 15", throttled)
	}
	for range 3 {
		if _, _, err := h.login(t, "ada@example.com", password, home); err != nil {
			t.Errorf("login at a known address: %v", err)
		}
	}
	if _, _, err := h.login(t, "ada@example.com", password, "203.0.113.99"); !hasCode(err, apperr.TooMany) {
		t.Errorf("login at a new address during the attack: %v, want too many", err)
	}
	h.time.Advance(15 * time.Minute)
	if _, _, err := h.login(t, "ada@example.com", password, "203.0.113.99"); err != nil {
		t.Errorf("login at a new address after the attack: %v", err)
	}
}

// All addresses in an IPv6 network count as one (decision 28). A network over its limit adds no
// counters for more email addresses.
func TestThrottlesIPv6NetworkAsOneAddress(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	checked, rows := 0, 0
	for n := range 60 {
		_, _, err := h.login(t, fmt.Sprintf("person%d@example.com", n), "wrong", fmt.Sprintf("2001:db8:1:2::%x", n))
		switch {
		case reason(err) == "login":
			checked++
			rows = testkit.Value[int](t, h.Database, `SELECT count(*) FROM login_attempts`)
		case !hasCode(err, apperr.TooMany):
			t.Fatal(err)
		}
	}
	if checked != 31 {
		t.Errorf("%d attempts from one network were checked, want 31", checked)
	}
	if got := testkit.Value[int](t, h.Database, `SELECT count(*) FROM login_attempts`); got != rows {
		t.Errorf("throttled attempts added %d rows, want 0", got-rows)
	}
	if _, _, err := h.login(t, "person1@example.com", "wrong", "2001:db8:1:3::1"); reason(err) != "login" {
		t.Errorf("login from another network: %v, want login", err)
	}
}

// Concurrent guesses are counted like sequential ones.
func TestConcurrentGuesses(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	h.addUser(t, "ada@example.com", models.Administrator)
	var guesses, throttled atomic.Int64
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			_, _, err := h.login(t, "ada@example.com", "wrong", away)
			switch {
			case reason(err) == "login":
				guesses.Add(1)
			case hasCode(err, apperr.TooMany), reason(err) == "busy":
				throttled.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if guesses.Load() > 6 || guesses.Load()+throttled.Load() != 30 {
		t.Errorf("%d guesses checked and %d throttled, want at most 6 checked and 30 in total", guesses.Load(),
			throttled.Load())
	}
	h.verifyAuditLog(t)
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	ada := h.addUser(t, "ada@example.com", models.Administrator)
	h.addUser(t, "root@example.com", models.Administrator)
	idle, _ := h.signIn(t, "ada@example.com")
	h.time.Advance(29 * time.Minute)
	h.session(t, idle) // use resets the idle timeout
	h.time.Advance(29 * time.Minute)
	h.session(t, idle)
	h.time.Advance(30 * time.Minute)
	h.expectEnded(t, idle, "idle")

	busy, _ := h.signIn(t, "ada@example.com")
	for range 35 {
		h.time.Advance(20 * time.Minute)
		h.session(t, busy)
	}
	h.time.Advance(20 * time.Minute)
	h.expectEnded(t, busy, "twelve hours old")

	for name, end := range map[string]func(session staff.Session) error{
		"logged out": func(s staff.Session) error {
			return h.By(audit.Actor{Staff: ada.ID, Name: ada.Email}).Logout(t.Context(), s)
		},
		"revoked":     func(s staff.Session) error { return h.By(audit.Operator).EndSession(t.Context(), ada.ID, s.ID) },
		"deactivated": func(staff.Session) error { return h.deactivate(t, ada.ID) },
	} {
		token, session := h.signIn(t, "ada@example.com")
		h.session(t, token)
		if err := end(session); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		h.expectEnded(t, token, name)
		if name == "deactivated" {
			h.reactivate(t, ada.ID)
			h.expectEnded(t, token, "reactivated")
		}
	}
	for _, token := range []string{"", "x", strings.Repeat("a", 1<<16), "\x00"} {
		h.expectEnded(t, token, "not a token")
	}
	h.verifyAuditLog(t)
}

func TestDeleteExpired(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	h.addUser(t, "ada@example.com", models.Administrator)
	token, _ := h.signIn(t, "ada@example.com")
	rows := func() int {
		return testkit.Value[int](t, h.Database,
			`SELECT (SELECT count(*) FROM staff_sessions) + (SELECT count(*) FROM login_attempts)`)
	}
	before := rows()
	for range 2 {
		if _, err := h.DeleteExpired(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	h.session(t, token)
	if rows() != before {
		t.Errorf("%d rows left, want %d", rows(), before)
	}
	h.time.Advance(31 * 24 * time.Hour)
	if _, err := h.DeleteExpired(t.Context()); err != nil || rows() != 0 {
		t.Errorf("%d rows left after a month (%v), want 0", rows(), err)
	}
}
