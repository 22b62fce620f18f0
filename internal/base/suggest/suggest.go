// Package suggest finds the name that a user probably meant by an unknown one.
package suggest

import "strings"

// longest is the length of the longest unknown name for which Closest looks for a similar one.
const longest = 100

// Closest returns the candidate that is most similar to an unknown name, ignoring case. If none is similar, it
// returns "".
func Closest(name string, candidates []string) string {
	if len(name) > longest {
		return ""
	}
	best, limit := "", min(1+len(name)/4, 3)
	for _, c := range candidates {
		if max(len(c)-len(name), len(name)-len(c)) > limit {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(c)); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}

// distance returns the Levenshtein distance: the smallest number of bytes that must be inserted, removed
// or replaced to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// DidYouMean returns the end of a message about an unknown name, such as "; did you mean url?". If name is
// "", there is nothing to suggest, and DidYouMean returns "".
func DidYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "; did you mean " + name + "?"
}
