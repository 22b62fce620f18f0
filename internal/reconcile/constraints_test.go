package reconcile_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/internal/testkit"
)

func TestConstraintsExistInSchema(t *testing.T) { testkit.CheckConstraints(t, reconcile.Constraints()) }
