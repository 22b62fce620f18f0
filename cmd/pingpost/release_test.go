package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

var releaseFiles = flag.String("release-files", "", "folder to which TestReleaseFiles writes")

// TestReleaseFiles writes the man pages and completions of a release, and checks that no command is missing.
func TestReleaseFiles(t *testing.T) {
	dir := cmp.Or(*releaseFiles, t.TempDir())
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	if err := errors.Join(os.MkdirAll(man, 0o755), os.MkdirAll(completions, 0o755)); err != nil {
		t.Fatal(err)
	}
	root := newRoot(func() {})
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Title: "PINGPOST", Section: "1", Source: "pingpost", Manual: "pingpost"}
	if err := doc.GenManTree(root, header, man); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{
		"bash": "pingpost.bash", "fish": "pingpost.fish", "powershell": "pingpost.ps1", "zsh": "_pingpost",
	}
	for shell, write := range completionScripts {
		var script bytes.Buffer
		if err := write(root, &script); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(completions, names[shell]), script.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		page, err := os.ReadFile(filepath.Join(man, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		if err != nil || !strings.Contains(string(page), strings.ReplaceAll(c.CommandPath(), " ", "-")) {
			t.Errorf("%s has no man page (%v)", c.CommandPath(), err)
		}
		for _, child := range c.Commands() {
			check(child)
		}
	}
	check(root)
}
