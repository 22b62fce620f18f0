package notes_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/dev/leadkit"
)

func TestMain(m *testing.M) { leadkit.Main(m) }

// rig is a platform with leads and with a user who reads and erases their data.
type rig struct{ leadkit.Kit }
