package reconcile_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/reconcile"
)

func TestConstraintsExistInSchema(t *testing.T) { testkit.CheckConstraints(t, reconcile.Constraints()) }
