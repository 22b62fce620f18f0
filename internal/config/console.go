package config

import (
	"slices"
	"time"
)

// consoleRoles are the roles that there are; the same words as in the policy.
var consoleRoles = []string{"administrator", "account_manager", "pricing_manager", "finance", "auditor"}

// Console holds the rules for staff who log in.
type Console struct {
	SecondFactorRoles []string      // who needs a second factor
	SessionIdle       time.Duration // after which a session that nobody uses ends
	SessionLifetime   time.Duration // after which any session ends
}

func defaultConsole(p Profile) Console {
	c := Console{
		SecondFactorRoles: slices.Clone(consoleRoles),
		SessionIdle:       30 * time.Minute,
		SessionLifetime:   12 * time.Hour,
	}
	if p == Dev {
		c.SecondFactorRoles = nil // the demonstration staff log in at once
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

// Validate reports every problem of the section as Problems.
func (c *Console) Validate() error {
	var ps Problems
	for _, role := range c.SecondFactorRoles {
		oneOf(&ps, "console.second_factor_roles", role, consoleRoles...)
	}
	between(&ps, "console.session_idle", c.SessionIdle, time.Minute, 24*time.Hour)
	between(&ps, "console.session_lifetime", c.SessionLifetime, 5*time.Minute, 7*24*time.Hour)
	return ps.asError()
}
