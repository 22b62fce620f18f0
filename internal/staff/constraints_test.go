package staff_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/staff"
)

func TestConstraintsExistInSchema(t *testing.T) { testkit.CheckConstraints(t, staff.Constraints()) }
