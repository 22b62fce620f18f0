package pricingrules

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	place       = regexp.MustCompile(`^(?:f\.yaml(?::\d+)?|rule \d+)(?:: )`)
	quotedValue = regexp.MustCompile(`"[^"]*"`)
)

// essence reduces each line of an error to the location and the quoted values in it.
func essence(err error) string {
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		at := place.FindString(line)
		parts := quotedValue.FindAllString(line[len(at):], -1)
		if at != "" {
			parts = slices.Insert(parts, 0, strings.TrimSuffix(at, ": "))
		}
		lines = append(lines, strings.Join(parts, " "))
	}
	return strings.Join(lines, "\n")
}

// rejection is a test case. It contains a file that is not valid and the essence of the expected error.
type rejection struct{ name, file, want string }

func rejects(t *testing.T, parse func(file string, data []byte) error, cases []rejection) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := parse("f.yaml", []byte(c.file))
			if err == nil {
				t.Fatal("got no error")
			}
			if diff := cmp.Diff(c.want, essence(err)); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			var problems Problems
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Errorf("got error type %T, want Problems", err)
			}
		})
	}
}

func TestProblemsAreInFileOrder(t *testing.T) {
	err := Problems{
		{File: "f.yaml", Rule: -1, Message: "whole file"},
		{File: "f.yaml", Line: 9, Rule: 3, Message: "later"},
		{Rule: 1, Message: "without a file"},
		{File: "f.yaml", Line: 2, Rule: 0, Message: "sooner"},
		{Rule: -1, Message: "no location"},
	}.err()
	want := "f.yaml:2: sooner\nf.yaml:9: later\nf.yaml: whole file\nno location\nrule 2: without a file"
	if err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	if err := (Problems{}).err(); err != nil {
		t.Errorf("got error %v for no problems", err)
	}
}
