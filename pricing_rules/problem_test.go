package pricingrules

import (
	"errors"
	"testing"
)

// refusal is a bad file with the exact text of its error.
type refusal struct{ name, file, want string }

func refuses(t *testing.T, parse func(file string, data []byte) error, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := parse("f.yaml", []byte(c.file))
			if err == nil {
				t.Fatal("was accepted")
			}
			if err.Error() != c.want {
				t.Errorf("got:\n%v\nwant:\n%s", err, c.want)
			}
			var problems Problems
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Errorf("the error is a %T without problems", err)
			}
		})
	}
}

func TestProblemsComeInTheFilesOrder(t *testing.T) {
	err := Problems{
		{File: "f.yaml", Rule: -1, Message: "of the whole file"},
		{File: "f.yaml", Line: 9, Rule: 3, Message: "later"},
		{Rule: 1, Message: "without a file"},
		{File: "f.yaml", Line: 2, Rule: 0, Message: "sooner"},
		{Rule: -1, Message: "of nothing in particular"},
	}.err()
	want := "f.yaml:2: sooner\nf.yaml:9: later\nf.yaml: of the whole file\nof nothing in particular\nrule 2: without a file"
	if err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	if err := (Problems{}).err(); err != nil {
		t.Errorf("no problems are the error %v", err)
	}
}
