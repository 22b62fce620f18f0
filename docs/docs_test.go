// Package docs checks that cited decisions and pages exist, and that no text uses a word listed in
// words.txt.
package docs

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = ".."

// texts returns the repository's source and documentation files with their contents,
// without generated code.
func texts(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if slices.Contains([]string{".git", ".pingpost", "bin", "dist", "node_modules", "screenshots", "tmp"}, name) &&
				path != filepath.Join(root, "docs", "screenshots") {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, "_templ.go") {
			return nil
		}
		switch filepath.Ext(name) {
		case ".go", ".templ", ".html", ".md", ".sql", ".yaml", ".yml", ".csv", ".js", ".css":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		files[relative] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 500 {
		t.Fatalf("found %d files, want all of the repository", len(files))
	}
	return files
}

var (
	citation = regexp.MustCompile(`(?i)\bdecisions?(?: |\n\s*(?://|--|#) )(\d+(?:(?:, and |, | and | or | to |–)\d+)*)`)
	number   = regexp.MustCompile(`\d+`)
)

func TestDecisionsResolve(t *testing.T) {
	records, err := filepath.Glob("decisions/[0-9]*.md")
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile("decisions/README.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[int]bool{}
	for _, record := range records {
		name := filepath.Base(record)
		n, err := strconv.Atoi(name[:strings.Index(name, "-")])
		if err != nil || known[n] {
			t.Errorf("%s: the number is not unique", record)
		}
		known[n] = true
		if !strings.Contains(string(index), "("+name+")") {
			t.Errorf("decisions/README.md does not list %s", name)
		}
		text, err := os.ReadFile(record)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"## Context\n", "## Decision\n", "## Consequences\n", "## Alternatives\n"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %q", record, strings.TrimSpace(part))
			}
		}
	}
	for n := 1; n <= len(known); n++ {
		if !known[n] {
			t.Errorf("there are %d records, and none with number %d", len(known), n)
		}
	}
	cited := 0
	for path, text := range texts(t) {
		for _, found := range citation.FindAllStringSubmatch(text, -1) {
			for _, digits := range number.FindAllString(found[1], -1) {
				cited++
				if n, err := strconv.Atoi(digits); err != nil || !known[n] {
					t.Errorf("%s cites decision %s, which has no record", path, digits)
				}
			}
		}
	}
	if cited < 200 {
		t.Errorf("found %d citations; the pattern misses some", cited)
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Links between the repository's pages lead to a file and, after a #, to a heading.
func TestLinksResolve(t *testing.T) {
	for path, text := range texts(t) {
		if filepath.Ext(path) != ".md" {
			continue
		}
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target, heading, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file := filepath.Join(root, filepath.Dir(path), target)
			if target == "" {
				file = filepath.Join(root, path)
			}
			page, err := os.Stat(file)
			if err != nil {
				t.Errorf("%s links to %s, which does not exist", path, found[1])
				continue
			}
			if heading == "" || page.IsDir() || filepath.Ext(file) != ".md" {
				continue
			}
			linked, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !hasHeading(string(linked), heading) {
				t.Errorf("%s links to %s, which has no such heading", path, found[1])
			}
		}
	}
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

// hasHeading reports whether a Markdown page has a heading with the given anchor. GitHub derives
// anchors from headings in the same way.
func hasHeading(page, anchor string) bool {
	for line := range strings.Lines(page) {
		title := strings.TrimLeft(line, "#")
		if title == line {
			continue
		}
		title = notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
		if strings.ReplaceAll(title, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// words is the content of words.txt.
type words struct {
	any     *regexp.Regexp    // matches any of the words
	instead map[string]string // replacement for each word in lower case
	right   *strings.Replacer // removes the phrases in which a word is allowed
}

func readWords(t *testing.T) words {
	t.Helper()
	list, err := os.ReadFile("words.txt")
	if err != nil {
		t.Fatal(err)
	}
	w := words{instead: map[string]string{}}
	var patterns, phrases []string
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) < 2 {
			t.Fatalf("words.txt: %q has no replacement", line)
		}
		w.instead[parts[0]] = parts[1]
		patterns = append(patterns, regexp.QuoteMeta(parts[0]))
		if len(parts) > 2 {
			for phrase := range strings.SplitSeq(parts[2], ", ") {
				phrases = append(phrases, phrase, "")
			}
		}
	}
	w.any = regexp.MustCompile(`(?i)\b(?:` + strings.Join(patterns, "|") + `)(?:\b|$)`)
	w.right = strings.NewReplacer(phrases...)
	return w
}

var (
	// quotedValue is a string without spaces. It is a code or a state, not text that people read.
	quotedValue = regexp.MustCompile(`"[^"\s]*"`)
	// codeValue is the equivalent in Markdown: code without spaces, or the anchor in a link.
	codeValue = regexp.MustCompile("`[^`\\s]*`" + `|\(#[^)]*\)`)
)

// prose returns the parts of a file that people read, with the line each begins on.
func prose(path, text string) map[int]string {
	parts := map[int]string{}
	switch filepath.Ext(path) {
	case ".go":
		files := token.NewFileSet()
		file := files.AddFile(path, -1, len(text))
		var s scanner.Scanner
		s.Init(file, []byte(text), nil, scanner.ScanComments)
		for {
			at, kind, literal := s.Scan()
			switch kind {
			case token.EOF:
				return parts
			case token.COMMENT, token.STRING:
				parts[file.Line(at)] += quotedValue.ReplaceAllString(literal, "") + "\n"
			}
		}
	case ".sql":
		n := 0
		for line := range strings.Lines(text) {
			n++
			if _, comment, ok := strings.Cut(line, "--"); ok {
				parts[n] = comment
			}
		}
	case ".templ":
		n := 0
		for line := range strings.Lines(text) {
			n++
			parts[n] = quotedValue.ReplaceAllString(line, "")
		}
	case ".html", ".md", ".yaml", ".yml":
		n := 0
		for line := range strings.Lines(text) {
			n++
			parts[n] = codeValue.ReplaceAllString(line, "")
		}
	}
	return parts
}

func TestWords(t *testing.T) {
	words := readWords(t)
	for path, text := range texts(t) {
		for line, part := range prose(path, text) {
			for _, found := range words.any.FindAllString(words.right.Replace(part), -1) {
				t.Errorf("%s:%d: %q: write %s", path, line, found, words.instead[strings.ToLower(found)])
			}
		}
	}
}

// TestArchitectureListsFolders checks that the layout and the table in architecture.md contain each area of the
// console, and that the table contains each internal package.
func TestArchitectureListsFolders(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("explanation", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), "## The layout")
	layout, rest, _ := strings.Cut(rest, "## Folders")
	table, _, _ := strings.Cut(rest, "\n## ")
	lists := func(text, name string) bool { return regexp.MustCompile(`\b` + name + `\b`).MatchString(text) }
	for parent, parts := range map[string]map[string]string{
		"admin":                  {"layout": layout, "table": table},
		"internal":               {"layout": layout, "table": table},
		"internal/base":          {"table": table},
		"internal/dev":           {"table": table},
		"internal/platform":      {"table": table},
		"internal/platform/keys": {"table": table},
		"internal/protocol":      {"table": table},
	} {
		folders, err := os.ReadDir(filepath.Join(root, parent))
		if err != nil || len(folders) < 3 {
			t.Fatal(len(folders), err)
		}
		for _, folder := range folders {
			if !folder.IsDir() || slices.Contains([]string{"assets", "admintest", "testdata"}, folder.Name()) {
				continue
			}
			for part, text := range parts {
				if !lists(text, folder.Name()) {
					t.Errorf("the %s in architecture.md does not contain %s/%s", part, parent, folder.Name())
				}
			}
		}
	}
}
