package ratecard_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/testkit"
)

func TestConstraintsMatchSchema(t *testing.T) { testkit.CheckConstraints(t, ratecard.Constraints()) }
