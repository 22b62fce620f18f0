package config

import (
	"slices"
	"time"
)

// consoleRoles are the names of all roles. A test compares them with those in package models.
var consoleRoles = []string{"administrator", "account_manager", "pricing_manager", "finance", "privacy", "auditor"}

// Console holds the settings of the section `console`.
type Console struct {
	// Roles that require a second factor. Until users with these roles have set up a second factor, they
	// can do nothing else. For users who have only other roles, a second factor is optional.
	SecondFactorRoles []string

	// How long a session can be idle before it ends, `1m` to `24h`.
	SessionIdle time.Duration

	// How long a session can last in total, `5m` to `168h`. The default is one working day.
	SessionLifetime time.Duration
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

// Validate checks the section. Its error has the type Problems and contains all problems.
func (c *Console) Validate() error {
	var ps Problems
	for _, role := range c.SecondFactorRoles {
		oneOf(&ps, "console.second_factor_roles", role, consoleRoles...)
	}
	between(&ps, "console.session_idle", c.SessionIdle, time.Minute, 24*time.Hour)
	between(&ps, "console.session_lifetime", c.SessionLifetime, 5*time.Minute, 7*24*time.Hour)
	return ps.asError()
}
