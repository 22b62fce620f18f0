package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Problem is one error in the configuration. Its Text never contains the configured value, because a
// user may have entered a secret there by mistake.
type Problem struct {
	Path   string // section and key, such as "http.api_addr", or the name of an unknown variable
	Origin string // "pingpost.yaml:12" or the variable's name; empty for a missing value
	Text   string // what is wrong and how to fix it

	// Whether a required value is missing. `dev` may generate such a value after loading.
	missing bool

	// The path of another setting that causes this problem, or "". If that setting has a problem of its
	// own, only that problem is reported.
	because string
}

// String returns "origin: path: text", without empty or repeated parts.
func (p Problem) String() string {
	parts := make([]string, 0, 3)
	for _, part := range []string{p.Origin, p.Path, p.Text} {
		if part != "" && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// Problems is the type of the errors that Load and Validate return. It contains all problems,
// sorted by path.
type Problems []Problem

// Error returns the problems, one on each line.
func (ps Problems) Error() string {
	if len(ps) == 1 {
		return ps[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems in the configuration:", len(ps))
	for _, p := range ps {
		b.WriteString("\n  ")
		b.WriteString(p.String())
	}
	return b.String()
}

func (ps Problems) asError() error {
	if len(ps) == 0 {
		return nil
	}
	ps.sort()
	return ps
}

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int { return cmp.Compare(a.Path, b.Path) })
}

func problemsOf(err error) Problems {
	var ps Problems
	errors.As(err, &ps)
	return ps
}

func (ps *Problems) add(path, format string, args ...any) {
	*ps = append(*ps, Problem{Path: path, Text: fmt.Sprintf(format, args...)})
}

// require adds a problem if a required setting is not given. The message names the environment variable
// that sets it.
func (ps *Problems) require(path string, given bool) {
	if !given {
		text := "required; set it in the file or in " + variable(path)
		*ps = append(*ps, Problem{Path: path, Text: text, missing: true})
	}
}

// mentions reports whether a setting or one of its list items already has a problem.
func (ps Problems) mentions(path string) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return keyOf(p.Path) == keyOf(path) })
}

// keyOf returns a path without the index of a list item or the key of a map: "keys.platform_keys" for
// "keys.platform_keys[1]".
func keyOf(path string) string {
	key, _, _ := strings.Cut(path, "[")
	return key
}

func itemPath(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// keyedPath returns the path of a value in a map: "retention.contact_days_by_country[GB]".
func keyedPath(path, key string) string { return fmt.Sprintf("%s[%s]", path, key) }

func between[T int | time.Duration](ps *Problems, path string, v, low, high T) {
	if v < low || v > high {
		ps.add(path, "must be between %s and %s", quantity(low), quantity(high))
	}
}

func quantity(v any) string {
	if d, ok := v.(time.Duration); ok {
		return durationText(d)
	}
	return fmt.Sprint(v)
}

// durationText is like time.Duration.String, but returns 2m instead of 2m0s and 1h instead of
// 1h0m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func oneOf[T ~string](ps *Problems, path string, v T, words ...T) {
	if !slices.Contains(words, v) {
		names := make([]string, len(words))
		for i, w := range words {
			names[i] = string(w)
		}
		last := len(names) - 1
		ps.add(path, "must be %s or %s", strings.Join(names[:last], ", "), names[last])
	}
}
