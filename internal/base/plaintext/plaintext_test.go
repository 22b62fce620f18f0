package plaintext_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/plaintext"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		value, want string
		problem     apperr.FieldCode // "" if the value is valid
	}{
		"empty":              {"", "", ""},
		"blanks":             {" \t\u200b\u00a0", "", ""},
		"several lines":      {" first\r\n\tsecond \n", "first\n\tsecond", ""},
		"longest":            {strings.Repeat("é", 20), strings.Repeat("é", 20), ""},
		"too long":           {strings.Repeat("é", 21), "", apperr.TooLong},
		"longest and blanks": {strings.Repeat("x", 20) + "  ", strings.Repeat("x", 20), ""},
		"control character":  {"a\x00b", "", apperr.InvalidValue},
		"carriage return":    {"a\rb", "", apperr.InvalidValue},
		"delete":             {"a\x7fb", "", apperr.InvalidValue},
		"not UTF-8":          {"a\xffb", "", apperr.InvalidValue},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := plaintext.Check("reason", tt.value, 20)
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			f := apperr.As(err)
			switch {
			case tt.problem == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case tt.problem != "" && (f == nil || f.Code != apperr.Invalid || len(f.Fields) != 1 ||
				!slices.Equal(f.Fields[0].Path, []string{"reason"}) || f.Fields[0].Code != tt.problem):
				t.Errorf("got %+v, want %s at the field reason", err, tt.problem)
			}
		})
	}
}
