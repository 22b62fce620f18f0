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
	checkProblems(t, (&Console{
		SecondFactorRoles: []string{"finance", "owner"},
		SessionIdle:       time.Second,
		SessionLifetime:   8 * 24 * time.Hour,
	}).Validate(),
		"console.second_factor_roles account_manager pricing_manager",
		"console.session_idle", "console.session_lifetime")
}

func TestConsoleRolesMatchModels(t *testing.T) {
	var roles []string
	for _, r := range models.Roles {
		roles = append(roles, string(r))
	}
	if !slices.Equal(roles, consoleRoles) {
		t.Errorf("roles %v, want %v", consoleRoles, roles)
	}
}
