package config

import (
	"strings"
	"testing"
	"time"
)

func TestVaultValidate(t *testing.T) {
	with := func(change func(*Vault)) Vault {
		v := defaultVault()
		v.Address, v.RoleID, v.SecretID = "https://vault.example.com:8200", "role", "secret"
		change(&v)
		return v
	}
	for _, c := range []struct {
		name  string
		vault Vault
		want  []string
	}{
		{"not configured", defaultVault(), nil},
		{"AppRole", with(func(*Vault) {}), nil},
		{"on this machine", with(func(v *Vault) { v.Address = "http://127.0.0.1:8200" }), nil},
		{"Kubernetes", with(func(v *Vault) { v.Auth, v.Role, v.RoleID, v.SecretID = LoginKubernetes, "pingpost", "", "" }), nil},
		{"a token", with(func(v *Vault) { v.Auth, v.Token, v.RoleID, v.SecretID = LoginToken, "hvs.x", "", "" }), nil},
		{"a mount below another", with(func(v *Vault) { v.Mount, v.AuthMount = "teams/leads/transit", "teams/approle" }), nil},
		{"without TLS", with(func(v *Vault) { v.Address = "http://vault.example.com" }), []string{"vault.address"}},
		{"with a path", with(func(v *Vault) { v.Address = "https://vault.example.com/v1" }), []string{"vault.address"}},
		{"not an origin", with(func(v *Vault) { v.Address = "vault.example.com" }), []string{"vault.address"}},
		{"no login", with(func(v *Vault) { v.RoleID, v.SecretID = "", "" }), []string{
			"vault.role_id PINGPOST_VAULT_ROLE_ID", "vault.secret_id PINGPOST_VAULT_SECRET_ID"}},
		{"unknown login method", with(func(v *Vault) { v.Auth = "ldap" }), []string{"vault.auth"}},
		{"Kubernetes without a role", with(func(v *Vault) { v.Auth, v.JWTFile = LoginKubernetes, "" }), []string{
			"vault.jwt_file PINGPOST_VAULT_JWT_FILE", "vault.role PINGPOST_VAULT_ROLE"}},
		{"no token", with(func(v *Vault) { v.Auth = LoginToken }), []string{"vault.token PINGPOST_VAULT_TOKEN"}},
		{"a second login", with(func(v *Vault) { v.ReadRoleID, v.ReadSecretID = "reader", "secret" }), nil},
		{"half of a second login", with(func(v *Vault) { v.ReadSecretID = "secret" }), []string{"vault.read_role_id PINGPOST_VAULT_READ_ROLE_ID"}},
		{"a second login for another method", with(func(v *Vault) { v.ReadRole, v.ReadToken = "reader", "hvs.y" }),
			[]string{"vault.read_role vault.auth", "vault.read_token vault.auth"}},
		{"the same login twice", with(func(v *Vault) { v.ReadRoleID, v.ReadSecretID = v.RoleID, v.SecretID }),
			[]string{"vault.read_role_id vault.role_id"}},
		{"unsafe paths", with(func(v *Vault) { v.Mount, v.Key, v.AuthMount = "../sys", "a b", "/approle" }),
			[]string{"vault.auth_mount", "vault.key", "vault.mount"}},
		{"a login without an address", with(func(v *Vault) { v.Address = "" }), []string{
			"vault.role_id vault.address", "vault.secret_id vault.address"}},
		{"timeout too long", with(func(v *Vault) { v.Timeout = time.Minute }), []string{"vault.timeout"}},
	} {
		t.Run(c.name, func(t *testing.T) { checkProblems(t, c.vault.Validate(), c.want...) })
	}
}

func TestLoginMount(t *testing.T) {
	v := defaultVault()
	if got := v.LoginMount(); got != "approle" {
		t.Errorf("%q", got)
	}
	v.AuthMount = "elsewhere"
	if got := v.LoginMount(); got != "elsewhere" {
		t.Errorf("%q", got)
	}
	if plainPath(strings.Repeat("a", 10)+"//b") || plainPath("") || plainPath("a..b") {
		t.Error("plainPath accepted an unsafe path")
	}
}
