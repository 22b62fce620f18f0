// Package letters contains the templates of the letters with which staff answer privacy requests.
package letters

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

// Name is the name of a letter. Its template is in a file with this name and the extension .txt.
type Name string

const (
	Acknowledge Name = "acknowledge" // the request was received
	Extend      Name = "extend"      // the deadline was extended
	Reject      Name = "reject"      // the request was rejected
	Done        Name = "done"        // the request was answered, or some of its leads were erased
)

// Names lists the letters.
var Names = []Name{Acknowledge, Extend, Reject, Done}

// AlreadyErased is the outcome of a request whose leads had been erased before it.
const AlreadyErased = "already_erased"

// Fields contains the values that a template can use. They do not identify the consumer.
type Fields struct {
	Request    string // ID
	Reference  string // as entered; "" if there is none
	Kind       string // "access", "erasure", "objection", "restriction", "withdrawal" or "rectification"
	Subject    string // completes "We received": "your request for a copy of your personal data"
	Law        string // "gdpr", "uk_gdpr" or "ccpa"
	LawName    string // "GDPR"
	ReceivedOn string // "31 January 2026"
	DueOn      string // the current deadline
	Reason     string // for the extension
	Ground     string // for the rejection
	Note       string // what staff did, if the outcome is "done"
	Outcome    string // "exported", "erased", AlreadyErased, "done", "nothing_found" or "rejected"; "" while the request is open
	// PartlyErased means that some leads were erased, but not the others.
	PartlyErased bool
	Controller   string // the setting privacy.controller
}

//go:embed *.txt
var builtin embed.FS

// Letters contains the parsed templates.
type Letters struct{ templates *template.Template }

// Builtin returns the built-in letters.
func Builtin() *Letters {
	return &Letters{template.Must(template.New("").ParseFS(builtin, "*.txt"))}
}

// maxTemplate is the maximum size of a template in bytes.
const maxTemplate = 64 << 10

// Load returns the built-in letters. Letters in the given folder replace them. If folder is "", no letters are
// replaced. Its errors contain no names of files other than those of the letters.
func Load(folder string) (*Letters, error) {
	l := Builtin()
	if folder == "" {
		return l, nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, withoutPath(err)
	}
	for _, entry := range entries {
		file := entry.Name()
		if filepath.Ext(file) != ".txt" {
			continue
		}
		if !slices.Contains(Names, Name(strings.TrimSuffix(file, ".txt"))) {
			return nil, errors.New("the folder contains a text file that is not a letter. The letters are acknowledge.txt, extend.txt, reject.txt and done.txt")
		}
		text, err := os.ReadFile(filepath.Join(folder, file)) //nolint:gosec // the operator chose the folder
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, withoutPath(err))
		case len(text) > maxTemplate:
			return nil, fmt.Errorf("%s: must have at most %d bytes", file, maxTemplate)
		}
		if _, err := l.templates.New(file).Parse(string(text)); err != nil {
			return nil, err
		}
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	return l, nil
}

func withoutPath(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

// check executes each template with every combination of values that its conditions can depend on.
func (l *Letters) check() error {
	f := Fields{
		Request: "pr_0", Subject: "your request for a copy of your personal data", LawName: "GDPR", ReceivedOn: "1 January 2026", DueOn: "1 February 2026",
	}
	for _, f.Kind = range []string{"access", "erasure", "objection", "restriction", "withdrawal", "rectification"} {
		for _, f.Law = range []string{"gdpr", "uk_gdpr", "ccpa"} {
			for _, f.Outcome = range []string{"", "exported", "erased", AlreadyErased, "done", "nothing_found", "rejected"} {
				for _, optional := range []string{"", "text"} {
					f.Reference, f.Reason, f.Ground, f.Note, f.Controller = optional, optional, optional, optional, optional
					f.PartlyErased = optional != ""
					for _, name := range Names {
						if err := l.execute(io.Discard, name, f); err != nil {
							return err
						}
					}
				}
			}
		}
	}
	return nil
}

func (l *Letters) execute(w io.Writer, name Name, f Fields) error {
	return l.templates.ExecuteTemplate(w, string(name)+".txt", f)
}

// Write returns the text of a letter.
func (l *Letters) Write(name Name, f Fields) (string, error) {
	var text strings.Builder
	err := l.execute(&text, name, f)
	return text.String(), err
}
