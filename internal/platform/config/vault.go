package config

import (
	"net/url"
	"time"
)

// Login is a method of logging in to Vault.
type Login string

const (
	LoginAppRole    Login = "approle"
	LoginKubernetes Login = "kubernetes"
	LoginToken      Login = "token"
)

// Vault holds the settings of the section `vault`. These settings are needed if HashiCorp Vault
// Transit is used as a key wrapper. Prepare Vault first (see docs/how-to/prepare-vault.md). Without
// an address, Vault is not used.
type Vault struct {
	// The origin of Vault, such as `https://vault.example.com:8200`. It must be `https`, because data
	// keys are sent over this connection; `http` is only allowed for localhost.
	Address string

	// The namespace in Vault Enterprise or HCP Vault. The community edition has no namespaces.
	Namespace string

	// The file with the certificate of the CA that issued Vault's certificate. By default, the
	// system's CAs are trusted.
	CAFile string

	// The mount path of the Transit engine, without a slash at the start or end.
	Mount string

	// The name of the key in the engine. The key must exist, because the node's policy does not allow
	// it to create keys. A misspelt name is therefore an error.
	Key string

	// How a node logs in: `approle`, `kubernetes` or `token`. With the first two, the node logs in again
	// when its token expires or is revoked. With `token`, it can only renew the token, and only for as
	// long as Vault allows.
	Auth Login

	// The mount path of the login method. The default is the method's name.
	AuthMount string

	// The RoleID for the AppRole login. It is not secret. Each node needs its own role (see
	// docs/how-to/prepare-vault.md).
	RoleID string

	// The SecretID for the AppRole login. The node uses it for each login, so its number of uses must not
	// be limited.
	SecretID Secret

	// The role for the Kubernetes login. In Vault, the role lists the service accounts that may use
	// it.
	Role string

	// The file with the service account's token, for the Kubernetes login. It is read again for each
	// login, because Kubernetes replaces the token.
	JWTFile string

	// A Vault token, for `auth: token`. It is not replaced when it expires, so use it for tests rather
	// than in production.
	Token Secret

	// The RoleID of a second AppRole login, which may only decrypt. Set it only on nodes that serve the
	// console, where staff reveal contact data. Without it, nothing can be revealed.
	ReadRoleID string

	// The SecretID of the second AppRole login.
	ReadSecretID Secret

	// The role of the second Kubernetes login, which may only decrypt.
	ReadRole string

	// A token that may only decrypt, for `auth: token`.
	ReadToken Secret

	// How long one call to Vault may take, up to `30s`. Posts do not normally wait for these calls,
	// because data keys are wrapped in advance.
	Timeout time.Duration
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
		text("read_role_id", &v.ReadRoleID),
		secret(text("read_secret_id", &v.ReadSecretID)),
		text("read_role", &v.ReadRole),
		secret(text("read_token", &v.ReadToken)),
		duration("timeout", &v.Timeout),
	}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
func (v *Vault) Validate() error {
	var ps Problems
	oneOf(&ps, "vault.auth", v.Auth, LoginAppRole, LoginKubernetes, LoginToken)
	between(&ps, "vault.timeout", v.Timeout, 10*time.Millisecond, 30*time.Second)
	for _, p := range []struct{ path, value string }{{"vault.mount", v.Mount}, {"vault.key", v.Key}} {
		if !plainPath(p.value) {
			ps.add(p.path,
				"must be a path with letters, digits, hyphens, underscores, dots and slashes, not starting or ending with a slash")
		}
	}
	if v.AuthMount != "" && !plainPath(v.AuthMount) {
		ps.add("vault.auth_mount",
			"must be a path with letters, digits, hyphens, underscores, dots and slashes, not starting or ending with a slash")
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
			{"vault.read_role_id", v.ReadRoleID != ""},
			{"vault.read_secret_id", v.ReadSecretID != ""},
			{"vault.read_role", v.ReadRole != ""},
			{"vault.read_token", v.ReadToken != ""},
		} {
			if given.set {
				ps.add(given.path, "has no effect without vault.address")
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
		ps.add(path, "must be an origin, such as https://vault.example.com:8200")
	case v.Address != u.Scheme+"://"+u.Host:
		ps.add(path, "must end after the host or port: no user, path, trailing slash, query or fragment")
	case u.Scheme != "https" && !loopback(u.Hostname()):
		ps.add(path, "must use https, because data keys are sent over this connection; http is only allowed for localhost")
	}
}

func (v *Vault) validateLogin(ps *Problems) {
	switch v.Auth {
	case LoginAppRole:
		ps.require("vault.role_id", v.RoleID != "")
		ps.require("vault.secret_id", v.SecretID != "")
		if v.ReadRoleID != "" || v.ReadSecretID != "" {
			ps.require("vault.read_role_id", v.ReadRoleID != "")
			ps.require("vault.read_secret_id", v.ReadSecretID != "")
		}
		if v.ReadRoleID != "" && v.ReadRoleID == v.RoleID {
			ps.add("vault.read_role_id", sameIdentity, "vault.role_id")
		}
	case LoginKubernetes:
		ps.require("vault.role", v.Role != "")
		ps.require("vault.jwt_file", v.JWTFile != "")
		if v.ReadRole != "" && v.ReadRole == v.Role {
			ps.add("vault.read_role", sameIdentity, "vault.role")
		}
	case LoginToken:
		ps.require("vault.token", v.Token != "")
		if v.ReadToken != "" && v.ReadToken == v.Token {
			ps.add("vault.read_token", sameIdentity, "vault.token")
		}
	}
	for _, reading := range []struct {
		path  string
		set   bool
		login Login
	}{
		{"vault.read_role_id", v.ReadRoleID != "", LoginAppRole},
		{"vault.read_secret_id", v.ReadSecretID != "", LoginAppRole},
		{"vault.read_role", v.ReadRole != "", LoginKubernetes},
		{"vault.read_token", v.ReadToken != "", LoginToken},
	} {
		if reading.set && v.Auth != reading.login {
			ps.add(reading.path, "has no effect unless vault.auth is %s", reading.login)
		}
	}
}

const sameIdentity = "must be a different identity from %s, which may not decrypt"

// Reads reports whether a second login is configured. This login has permission to decrypt leads.
func (v *Vault) Reads() bool { return v.readingLogin() != "" }

// readingLogin returns the path of the setting that configures the second login, which may decrypt
// leads. If there is no second login, it returns "".
func (v *Vault) readingLogin() string {
	switch {
	case v.Auth == LoginAppRole && v.ReadRoleID != "":
		return "vault.read_role_id"
	case v.Auth == LoginKubernetes && v.ReadRole != "":
		return "vault.read_role"
	case v.Auth == LoginToken && v.ReadToken != "":
		return "vault.read_token"
	}
	return ""
}

// LoginMount returns the mount path of the login method in Vault, which is the method's name by default.
func (v *Vault) LoginMount() string {
	if v.AuthMount != "" {
		return v.AuthMount
	}
	return string(v.Auth)
}

// plainPath reports whether s is safe to use in the path of a request to Vault.
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
