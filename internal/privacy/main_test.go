package privacy_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
