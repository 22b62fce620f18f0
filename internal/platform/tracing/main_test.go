package tracing_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
