package ratecard_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/ratecard"
)

func TestConstraintsMatchSchema(t *testing.T) { testkit.CheckConstraints(t, ratecard.Constraints()) }
