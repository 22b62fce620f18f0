package staff_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/internal/testkit"
)

func TestConstraintsExistInSchema(t *testing.T) { testkit.CheckConstraints(t, staff.Constraints()) }
