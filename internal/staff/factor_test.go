package staff_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

func TestSecondFactor(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	ada := h.addUser(t, "ada@example.com", models.Administrator)
	first, _ := h.signIn(t, "ada@example.com")
	other, _ := h.signIn(t, "ada@example.com")
	first, secret, recovery := h.enrol(t, first)
	h.session(t, first)
	h.expectEnded(t, other, "another session after the second factor was set up")
	if len(recovery) != 10 {
		t.Fatalf("got %d recovery codes, want 10", len(recovery))
	}
	login := func() string {
		t.Helper()
		token, session := h.signIn(t, "ada@example.com")
		if session.Stage != models.StageCode || h.session(t, token).Stage != models.StageCode {
			t.Fatalf("stage before the code = %s, want code", session.Stage)
		}
		return token
	}
	try := func(token, code string) (string, error) {
		t.Helper()
		return h.By(at(home)).VerifyCode(t.Context(), h.session(t, token), code)
	}

	token := login()
	if _, err := try(token, h.code(t, secret)); reason(err) != "code" {
		t.Errorf("code that was used for the setup: %v, want code", err)
	}
	h.time.Advance(30 * time.Second)
	code := h.code(t, secret)
	open, err := try(token, code[:3]+" "+code[3:])
	if err != nil || h.session(t, open).Stage != models.StageOpen {
		t.Fatal(err)
	}
	h.expectEnded(t, token, "the token from before the code")
	if _, err := try(login(), code); reason(err) != "code" {
		t.Errorf("code that was used before: %v, want code", err)
	}
	h.time.Advance(30 * time.Second)
	late := h.code(t, secret)
	h.time.Advance(30 * time.Second)
	if _, err := try(login(), late); err != nil {
		t.Errorf("code of the previous time step: %v", err)
	}
	h.time.Advance(5 * time.Minute)
	old := h.code(t, secret)
	for h.time.Advance(time.Minute); h.isCurrent(t, secret, old); h.time.Advance(time.Minute) { // by chance
		old = h.code(t, secret)
	}
	if _, err := try(login(), old); reason(err) != "code" {
		t.Errorf("code from two time steps ago: %v, want code", err)
	}

	if _, err := try(login(), strings.ToUpper(recovery[3])); err != nil {
		t.Errorf("recovery code: %v", err)
	}
	if _, err := try(login(), recovery[3]); reason(err) != "code" {
		t.Errorf("recovery code that was used before: %v, want code", err)
	}
	if left, err := h.RecoveryCodesLeft(t.Context(), ada.ID); err != nil || left != 9 {
		t.Errorf("RecoveryCodesLeft = %d, %v, want 9", left, err)
	}

	token = login()
	for _, bad := range []string{"", h.wrongCode(t, secret), "12345", "abcdef", strings.Repeat("1", 1<<16)} {
		if _, err := try(token, bad); reason(err) != "code" {
			t.Errorf("wrong code %.20q: %v, want code", bad, err)
		}
	}
	h.time.Advance(30 * time.Second)
	if _, err := try(token, h.code(t, secret)); reason(err) != "again" {
		t.Errorf("correct code after five wrong ones: %v, want again", err)
	}
	h.expectEnded(t, token, "five wrong codes")

	if err := h.By(audit.Actor{Staff: ada.ID, Name: ada.Email}).ResetSecondFactor(t.Context(),
		ada.ID); reason(err) != "own_factor" {
		t.Errorf("user resets own second factor: %v, want own_factor", err)
	}
	if err := h.By(audit.Operator).ResetSecondFactor(t.Context(), ada.ID); err != nil {
		t.Fatal(err)
	}
	h.expectEnded(t, open, "the second factor was reset")
	if _, session := h.signIn(t, "ada@example.com"); session.Stage != models.StageOpen {
		t.Errorf("stage after the reset = %s, want open", session.Stage)
	}
	h.verifyAuditLog(t)
}

// If several logins use the same code at the same time, only one succeeds.
func TestCodeIsUsedOnce(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	h.addUser(t, "ada@example.com", models.Administrator)
	token, _ := h.signIn(t, "ada@example.com")
	_, secret, recovery := h.enrol(t, token)
	h.time.Advance(30 * time.Second)
	for name, code := range map[string]string{"code": h.code(t, secret), "recovery code": recovery[0]} {
		var opened atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			token, _ := h.signIn(t, "ada@example.com")
			session := h.session(t, token)
			all.Go(func() {
				switch _, err := h.By(at(home)).VerifyCode(t.Context(), session, code); reason(err) {
				case "":
					opened.Add(1)
				case "code":
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if opened.Load() != 1 {
			t.Errorf("%s opened %d sessions, want 1", name, opened.Load())
		}
	}
	h.verifyAuditLog(t)
}

// If a user's role requires a second factor, sessions do not open until the user has one.
func TestSecondFactorByRole(t *testing.T) {
	t.Parallel()
	s := settings()
	s.SecondFactor = []models.Role{models.Finance}
	h := newStaffPlatform(t, s)
	h.addUser(t, "ada@example.com", models.Auditor, models.Finance)
	h.addUser(t, "bob@example.com", models.Auditor)
	if _, session := h.signIn(t, "bob@example.com"); session.Stage != models.StageOpen {
		t.Errorf("stage of an auditor = %s, want open", session.Stage)
	}
	token, session := h.signIn(t, "ada@example.com")
	if session.Stage != models.StageEnrol || h.session(t, token).Stage != models.StageEnrol {
		t.Fatalf("stage of finance = %s, want enrol", session.Stage)
	}
	if _, err := h.By(at(home)).VerifyCode(t.Context(), h.session(t, token), "000000"); reason(err) != "again" {
		t.Errorf("code before a second factor is set up: %v, want again", err)
	}
	token, _ = h.signIn(t, "ada@example.com")
	if _, _, err := h.By(at(home)).FinishSecondFactor(t.Context(), h.session(t, token),
		"000000"); reason(err) != "enrolment" {
		t.Errorf("finishing before beginning: %v, want enrolment", err)
	}
	key, err := h.BeginSecondFactor(t.Context(), h.session(t, token))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := h.BeginSecondFactor(t.Context(), h.session(t, token)); err != nil || again.Secret() != key.Secret() {
		t.Errorf("BeginSecondFactor returned another setup key when the page was reloaded (%v)", err)
	}
	if _, _, err := h.By(at(home)).FinishSecondFactor(t.Context(), h.session(t, token),
		h.wrongCode(t, key.Secret())); reason(err) != "code" {
		t.Errorf("wrong first code: %v, want code", err)
	}
	open, _, _ := h.enrol(t, token)
	h.expectEnded(t, token, "the token from before the second factor")
	if got := h.session(t, open).Stage; got != models.StageOpen {
		t.Errorf("stage = %s, want open", got)
	}
}

// If a user sets up a second factor in two sessions, the first one to finish succeeds and the other
// is rejected.
func TestSecondFactorIsSetUpOnce(t *testing.T) {
	t.Parallel()
	s := settings()
	s.SecondFactor = []models.Role{models.Finance}
	h := newStaffPlatform(t, s)
	p := h.addUser(t, "ada@example.com", models.Finance)
	var sessions [2]staff.Session
	var codes [2]string
	for i := range sessions {
		token, _ := h.signIn(t, "ada@example.com")
		key, err := h.BeginSecondFactor(t.Context(), h.session(t, token))
		if err != nil {
			t.Fatal(err)
		}
		sessions[i], codes[i] = h.session(t, token), h.code(t, key.Secret())
	}
	token, _, err := h.By(at(home)).FinishSecondFactor(t.Context(), sessions[0], codes[0])
	if err != nil || h.session(t, token).Stage != models.StageOpen {
		t.Fatal(err)
	}
	if enrolled := h.find(t, p.ID).TOTPAt; enrolled == nil || !enrolled.Equal(h.time.Now()) {
		t.Errorf("second factor was set up at %v, want %s", enrolled, h.time.Now())
	}
	if token, _, err := h.By(at(away)).FinishSecondFactor(t.Context(), sessions[1], codes[1]); reason(err) != "enrolled" ||
		token != "" {
		t.Errorf("finishing the second setup: %q, %v, want enrolled", token, err)
	}
	h.session(t, token)
	if err := h.By(audit.Operator).ResetSecondFactor(t.Context(), p.ID); err != nil || h.find(t, p.ID).TOTPAt != nil {
		t.Errorf("second factor after the reset: %v, %v", h.find(t, p.ID).TOTPAt, err)
	}
}

// wrongCodes logs in several times with the correct password, and enters five wrong codes each
// time. It returns the number of codes that were checked, and the wait after the last one.
func (h staffPlatform) wrongCodes(
	t *testing.T, logins int, address func(login int) string,
) (checked int, wait time.Duration) {
	t.Helper()
	for login := range logins {
		token, _, err := h.login(t, "ada@example.com", password, address(login))
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			_, err := h.By(at(address(login))).VerifyCode(t.Context(), h.session(t, token), "wrong")
			switch f := apperr.As(err); {
			case reason(err) == "code":
				checked++
			case f != nil && f.Code == apperr.TooMany:
				wait = f.RetryAfter
			default:
				t.Fatal(err)
			}
		}
	}
	return checked, wait
}

// An attacker with the correct password can try at most 20 wrong codes before the first wait,
// across all sessions and addresses. The user can still log in at a known address.
func TestWrongCodesAreCountedAcrossSessions(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(int) string{
		"one address":         func(int) string { return away },
		"many addresses":      func(login int) string { return fmt.Sprintf("203.0.113.%d", login) },
		"one IPv6 network":    func(login int) string { return fmt.Sprintf("2001:db8::%x", login) },
		"many IPv6 addresses": func(login int) string { return fmt.Sprintf("2001:db8:%x::1", login) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newStaffPlatform(t, settings())
			h.addUser(t, "ada@example.com", models.Administrator)
			token, _ := h.signIn(t, "ada@example.com") // makes home a known address
			_, secret, _ := h.enrol(t, token)
			h.time.Advance(30 * time.Second)
			checked, wait := h.wrongCodes(t, 30, address)
			if checked != 20 || wait != 30*time.Second {
				t.Fatalf("%d wrong codes were checked before a wait of %s, want 20 and 30 s", checked, wait)
			}
			right := func(where string) error {
				t.Helper()
				token, _, err := h.login(t, "ada@example.com", password, where)
				if err != nil {
					t.Fatal(err)
				}
				h.time.Advance(30 * time.Second) // a code can be used only once
				_, err = h.By(at(where)).VerifyCode(t.Context(), h.session(t, token), h.code(t, secret))
				return err
			}
			if err := right(home); err != nil {
				t.Errorf("login at a known address: %v", err)
			}
			var waits []time.Duration
			for range 6 {
				h.time.Advance(15 * time.Minute)
				if checked, wait = h.wrongCodes(t, 1, address); checked != 1 {
					t.Errorf("%d wrong codes were checked after a wait, want 1", checked)
				}
				waits = append(waits, wait)
			}
			if !slices.IsSorted(waits) || waits[0] < time.Minute || waits[5] != 15*time.Minute {
				t.Errorf("waits = %v, want at least 1 min rising to 15 min", waits)
			}
			h.time.Advance(48 * time.Hour) // neither time nor correct codes at other addresses reset the count
			if _, err := h.DeleteExpired(t.Context()); err != nil {
				t.Fatal(err)
			}
			if checked, _ := h.wrongCodes(t, 1, address); checked != 1 {
				t.Errorf("%d wrong codes were checked two days later, want 1", checked)
			}
			h.time.Advance(15 * time.Minute)
			if err := right(address(0)); err != nil {
				t.Errorf("correct code after the wait: %v", err)
			}
			if checked, _ := h.wrongCodes(t, 2, address); checked != 10 {
				t.Errorf("%d of 10 wrong codes were checked after a correct one, want 10", checked)
			}
			h.verifyAuditLog(t)
		})
	}
}

// Concurrent wrong codes are counted like sequential ones.
func TestConcurrentWrongCodes(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	h.addUser(t, "ada@example.com", models.Administrator)
	token, _ := h.signIn(t, "ada@example.com")
	h.enrol(t, token)
	var checked atomic.Int64
	var all sync.WaitGroup
	for n := range 10 {
		token, _, err := h.login(t, "ada@example.com", password, fmt.Sprintf("203.0.113.%d", n))
		if err != nil {
			t.Fatal(err)
		}
		session := h.session(t, token)
		for range 5 {
			all.Go(func() {
				_, err := h.By(at("203.0.113.99")).VerifyCode(t.Context(), session, "wrong")
				if reason(err) == "code" {
					checked.Add(1)
				} else if !hasCode(err, apperr.TooMany) {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if checked.Load() != 20 {
		t.Errorf("%d wrong codes were checked, want 20", checked.Load())
	}
}

// Wrong codes in an open session are counted like wrong codes during a login.
func TestWrongCodesInAnOpenSessionAreCounted(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	h.addUser(t, "ada@example.com", models.Administrator)
	token, _ := h.signIn(t, "ada@example.com")
	token, secret, _ := h.enrol(t, token)
	checked, wrong := 0, h.code(t, secret) // a used code
	for range 40 {
		if err := h.By(at(away)).Confirm(t.Context(), h.session(t, token), wrong); reason(err) == "confirmation" {
			checked++
		} else if !hasCode(err, apperr.TooMany) {
			t.Fatal(err)
		}
	}
	if checked != 20 {
		t.Errorf("%d wrong codes were checked, want 20", checked)
	}
	h.time.Advance(30 * time.Second)
	if err := h.By(at(home)).Confirm(t.Context(), h.session(t, token), h.code(t, secret)); err != nil {
		t.Errorf("correct code at a known address: %v", err)
	}
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings())
	h.addUser(t, "ada@example.com", models.Administrator)
	token, _ := h.signIn(t, "ada@example.com")
	token, secret, recovery := h.enrol(t, token)
	by := at(home)
	confirmed := func() bool { return h.session(t, token).Confirmed(h.time.Now()) }
	if !confirmed() {
		t.Error("the session is not confirmed after the login")
	}
	for _, proof := range []func() string{func() string { return password }, func() string { return h.code(t, secret) }} {
		h.time.Advance(10 * time.Minute)
		if confirmed() {
			t.Error("the session is still confirmed after ten minutes")
		}
		if err := h.By(by).Confirm(t.Context(), h.session(t, token), proof()); err != nil || !confirmed() {
			t.Errorf("confirming: %v", err)
		}
	}
	h.time.Advance(10 * time.Minute)
	code := h.code(t, secret)
	if err := h.By(by).Confirm(t.Context(), h.session(t, token), code); err != nil {
		t.Fatal(err)
	}
	h.time.Advance(10 * time.Minute)
	for _, wrong := range []string{"", "wrong", code, recovery[0]} {
		if err := h.By(by).Confirm(t.Context(), h.session(t, token), wrong); reason(err) != "confirmation" || confirmed() {
			t.Errorf("confirming with %q: %v, want confirmation", wrong, err)
		}
	}
	for range 5 {
		_ = h.By(by).Confirm(t.Context(), h.session(t, token), "wrong")
	}
	if err := h.By(by).Confirm(t.Context(), h.session(t, token), password); !hasCode(err, apperr.TooMany) {
		t.Errorf("correct password after too many guesses: %v, want too many", err)
	}
	if n := h.events(t, "confirm", models.AuditRejected); n < 5 {
		t.Errorf("got %d rejected confirmations in the audit log, want at least 5", n)
	}
}
