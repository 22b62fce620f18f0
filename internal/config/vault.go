package config

import (
	"net/url"
	"time"
)

// Login names how a node shows Vault who it is.
type Login string

const (
	LoginAppRole    Login = "approle"
	LoginKubernetes Login = "kubernetes"
	LoginToken      Login = "token"
)

// Vault says where the key is that wraps the data keys of leads, and how to log
// in to it (decision 23). Without an address there is no Vault.
type Vault struct {
	Address   string
	Namespace string
	CAFile    string
	Mount     string // of the Transit engine
	Key       string // of the Transit engine
	Auth      Login
	AuthMount string // as given; LoginMount() is what is used
	RoleID    string // AppRole
	SecretID  Secret // AppRole
	Role      string // Kubernetes
	JWTFile   string // Kubernetes
	Token     Secret
	Timeout   time.Duration // of one call
}

func defaultVault() Vault {
	return Vault{
		Mount: "transit", Key: "pingpost-leads", Auth: LoginAppRole, Timeout: 2 * time.Second,
		JWTFile: "/var/run/secrets/kubernetes.io/serviceaccount/token",
	}
}

func (v *Vault) fields() []field {
	return []field{
		text("address", &v.Address),
		text("namespace", &v.Namespace),
		text("ca_file", &v.CAFile),
		text("mount", &v.Mount),
		text("key", &v.Key),
		text("auth", &v.Auth),
		text("auth_mount", &v.AuthMount),
		text("role_id", &v.RoleID),
		secret(text("secret_id", &v.SecretID)),
		text("role", &v.Role),
		text("jwt_file", &v.JWTFile),
		secret(text("token", &v.Token)),
		duration("timeout", &v.Timeout),
	}
}

// Validate reports every problem of the section as Problems.
func (v *Vault) Validate() error {
	var ps Problems
	oneOf(&ps, "vault.auth", v.Auth, LoginAppRole, LoginKubernetes, LoginToken)
	between(&ps, "vault.timeout", v.Timeout, 10*time.Millisecond, 30*time.Second)
	for _, p := range []struct{ path, value string }{{"vault.mount", v.Mount}, {"vault.key", v.Key}} {
		if !plainPath(p.value) {
			ps.add(p.path, "needs a path of letters, digits, hyphens, underscores, dots and slashes, without a slash at its ends")
		}
	}
	if v.AuthMount != "" && !plainPath(v.AuthMount) {
		ps.add("vault.auth_mount",
			"needs a path of letters, digits, hyphens, underscores, dots and slashes, without a slash at its ends")
	}
	if v.Address == "" {
		for _, given := range []struct {
			path string
			set  bool
		}{
			{"vault.role_id", v.RoleID != ""},
			{"vault.secret_id", v.SecretID != ""},
			{"vault.token", v.Token != ""},
			{"vault.role", v.Role != ""},
		} {
			if given.set {
				ps.add(given.path, "is of no use without vault.address")
			}
		}
		return ps.asError()
	}
	v.validateAddress(&ps)
	v.validateLogin(&ps)
	return ps.asError()
}

func (v *Vault) validateAddress(ps *Problems) {
	const path = "vault.address"
	u, err := url.Parse(v.Address)
	switch {
	case err != nil || !validHost(u.Hostname()) || !validPort(u.Port(), true) || u.Scheme != "http" && u.Scheme != "https":
		ps.add(path, "needs an origin, such as https://vault.example.com:8200")
	case v.Address != u.Scheme+"://"+u.Host:
		ps.add(path, "must end after the host or port: no user, path, trailing slash, query or fragment")
	case u.Scheme != "https" && !loopback(u.Hostname()):
		ps.add(path, "must use https: data keys cross this connection; http is for localhost alone")
	}
}

func (v *Vault) validateLogin(ps *Problems) {
	switch v.Auth {
	case LoginAppRole:
		ps.require("vault.role_id", v.RoleID != "")
		ps.require("vault.secret_id", v.SecretID != "")
	case LoginKubernetes:
		ps.require("vault.role", v.Role != "")
		ps.require("vault.jwt_file", v.JWTFile != "")
	case LoginToken:
		ps.require("vault.token", v.Token != "")
	}
}

// LoginMount is where the login lies in Vault: the given one, else the method's
// own name.
func (v *Vault) LoginMount() string {
	if v.AuthMount != "" {
		return v.AuthMount
	}
	return string(v.Auth)
}

// plainPath keeps what would change the path of a call out of it.
func plainPath(s string) bool {
	if s == "" || s[0] == '/' || s[len(s)-1] == '/' {
		return false
	}
	last := rune(0)
	for _, c := range s {
		plain := c == '-' || c == '_' || c == '.' || c == '/' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' ||
			'A' <= c && c <= 'Z'
		if !plain || last == c && (c == '/' || c == '.') {
			return false
		}
		last = c
	}
	return true
}
