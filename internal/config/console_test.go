package config

import (
	"slices"
	"testing"
	"time"

	"github.com/pingpost/pingpost/models"
)

func TestConsoleValidate(t *testing.T) {
	for _, p := range []Profile{Serve, Dev} {
		c := defaultConsole(p)
		checkProblems(t, c.Validate())
	}
	checkProblems(t, (&Console{SecondFactorRoles: []string{"finance", "owner"}, SessionIdle: time.Second, SessionLifetime: 8 * 24 * time.Hour}).Validate(),
		"console.second_factor_roles: must be administrator, account_manager, pricing_manager, finance or auditor",
		"console.session_idle: must be between 1m and 24h", "console.session_lifetime: must be between 5m and 168h")
}

func TestConsoleKnowsTheRoles(t *testing.T) {
	var roles []string
	for _, r := range models.Roles {
		roles = append(roles, string(r))
	}
	if !slices.Equal(roles, consoleRoles) {
		t.Errorf("roles %v, want %v", consoleRoles, roles)
	}
}
