package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/pingpost/pingpost/internal/base/iso3166"
	"github.com/pingpost/pingpost/internal/base/money"
)

// field connects a setting with a struct field. Each section lists its fields in code. A decoder that
// uses reflection would repeat values in its errors, and a value may be secret.
type field struct {
	name   string
	secret bool
	keyed  bool // the value is a map, given as items such as GB=365
	reread bool // a running node also uses a changed value, as for secrets

	// set parses a string (file or environment) or a []string (a list or a map in the file).
	// Its error describes the expected form and does not repeat the value.
	set func(given any) error

	// show formats the value as YAML, with secrets redacted.
	show func() string
}

// secret marks a field as a secret. A secret can also be read from a file, whose path is set by a key
// that ends in _file or a variable that ends in _FILE.
func secret(f field) field {
	f.secret = true
	return f
}

// reread marks a field that belongs to a secret, and is replaced with it.
func reread(f field) field {
	f.reread = true
	return f
}

func text[T ~string](name string, at *T) field {
	return field{
		name: name,
		set:  scalar(at, func(s string) (T, error) { return T(s), nil }),
		show: func() string { return quoted(*at) },
	}
}

func texts[T ~string](name string, at *[]T) field {
	return field{
		name: name,
		set: func(given any) error {
			items := make([]T, 0)
			for _, item := range split(given) {
				items = append(items, T(item))
			}
			*at = items
			return nil
		},
		show: func() string {
			items := make([]string, len(*at))
			for i, item := range *at {
				items[i] = quoted(item)
			}
			return "[" + strings.Join(items, ", ") + "]"
		},
	}
}

func whole(name string, at *int) field {
	return field{
		name: name,
		set: scalar(at, func(s string) (int, error) {
			n, err := strconv.Atoi(s)
			if err != nil {
				return 0, errors.New("must be a whole number")
			}
			return n, nil
		}),
		show: func() string { return strconv.Itoa(*at) },
	}
}

func fraction(name string, at *float64) field {
	return field{
		name: name,
		set: scalar(at, func(s string) (float64, error) {
			n, err := strconv.ParseFloat(s, 64)
			if err != nil {
				return 0, errors.New("must be a number, such as 0.01")
			}
			return n, nil
		}),
		show: func() string { return strconv.FormatFloat(*at, 'f', -1, 64) },
	}
}

// daysByCountry returns a field for a map from two-letter country codes to numbers of days.
func daysByCountry(name string, at *map[string]int) field {
	return numbersByKey(name, at, "two-letter country codes in upper case, each with a number of days, such as GB=365",
		func(code string) (string, bool) { return iso3166.Country(code), countryCode.MatchString(code) })
}

// amountsByCurrency returns a field for a map from currency codes to whole amounts.
func amountsByCurrency(name string, at *map[string]int) field {
	return numbersByKey(name, at, "currency codes, each with a whole amount, such as GBP=500",
		func(code string) (string, bool) {
			c, err := money.ParseCurrency(code)
			return c.String(), err == nil
		})
}

// numbersByKey returns a field for a map to numbers. The function parse returns a key in its standard form, and whether
// it is valid. The parameter form describes the keys and numbers.
func numbersByKey(name string, at *map[string]int, form string, parse func(key string) (string, bool)) field {
	return field{
		name:  name,
		keyed: true,
		set: func(given any) error {
			var numbers map[string]int
			for _, item := range split(given) {
				key, text, _ := strings.Cut(item, "=")
				n, err := strconv.Atoi(text)
				key, valid := parse(key)
				if err != nil || !valid {
					return errors.New("must consist of " + form)
				}
				if _, twice := numbers[key]; twice {
					return errors.New("contains a code twice")
				}
				if numbers == nil {
					numbers = make(map[string]int)
				}
				numbers[key] = n
			}
			*at = numbers
			return nil
		},
		show: func() string {
			items := make([]string, 0, len(*at))
			for _, key := range slices.Sorted(maps.Keys(*at)) {
				items = append(items, fmt.Sprintf("%s: %d", quoted(key), (*at)[key]))
			}
			return "{" + strings.Join(items, ", ") + "}"
		},
	}
}

var countryCode = regexp.MustCompile(`^[A-Z]{2}$`)

func duration(name string, at *time.Duration) field {
	return field{
		name: name,
		set: scalar(at, func(s string) (time.Duration, error) {
			d, err := time.ParseDuration(s)
			if err != nil {
				return 0, errors.New("must be a time with a unit, such as 5s or 250ms")
			}
			return d, nil
		}),
		show: func() string { return durationText(*at) },
	}
}

func flag(name string, at *bool) field {
	return field{
		name: name,
		set: scalar(at, func(s string) (bool, error) {
			switch s {
			case "true", "false":
				return s == "true", nil
			}
			return false, errors.New("must be true or false")
		}),
		show: func() string { return strconv.FormatBool(*at) },
	}
}

func scalar[T any](at *T, parse func(string) (T, error)) func(any) error {
	return func(given any) error {
		s, ok := given.(string)
		if !ok {
			return errors.New("must be a single value, not a list")
		}
		v, err := parse(strings.TrimSpace(s))
		if err == nil {
			*at = v
		}
		return err
	}
}

// split returns the items of a list. If the value is a string, its items are separated by commas or
// white space. An empty item of a list is kept, so that it can be reported as a problem.
func split(given any) []string {
	if items, ok := given.([]string); ok {
		return items
	}
	s, _ := given.(string)
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// quoted formats the value as a YAML string. It uses fmt because converting a Secret to
// a string would reveal it.
func quoted[T ~string](v T) string { return strconv.Quote(fmt.Sprint(v)) }
