package devstack

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// User is a demo user, as it appears in the file that `pingpost dev --ready-file` writes.
type User struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	Role     string `json:"role"`
}

// demoStaff returns a demo user for each role. It returns two for finance, because the user who prepares
// a payout run cannot approve it.
func demoStaff() []User {
	var all []User
	for _, role := range models.Roles {
		all = append(all, User{
			Email: strings.ReplaceAll(string(role), "_", "-") + "@example.com",
			Role:  string(role),
		})
	}
	return append(all, User{Email: "second-finance@example.com", Role: string(models.Finance)})
}

// Staff creates the demo users that are missing and returns all of them with their passwords,
// which are the same on every start. Demo users have no second factor.
func (s *Stack) Staff(ctx context.Context, service *staff.Service) (all []User, err error) {
	if s.Keys.Passwords == nil {
		s.Keys.Passwords = map[string]string{}
	}
	for _, p := range demoStaff() {
		if p.Password = s.Keys.Passwords[p.Email]; p.Password == "" {
			// Save the password in the file first, so that it is not lost if the start is
			// interrupted.
			p.Password = rand.Text()
			s.Keys.Passwords[p.Email] = p.Password
			if err := writeJSON(filepath.Join(s.dir, keysFile), s.Keys); err != nil {
				return nil, err
			}
		}
		role := models.Role(p.Role)
		n := staff.NewMember{
			Email: p.Email,
			Name:  "Demo " + staff.RoleName(role),
			Roles: []models.StaffRole{{Role: role}},
		}
		if _, err := service.By(audit.Service).Seed(ctx, n, p.Password); err != nil {
			return nil, fmt.Errorf("creating demo users: %w", err)
		}
		all = append(all, p)
	}
	return all, nil
}
