package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A secret in a file that other users can read causes a warning, which does not name the file.
func TestSecretsThatOthersCanRead(t *testing.T) {
	for _, mode := range []fs.FileMode{0o600, 0o400, 0o700, 0o640, 0o604, 0o644, 0o444} {
		exposed := mode&0o044 != 0
		for name, c := range map[string]struct {
			config string // FILE is replaced by the name of the secret's file
			env    []string
			want   string // the setting with the warning
		}{
			"key ending in _file":     {"keys: {local_kek_file: FILE}", nil, "keys.local_kek"},
			"variable ending in FILE": {"", []string{"LEAD_VAULT_KEK_FILE=FILE"}, "keys.local_kek"},
			"in the configuration":    {"keys: {local_kek: " + keyC + "}", nil, "keys.local_kek"},
			"list":                    {"keys: {local_kek: " + keyC + ", platform_keys: [" + keyA + "]}", []string{"PINGPOST_PLATFORM_KEYS="}, "keys.local_kek\nkeys.platform_keys"},
			"in a variable":           {"", []string{"LEAD_VAULT_KEK=" + keyC}, ""},
			"overridden":              {"keys: {local_kek: " + keyC + "}", []string{"LEAD_VAULT_KEK=" + keyC}, ""},
		} {
			t.Run(fmt.Sprintf("%s %o", name, mode), func(t *testing.T) {
				dir := t.TempDir()
				secret, file := filepath.Join(dir, "kek"), filepath.Join(dir, "pingpost.yaml")
				for path, content := range map[string]string{secret: keyC, file: strings.ReplaceAll(c.config, "FILE", secret)} {
					if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
					if err := os.Chmod(path, mode); err != nil { // a mode of WriteFile is subject to the umask
						t.Fatal(err)
					}
				}
				environ := slices.DeleteFunc(sufficient(), func(v string) bool {
					return strings.Contains(v, "KEK") || slices.Contains(c.env, "PINGPOST_PLATFORM_KEYS=") && strings.Contains(v, "PLATFORM")
				})
				for _, variable := range c.env {
					environ = append(environ, strings.ReplaceAll(variable, "_FILE=FILE", "_FILE="+secret))
				}
				cfg, err := Load(Source{File: file, Environ: environ})
				if err != nil {
					t.Fatal(err)
				}
				want := ""
				if exposed {
					want = c.want
				}
				var got []string
				for _, w := range cfg.Warnings() {
					got = append(got, w.Path)
					if strings.Contains(w.Text, dir) || !strings.Contains(w.Text, fmt.Sprintf("%04o", mode)) {
						t.Errorf("got the warning %q", w.Text)
					}
				}
				if strings.Join(got, "\n") != want {
					t.Errorf("got warnings for %q, want %q", got, want)
				}
			})
		}
	}
}
