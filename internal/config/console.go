package config

import (
	"slices"
	"time"
)

// consoleRoles are all roles, with the same names as in the policy.
var consoleRoles = []string{"administrator", "account_manager", "pricing_manager", "finance", "auditor"}

// Console holds the rules for logins to the console.
type Console struct {
	SecondFactorRoles []string      // roles that require a second factor
	SessionIdle       time.Duration // an unused session ends after this time
	SessionLifetime   time.Duration // every session ends after this time
}

func defaultConsole(p Profile) Console {
	c := Console{
		SecondFactorRoles: slices.Clone(consoleRoles),
		SessionIdle:       30 * time.Minute,
		SessionLifetime:   12 * time.Hour,
	}
	if p == Dev {
		c.SecondFactorRoles = nil // demo users log in without one
	}
	return c
}

func (c *Console) fields() []field {
	return []field{
		texts("second_factor_roles", &c.SecondFactorRoles),
		duration("session_idle", &c.SessionIdle),
		duration("session_lifetime", &c.SessionLifetime),
	}
}

// Validate returns all problems in the section as Problems.
func (c *Console) Validate() error {
	var ps Problems
	for _, role := range c.SecondFactorRoles {
		oneOf(&ps, "console.second_factor_roles", role, consoleRoles...)
	}
	between(&ps, "console.session_idle", c.SessionIdle, time.Minute, 24*time.Hour)
	between(&ps, "console.session_lifetime", c.SessionLifetime, 5*time.Minute, 7*24*time.Hour)
	return ps.asError()
}
