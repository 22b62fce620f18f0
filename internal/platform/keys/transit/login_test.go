package transit_test

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
)

func (o opened) logins() int64 { return o.Calls()[transit.Call{Operation: "login", Reason: "ok"}] }

type opened struct{ *transit.Wrapper }

func with(t testing.TB, o transit.Options) opened {
	t.Helper()
	w, err := transit.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return opened{w}
}

func (o opened) works(t testing.TB) {
	t.Helper()
	wrap(t, o.Wrapper, randomKeys(1)...)
}

// A token is replaced before it expires, and immediately if it was revoked.
func TestTokensAreReplaced(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	hands := clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	o := v.Options(devvault.Serve)
	o.Clock = hands
	w := with(t, o)
	w.works(t)
	if life, ends := w.TokenLife(); !ends || life != time.Hour {
		t.Errorf("got token lifetime %s, %t", life, ends)
	}
	for _, step := range []struct {
		later  time.Duration
		logins int64
	}{{35 * time.Minute, 1}, {2 * time.Minute, 2}, {2 * time.Hour, 3}} {
		hands.Advance(step.later)
		w.works(t)
		if got := w.logins(); got != step.logins {
			t.Errorf("%s later: got %d logins, want %d", step.later, got, step.logins)
		}
	}
	v.RevokeTokens(t)
	w.works(t)
	if got := w.logins(); got != 4 {
		t.Errorf("got %d logins after the token was revoked, want 4", got)
	}
}

// While logins fail, the old token is used until it expires, and logins are paused. The node
// recovers without a restart when Vault is available again.
func TestNodeRecoversFromFailedLogins(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	hands := clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	o := v.Options(devvault.Serve)
	o.Clock = hands
	w := with(t, o)
	w.works(t)
	role := "auth/" + devvault.AuthMount + "/role/" + devvault.Serve
	destroyed := v.Write(t, role+"/secret-id/lookup", map[string]any{"secret_id": o.Login.SecretID})
	v.Write(t, role+"/secret-id-accessor/destroy", map[string]any{
		"secret_id_accessor": destroyed.Data["secret_id_accessor"],
	})
	hands.Advance(40 * time.Minute)
	w.works(t)
	w.works(t)
	if failed := w.Calls()[transit.Call{Operation: "login", Reason: "login"}]; failed != 1 {
		t.Errorf("got %d attempts, want 1 and a pause", failed)
	}
	hands.Advance(time.Hour)
	_, err := w.Wrap(t.Context(), randomKeys(1))
	var rejected *transit.Error
	if !errors.As(err, &rejected) || rejected.Reason != "login" {
		t.Errorf("destroyed credential: %v", err)
	}
	login := o.Login
	login.SecretID, _ = v.Write(t, role+"/secret-id", nil).Data["secret_id"].(string)
	w.SetLogin(login)
	w.works(t)
	login.SecretID = "unknown"
	w.SetLogin(login)
	w.works(t) // with the token of the previous login
}

// A policy that rejects calls does not cause repeated logins.
func TestRejectedCallsDoNotCauseRepeatedLogins(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	w := with(t, v.Options(devvault.Rotate)) // not allowed to encrypt
	for range 20 {
		if _, err := w.Wrap(t.Context(), randomKeys(1)); err == nil {
			t.Fatal("the role can encrypt")
		}
	}
	if got := w.logins(); got > 3 {
		t.Errorf("got %d logins for 20 rejected calls", got)
	}
}

func TestErrorNamesReason(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	reason := func(o transit.Options) string {
		_, err := with(t, o).Wrap(t.Context(), randomKeys(1))
		var e *transit.Error
		if !errors.As(err, &e) {
			t.Errorf("%v", err)
			return ""
		}
		if strings.Contains(e.Error(), o.Address) || strings.Contains(e.Error(), o.Login.SecretID) {
			t.Errorf("the error contains the address or the secret: %s", e)
		}
		return e.Reason
	}
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // the server detects a disconnect only after it has read the body
		<-r.Context().Done()
	}))
	defer slow.Close()
	for want, change := range map[string]func(*transit.Options){
		"unreachable": func(o *transit.Options) { o.Address = "http://127.0.0.1:1" },
		"timeout":     func(o *transit.Options) { o.Address, o.Timeout = slow.URL, 50*time.Millisecond },
		"denied":      func(o *transit.Options) { o.Mount = "elsewhere" },
		"login":       func(o *transit.Options) { o.Login.RoleID = "unknown" },
	} {
		o := v.Options(devvault.Serve)
		change(&o)
		if got := reason(o); got != want {
			t.Errorf("%s: %q", want, got)
		}
	}
	v.Seal(t)
	if got := reason(v.Options(devvault.Serve)); got != "sealed" {
		t.Errorf("sealed: %q", got)
	}
	v.Unseal(t)
	with(t, v.Options(devvault.Serve)).works(t)
}

func TestConfiguredToken(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	made := v.Write(t, "auth/token/create", map[string]any{
		"policies":  []string{devvault.Serve, "default"},
		"ttl":       "1h",
		"no_parent": true,
	})
	o := v.Options(devvault.Serve)
	o.Login = transit.Login{Method: transit.Token, Token: made.Auth.ClientToken}
	w := with(t, o)
	w.works(t)
	if life, ends := w.TokenLife(); !ends || life < 50*time.Minute {
		t.Errorf("got token lifetime %s, %t", life, ends)
	}
	v.Write(t, "auth/token/revoke", map[string]any{"token": made.Auth.ClientToken})
	if _, err := w.Wrap(t.Context(), randomKeys(1)); err == nil {
		t.Error("a revoked token was accepted")
	}
	o.Login.Token = v.RootToken // does not expire
	w = with(t, o)
	w.works(t)
	if _, ends := w.TokenLife(); ends {
		t.Error("got a lifetime for a root token")
	}
}

// The test uses Vault's real Kubernetes login. Only the cluster's token review is simulated.
func TestKubernetesLogin(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	var asked atomic.Int64
	cluster := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(http.StatusCreated)
		json.NewEncoder(out).Encode(map[string]any{
			"apiVersion": "authentication.k8s.io/v1",
			"kind":       "TokenReview",
			"status": map[string]any{
				"authenticated": true,
				"user":          map[string]any{"username": "system:serviceaccount:leads:pingpost", "uid": "1"},
			},
		})
	}))
	defer cluster.Close()
	v.Write(t, "sys/auth/kubernetes", map[string]any{"type": "kubernetes"})
	v.Write(t, "auth/kubernetes/config", map[string]any{
		"kubernetes_host":        cluster.URL,
		"disable_local_ca_jwt":   true,
		"disable_iss_validation": true,
	})
	v.Write(t, "auth/kubernetes/role/pingpost", map[string]any{
		"bound_service_account_names":      "pingpost",
		"bound_service_account_namespaces": "leads",
		"token_policies":                   devvault.Serve,
		"token_ttl":                        "1h",
	})
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(serviceAccount(t)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := v.Options(devvault.Serve)
	o.Login = transit.Login{Method: transit.Kubernetes, Mount: "kubernetes", Role: "pingpost", JWTFile: file}
	with(t, o).works(t)
	if asked.Load() == 0 {
		t.Error("Vault did not call the cluster")
	}
	o.Login.JWTFile = file + ".gone"
	if _, err := with(t, o).Wrap(t.Context(), randomKeys(1)); err == nil ||
		!strings.Contains(err.Error(), "vault.jwt_file") || strings.Contains(err.Error(), file) {
		t.Errorf("without the file: %v", err)
	}
}

// serviceAccount returns a token in Kubernetes' format. The cluster, not Vault, checks its
// signature.
func serviceAccount(t testing.TB) string {
	t.Helper()
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	claims := map[string]any{
		"iss": "kubernetes/serviceaccount",
		"sub": "system:serviceaccount:leads:pingpost",
		"iat": time.Now().Unix(),
		"nbf": time.Now().Unix(),
		"exp": time.Now().Add(time.Hour).Unix(),
		"kubernetes.io": map[string]any{
			"namespace":      "leads",
			"serviceaccount": map[string]any{"name": "pingpost", "uid": "1"},
		},
	}
	return part(map[string]any{"alg": "RS256", "kid": "1"}) + "." + part(claims) + "." +
		base64.RawURLEncoding.EncodeToString(make([]byte, 256))
}

// Only the CA in vault.ca_file is trusted, if there is one.
func TestVaultWithPrivateCA(t *testing.T) {
	t.Parallel()
	v, own, other := testkit.NewVault(t), testkit.NewAuthority(t), testkit.NewAuthority(t)
	address, err := url.Parse(v.Address)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(own.Issue(t, "127.0.0.1", time.Now().Add(time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(address))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	for file, trusted := range map[string]bool{own.File: true, other.File: false, "": false} {
		o := v.Options(devvault.Serve)
		o.Address, o.CAFile = server.URL, file
		_, err := with(t, o).Wrap(t.Context(), randomKeys(1))
		var failed *transit.Error
		if trusted && err != nil || !trusted && (!errors.As(err, &failed) || failed.Reason != "unreachable") {
			t.Errorf("with the CA %q: got %v", file, err)
		}
	}
}
