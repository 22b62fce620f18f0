package config

import "strings"

// suggest returns the candidate that is most similar to an unknown name, because the user probably meant
// it. If none is similar, it returns "".
func suggest(name string, candidates []string) string {
	best, limit := "", min(1+len(name)/4, 3)
	for _, c := range candidates {
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

// meant returns the end of a message about an unknown name, such as "; did you mean url?". If name is
// "", there is nothing to suggest, and meant returns "".
func meant(name string) string {
	if name == "" {
		return ""
	}
	return "; did you mean " + name + "?"
}

// plainName reports whether an unknown name may be repeated in a message. It returns false for a base64
// key of 32 bytes or a URL, which may be a secret that a user entered there by mistake.
func plainName(name string) bool {
	const longest = 40
	if name == "" || len(name) > longest {
		return false
	}
	for _, c := range []byte(name) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
