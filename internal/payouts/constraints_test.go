package payouts_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/testkit"
)

func TestConstraintsExistInSchema(t *testing.T) { testkit.CheckConstraints(t, payouts.Constraints()) }
