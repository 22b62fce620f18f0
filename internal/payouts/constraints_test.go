package payouts_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/payouts"
)

func TestConstraintsExistInSchema(t *testing.T) { testkit.CheckConstraints(t, payouts.Constraints()) }
