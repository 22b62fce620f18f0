package letters_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/letters"
)

func TestLoad(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       string // in the letter done
		fails      bool
	}{
		"no files":             {"notes.md", "{{", "a copy of your data", false},
		"own letter":           {"done.txt", "Done: {{.Subject}} under the {{.LawName}}", "Done: a copy of your data under the GDPR", false},
		"another letter":       {"reject.txt", "No.", "a copy of your data", false},
		"syntax error":         {"done.txt", "{{.Subject", "", true},
		"unknown field":        {"done.txt", "{{.Email}}", "", true},
		"field in a condition": {"reject.txt", `{{if eq .Kind "rectification"}}{{.Name}}{{end}}`, "", true},
		"unknown letter":       {"rejected.txt", "No.", "", true},
		"too long":             {"done.txt", strings.Repeat("x", 64<<10+1), "", true},
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, c.file), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := letters.Load(folder)
		if c.fails {
			if err == nil || strings.Contains(err.Error(), folder) {
				t.Errorf("%s: got %v, want an error without the folder", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := l.Write(letters.Done, letters.Fields{Subject: "a copy of your data", LawName: "GDPR", Outcome: "exported"})
		if err != nil || !strings.Contains(text, c.want) {
			t.Errorf("%s: got %q, %v, want %q", name, text, err, c.want)
		}
	}
	if _, err := letters.Load(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing folder is accepted")
	}
}
