// Package proxies tests the configuration files in deploy with HAProxy and nginx.
package proxies

import (
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }
