package staff_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	ada := h.person(t, "Ada@example.com", models.Administrator)
	gone := h.person(t, "gone@example.com", models.Auditor)
	if err := h.Deactivate(t.Context(), audit.Operator, gone.ID, gone.RowVersion); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Invite(t.Context(), audit.Operator, staff.NewMember{Email: "new@example.com", Name: "New", Roles: everywhere(models.Finance)}); err != nil {
		t.Fatal(err)
	}
	for n, email := range []string{"Ada@example.com", "ada@EXAMPLE.com", "  ada@example.com\t"} {
		token, session, err := h.login(t, email, password, home)
		if err != nil || session.Stage != models.StageOpen || h.session(t, token).Staff.ID != ada.ID {
			t.Errorf("%q: %+v, %v", email, session.Stage, err)
		}
		if got := h.events(t, "login", models.AuditDone); got != n+1 {
			t.Errorf("%d logins are in the audit trail", got)
		}
	}
	var first string
	for n, c := range []struct{ email, password string }{
		{"ada@example.com", "wrong"},
		{"ada@example.com", ""},
		{"", password},
		{"nobody@example.com", password},
		{"nobody@example.com", ""},
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
		address := fmt.Sprint("203.0.113.", n) // none is throttled
		token, _, err := h.login(t, c.email, c.password, address)
		if reason(err) != "login" || token != "" {
			t.Errorf("%.40q: %v", c.email, err)
		}
		if n == 0 {
			first = err.Error()
		}
		if err.Error() != first {
			t.Errorf("%.40q: %v, and for a wrong password %s", c.email, err, first)
		}
	}
	if n := h.events(t, "login", models.AuditRejected); n != 14 {
		t.Errorf("%d refusals are in the audit trail", n)
	}
	if n := testkit.Value[int](t, h.Database, `SELECT count(*) FROM audit_events WHERE outcome = 'refused' AND (actor LIKE 'nobody%' OR reason LIKE '%nobody%')`); n != 0 {
		t.Error("the audit trail repeats what an unknown person called themselves")
	}
	h.intact(t)
}

func TestPasswordsAreHashedAtOWASPsCost(t *testing.T) {
	t.Parallel()
	production := settings()
	production.PasswordCost = nil
	h := newStaffPlatform(t, production)
	h.person(t, "ada@example.com", models.Administrator)
	if hash := testkit.Value[string](t, h.Database, `SELECT password_hash FROM staff`); !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Error(hash[:min(len(hash), 40)])
	}
}

// Unknown people cost what known ones do: a hash.
func TestUnknownUsersTakeAsLong(t *testing.T) {
	t.Parallel()
	production := settings()
	production.PasswordCost = nil
	h := newStaffPlatform(t, production)
	h.person(t, "ada@example.com", models.Administrator)
	var known, unknown []time.Duration
	for n := range 9 {
		for email, took := range map[string]*[]time.Duration{
			"ada@example.com":    &known,
			"nobody@example.com": &unknown,
		} {
			start := time.Now()
			if _, _, err := h.login(t, email, "wrong", fmt.Sprintf("203.0.113.%d", n)); reason(err) != "login" {
				t.Fatal(err)
			}
			*took = append(*took, time.Since(start))
		}
	}
	slices.Sort(known)
	slices.Sort(unknown)
	if a, b := known[0], unknown[0]; a > 2*b || b > 2*a {
		t.Errorf("at the fastest, a known person took %s and an unknown one %s", a, b)
	}
}

func TestThrottling(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	h.person(t, "ada@example.com", models.Administrator)
	h.person(t, "bob@example.com", models.Auditor)
	fail := func(email, address string) error {
		_, _, err := h.login(t, email, "wrong", address)
		return err
	}
	for range 6 { // five cost nothing, the sixth starts the wait
		if err := fail("ada@example.com", away); reason(err) != "login" {
			t.Fatal(err)
		}
	}
	var waits []time.Duration
	for range 7 {
		err := fail("ada@example.com", away)
		f := apperr.As(err)
		if f == nil || f.Code != apperr.TooMany {
			t.Fatalf("not throttled: %v", err)
		}
		if _, _, err := h.login(t, "ada@example.com", password, away); !isFault(err, apperr.TooMany) {
			t.Errorf("the right password got in during the wait: %v", err)
		}
		waits = append(waits, f.RetryAfter)
		h.time.Advance(f.RetryAfter)
		if err := fail("ada@example.com", away); reason(err) != "login" {
			t.Fatalf("after the wait: %v", err)
		}
	}
	if !slices.IsSorted(waits) || waits[0] != 30*time.Second || waits[6] != 15*time.Minute {
		t.Errorf("waits of %v", waits)
	}
	if _, _, err := h.login(t, "bob@example.com", password, away); err != nil {
		t.Errorf("another person at the same address: %v", err)
	}
	if _, _, err := h.login(t, "ada@example.com", password, home); err != nil {
		t.Errorf("the same person elsewhere: %v", err)
	}
	h.time.Advance(15 * time.Minute)
	if _, _, err := h.login(t, "ada@example.com", password, away); err != nil {
		t.Errorf("the right password after the longest wait: %v", err)
	}
	for range 5 { // what was wrong before is forgotten
		if err := fail("ada@example.com", away); reason(err) != "login" {
			t.Errorf("a mistake after the right password: %v", err)
		}
	}
	h.time.Advance(time.Hour + time.Second)
	for range 5 {
		if err := fail("ada@example.com", away); reason(err) != "login" {
			t.Errorf("an hour later: %v", err)
		}
	}
}

// Whoever guesses from many addresses is slowed down, and does not lock the person
// out where they usually log in.
func TestAttackLocksOutNoUser(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	h.person(t, "ada@example.com", models.Administrator)
	h.in(t, "ada@example.com") // home is known from now on
	throttled := 0
	for n := range 40 {
		if _, _, err := h.login(t, "ada@example.com", "wrong", fmt.Sprintf("203.0.113.%d", n)); isFault(err, apperr.TooMany) {
			throttled++
		}
	}
	if throttled < 15 {
		t.Errorf("%d of 40 guesses from as many addresses were slowed down", throttled)
	}
	for range 3 {
		if _, _, err := h.login(t, "ada@example.com", password, home); err != nil {
			t.Errorf("at home: %v", err)
		}
	}
	if _, _, err := h.login(t, "ada@example.com", password, "203.0.113.99"); !isFault(err, apperr.TooMany) {
		t.Errorf("from a new address during the attack: %v", err)
	}
	h.time.Advance(15 * time.Minute)
	if _, _, err := h.login(t, "ada@example.com", password, "203.0.113.99"); err != nil {
		t.Errorf("from a new address after it: %v", err)
	}
}

// The addresses of an IPv6 network count as one (decision 28), and one that has used up its
// budget writes nothing for further e-mail addresses.
func TestAnIPv6NetworkIsOneAddress(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	judged, rows := 0, 0
	for n := range 60 {
		_, _, err := h.login(t, fmt.Sprintf("person%d@example.com", n), "wrong", fmt.Sprintf("2001:db8:1:2::%x", n))
		switch {
		case reason(err) == "login":
			judged++
			rows = testkit.Value[int](t, h.Database, `SELECT count(*) FROM login_attempts`)
		case !isFault(err, apperr.TooMany):
			t.Fatal(err)
		}
	}
	if judged != 31 {
		t.Errorf("%d attempts from one network were judged", judged)
	}
	if got := testkit.Value[int](t, h.Database, `SELECT count(*) FROM login_attempts`); got != rows {
		t.Errorf("%d rows, %d of them for attempts that were not judged", got, got-rows)
	}
	if _, _, err := h.login(t, "person1@example.com", "wrong", "2001:db8:1:3::1"); reason(err) != "login" {
		t.Errorf("the next network: %v", err)
	}
}

// Guesses at once are counted like guesses one after the other.
func TestManyGuessesAtOnce(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	h.person(t, "ada@example.com", models.Administrator)
	var guesses, throttled atomic.Int64
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			_, _, err := h.login(t, "ada@example.com", "wrong", away)
			switch {
			case reason(err) == "login":
				guesses.Add(1)
			case isFault(err, apperr.TooMany), reason(err) == "busy":
				throttled.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if guesses.Load() > 6 || guesses.Load()+throttled.Load() != 30 {
		t.Errorf("%d guesses, %d throttled", guesses.Load(), throttled.Load())
	}
	h.intact(t)
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	ada := h.person(t, "ada@example.com", models.Administrator)
	h.person(t, "root@example.com", models.Administrator)
	idle, _ := h.in(t, "ada@example.com")
	h.time.Advance(29 * time.Minute)
	h.session(t, idle) // used: counts anew
	h.time.Advance(29 * time.Minute)
	h.session(t, idle)
	h.time.Advance(30 * time.Minute)
	h.over(t, idle, "idle")

	busy, _ := h.in(t, "ada@example.com")
	for range 35 {
		h.time.Advance(20 * time.Minute)
		h.session(t, busy)
	}
	h.time.Advance(20 * time.Minute)
	h.over(t, busy, "twelve hours old")

	for name, end := range map[string]func(session staff.Session) error{
		"logged out": func(s staff.Session) error {
			return h.Logout(t.Context(), audit.Actor{Staff: ada.ID, Name: ada.Email}, s)
		},
		"revoked":     func(s staff.Session) error { return h.EndSession(t.Context(), audit.Operator, ada.ID, s.ID) },
		"deactivated": func(staff.Session) error { return h.deactivate(t, ada.ID) },
	} {
		token, session := h.in(t, "ada@example.com")
		h.session(t, token)
		if err := end(session); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		h.over(t, token, name)
		if name == "deactivated" {
			h.reactivate(t, ada.ID)
			h.over(t, token, "reactivated")
		}
	}
	for _, token := range []string{"", "x", strings.Repeat("a", 1<<16), "\x00"} {
		h.over(t, token, "not a token")
	}
	h.intact(t)
}

func TestForget(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	h.person(t, "ada@example.com", models.Administrator)
	token, _ := h.in(t, "ada@example.com")
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
		t.Errorf("%d rows of %d are left at once", rows(), before)
	}
	h.time.Advance(31 * 24 * time.Hour)
	if _, err := h.DeleteExpired(t.Context()); err != nil || rows() != 0 {
		t.Errorf("%d rows are left after a month, %v", rows(), err)
	}
}
