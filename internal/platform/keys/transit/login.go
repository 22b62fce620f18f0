package transit

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/hashicorp/vault/api/auth/approle"

	"github.com/pingpost/pingpost/internal/base/clock"
)

// Login methods.
const (
	AppRole    = "approle"
	Kubernetes = "kubernetes"
	Token      = "token"
)

// Login contains the credential for Vault.
type Login struct {
	Method   string
	Mount    string // of the auth method, such as "approle"; not for a token
	RoleID   string // AppRole
	SecretID string // AppRole
	Role     string // Kubernetes
	JWTFile  string // Kubernetes: the service account's token, read at each login
	Token    string
}

const (
	// freshFor is the fraction of a token's lifetime after which it is renewed. The rest of the
	// lifetime leaves time to retry failed attempts.
	freshFor = 0.6
	// retryLogin is the pause after the first failed login. The pause doubles with each further
	// failure, up to retryLoginMax.
	retryLogin    = 100 * time.Millisecond
	retryLoginMax = 2 * time.Second
	// retryRejected is the pause after an AppRole login that Vault rejected.
	retryRejected = time.Minute
	// settleLogin is how long a new token is kept, even if Vault rejects it. If a new token is
	// rejected, the policy is the likely cause, and another login would not help.
	settleLogin = time.Second
)

// session contains the current token. If the token is missing, rejected or about to expire, one caller
// logs in, and the other callers wait for the result.
type session struct {
	login    Login
	attempts *Attempts
	vault    *api.Client  // used for logging in
	use      func(string) // sets the token for calls
	clock    clock.Clock
	calls    *calls

	mu       sync.Mutex
	current  string
	accepted bool // Vault accepted the token
	since    time.Time
	fresh    time.Time // renewed after this; zero means never
	ends     time.Time // zero means never
	wait     time.Duration
	notYet   time.Time // no login before this time
	failure  error     // of the last login
}

// token returns the token, after logging in if necessary.
func (s *session) token(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	usable := s.current != "" && (s.ends.IsZero() || now.Before(s.ends))
	if usable && (s.fresh.IsZero() || now.Before(s.fresh)) {
		return s.current, nil
	}
	if now.Before(s.notYet) {
		if usable {
			return s.current, nil
		}
		return "", s.failure
	}
	if err := s.renew(ctx, now); err != nil && !usable {
		return "", err
	}
	return s.current, nil
}

// renew logs in. After a failure, it delays the next login.
func (s *session) renew(ctx context.Context, now time.Time) error {
	auth, err := s.tryLogin(ctx)
	if s.calls.count("login", err) != nil {
		s.wait = min(max(2*s.wait, retryLogin), retryLoginMax)
		if s.login.Method == AppRole && rejectedLogin(err) {
			s.wait = retryRejected
		}
		s.notYet, s.failure = now.Add(s.wait), err
		return err
	}
	s.current, s.accepted, s.since, s.wait, s.failure = auth.ClientToken, false, now, 0, nil
	s.use(s.current)
	s.fresh, s.ends = time.Time{}, time.Time{}
	if life := time.Duration(auth.LeaseDuration) * time.Second; life > 0 {
		s.fresh, s.ends = now.Add(time.Duration(freshFor*float64(life))), now.Add(life)
	}
	return nil
}

// tryLogin logs in once, if the credential has an attempt left.
func (s *session) tryLogin(ctx context.Context) (*api.SecretAuth, error) {
	end, err := s.attempts.begin(ctx, s.login)
	if err != nil {
		return nil, err
	}
	auth, err := s.authenticate(ctx)
	err = explainLogin(err)
	end(ctx, err)
	return auth, err
}

// SetLogin logs in with another credential from now on. If Vault rejects it, the current token stays in use until it
// expires.
func (w *Wrapper) SetLogin(login Login) {
	s := &w.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if login == s.login {
		return
	}
	s.login, s.wait, s.notYet, s.fresh = login, 0, time.Time{}, s.clock.Now()
}

// markRejected records that Vault rejected the token, and reports whether the caller may
// retry with another token immediately.
func (s *session) markRejected(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token != s.current {
		return true // another caller has already replaced it
	}
	if now := s.clock.Now(); !s.accepted && now.Sub(s.since) < settleLogin {
		return false
	}
	s.current = ""
	return true
}

func (s *session) markAccepted(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted = s.accepted || token == s.current
}

func (s *session) life() (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == "" || s.ends.IsZero() {
		return 0, false
	}
	return s.ends.Sub(s.clock.Now()), true
}

// TokenLife returns the remaining lifetime of the current token, and false if the token does not
// expire or there is no token.
func (w *Wrapper) TokenLife() (time.Duration, bool) { return w.session.life() }

func (s *session) authenticate(ctx context.Context) (*api.SecretAuth, error) {
	var secret *api.Secret
	var err error
	switch s.login.Method {
	case AppRole:
		secret, err = s.appRole(ctx)
	case Kubernetes:
		secret, err = s.kubernetes(ctx)
	case Token:
		return s.ownToken(ctx)
	default:
		err = noLogin("vault.auth is not approle, kubernetes or token")
	}
	if err != nil {
		return nil, err
	}
	if secret == nil || secret.Auth == nil || secret.Auth.ClientToken == "" {
		return nil, noLogin("Vault's response to the login contains no token")
	}
	return secret.Auth, nil
}

func noLogin(text string) error { return &Error{Reason: "login", text: text} }

func (s *session) appRole(ctx context.Context) (*api.Secret, error) {
	role, err := approle.NewAppRoleAuth(s.login.RoleID, &approle.SecretID{FromString: s.login.SecretID},
		approle.WithMountPath(s.login.Mount))
	if err != nil {
		return nil, noLogin("the AppRole login needs vault.role_id and vault.secret_id")
	}
	return role.Login(ctx, s.vault)
}

func (s *session) kubernetes(ctx context.Context) (*api.Secret, error) {
	jwt, err := os.ReadFile(s.login.JWTFile)
	if err != nil {
		return nil, noLogin("cannot read the service account's token (vault.jwt_file)")
	}
	return s.vault.Logical().WriteWithContext(ctx, "auth/"+s.login.Mount+"/login", map[string]any{
		"role": s.login.Role, "jwt": strings.TrimSpace(string(jwt)),
	})
}

// ownToken renews the configured token for as long as Vault allows. There is no credential with which
// the session could get another token.
func (s *session) ownToken(ctx context.Context) (*api.SecretAuth, error) {
	s.vault.SetToken(s.login.Token)
	self, err := s.vault.Auth().Token().LookupSelfWithContext(ctx)
	if err != nil {
		return nil, err
	}
	life, err := self.TokenTTL()
	if err != nil {
		return nil, err
	}
	if renewable, err := self.TokenIsRenewable(); err == nil && renewable {
		if renewed, err := s.vault.Auth().Token().RenewSelfWithContext(ctx, 0); err == nil && renewed.Auth != nil {
			life = time.Duration(renewed.Auth.LeaseDuration) * time.Second
		}
	}
	return &api.SecretAuth{ClientToken: s.login.Token, LeaseDuration: int(life / time.Second)}, nil
}

// explainLogin is like explain, but describes a rejection as a rejected login.
func explainLogin(err error) error {
	var answered *api.ResponseError
	if !errors.As(err, &answered) || answered.StatusCode != statusForbidden && answered.StatusCode != statusBadRequest {
		return explain(err)
	}
	e := &Error{answered.StatusCode, "login", "Vault rejected the login"}
	if details := details(answered); details != "" {
		e.text += " (" + details + ")"
	}
	e.text += ": check vault.auth_mount, the role and its credential, and that they have not expired and the role is not locked"
	return e
}

func rejectedLogin(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Reason == "login" && e.Status != 0
}
