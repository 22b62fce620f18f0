package staff_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	password = "correct horse battery"
	home     = "192.0.2.1"
	away     = "198.51.100.7"
)

// staffPlatform is a staff service with its own database and clock.
type staffPlatform struct {
	*testkit.Database
	*staff.Service
	time *clock.Manual
}

func settings() staff.Settings {
	return staff.Settings{Idle: 30 * time.Minute, Lifetime: 12 * time.Hour, PasswordCost: testkit.CheapPasswords()}
}

func newStaffPlatform(t *testing.T, s staff.Settings) staffPlatform {
	t.Helper()
	keys, err := keyring.NewKeys([][]byte{make([]byte, keyring.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	d, c := testkit.NewDatabase(t), clock.NewManual(testkit.StartTime())
	return staffPlatform{d, staff.NewService(d.DB, keys, c, s), c}
}

func at(address string) audit.Actor { return audit.Actor{Address: address, RequestID: "rq_1"} }

func everywhere(roles ...models.Role) (all []models.StaffRole) {
	for _, r := range roles {
		all = append(all, models.StaffRole{Role: r})
	}
	return all
}

// addUser creates a user whose password is the constant named password.
func (h staffPlatform) addUser(t *testing.T, email string, roles ...models.Role) models.Staff {
	t.Helper()
	p, err := h.By(audit.Operator).Seed(t.Context(), staff.NewMember{
		Email: email,
		Name:  "Ada Example",
		Roles: everywhere(roles...),
	}, password)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (h staffPlatform) login(t *testing.T, email, with, address string) (string, staff.Session, error) {
	t.Helper()
	return h.By(at(address)).Login(t.Context(), staff.LoginAttempt{
		Email:     email,
		Password:  with,
		UserAgent: "browser",
	})
}

// signIn logs in with the correct password and fails the test on an error.
func (h staffPlatform) signIn(t *testing.T, email string) (string, staff.Session) {
	t.Helper()
	token, session, err := h.login(t, email, password, home)
	if err != nil {
		t.Fatal(err)
	}
	return token, session
}

func (h staffPlatform) session(t *testing.T, token string) staff.Session {
	t.Helper()
	s, err := h.Session(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// expectEnded fails the test if a token has an active session.
func (h staffPlatform) expectEnded(t *testing.T, token, when string) {
	t.Helper()
	if s, err := h.Session(t.Context(), token); reason(err) != "again" {
		t.Errorf("session %s: got session %s, %v, want again", when, s.ID, err)
	}
}

func reason(err error) string {
	if f := apperr.As(err); f != nil {
		return f.Reason
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// isCurrent reports whether a code is the code of the current time step, the previous one or the next one.
func (h staffPlatform) isCurrent(t *testing.T, secret, code string) bool {
	t.Helper()
	for _, step := range []time.Duration{-30 * time.Second, 0, 30 * time.Second} {
		valid, err := totp.GenerateCode(secret, h.time.Now().Add(step))
		if err != nil {
			t.Fatal(err)
		}
		if valid == code {
			return true
		}
	}
	return false
}

// wrongCode returns a six-digit code that is not current (see isCurrent).
func (h staffPlatform) wrongCode(t *testing.T, secret string) string {
	t.Helper()
	for n := 0; ; n++ {
		if code := fmt.Sprintf("%06d", n); !h.isCurrent(t, secret, code) {
			return code
		}
	}
}

func (h staffPlatform) code(t *testing.T, secret string) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, h.time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// enrol sets up a second factor during a login or in an open session.
func (h staffPlatform) enrol(t *testing.T, token string) (next, secret string, recovery []string) {
	t.Helper()
	key, err := h.BeginSecondFactor(t.Context(), h.session(t, token))
	if err != nil {
		t.Fatal(err)
	}
	next, recovery, err = h.By(at(home)).FinishSecondFactor(t.Context(), h.session(t, token), h.code(t, key.Secret()))
	if err != nil {
		t.Fatal(err)
	}
	if next == "" {
		next = token
	}
	return next, key.Secret(), recovery
}

func (h staffPlatform) events(t *testing.T, action string, outcome models.AuditOutcome) int {
	t.Helper()
	return testkit.Value[int](t, h.Database, `SELECT count(*) FROM audit_events WHERE action = $1 AND outcome = $2`,
		action, string(outcome))
}

// verifyAuditLog verifies the audit log.
func (h staffPlatform) verifyAuditLog(t *testing.T) {
	t.Helper()
	v, err := audit.New(h.DB, h.time).Verify(t.Context(), "")
	if err != nil || !v.Intact() {
		t.Errorf("verifying the audit log: %+v, %v", v, err)
	}
}

func hasCode(err error, code apperr.Code) bool {
	f := apperr.As(err)
	return f != nil && f.Code == code
}
