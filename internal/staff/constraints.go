package staff

import (
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

func constraints() postgres.Constraints {
	return postgres.Constraints{
		"staff_email_folded": apperr.New(apperr.Conflict, "email_taken", "Another user already has this email address."),
	}
}
