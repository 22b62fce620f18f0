package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/platform/config"
)

// The key of the client certificate that database.url names is a secret, too.
func TestReadableClientKeyIsReported(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "client.key")
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := config.Defaults(config.Serve)
	cfg.Database.URL = config.Secret("postgres://user:secret@db/pingpost?sslmode=verify-full&sslkey=" + key)
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o640: true, 0o604: true} {
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, w := range Warnings(t.Context(), cfg) {
			found = found || w.Path == "database.url" && strings.Contains(w.Text, fmt.Sprintf("%04o", mode))
		}
		if found != want {
			t.Errorf("mode %o: got a warning %t, want %t", mode, found, want)
		}
	}
}
