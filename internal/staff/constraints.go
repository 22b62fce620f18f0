package staff

import (
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/postgres"
)

// constraints maps each database constraint to the error that is returned when it is violated.
func constraints() postgres.Constraints {
	return postgres.Constraints{
		"staff_email_folded": apperr.New(apperr.Conflict, "email_taken", "Another user already has this email address."),
	}
}
