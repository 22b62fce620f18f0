package staff

import (
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/postgres"
)

// constraints are the errors for what the schema rejects of this package's rows.
func constraints() postgres.Constraints {
	return postgres.Constraints{
		"staff_email_folded": apperr.New(apperr.Conflict, "email_taken", "There is somebody with this e-mail address already."),
	}
}
