// Package choice lists the codes that users can choose for one purpose, such as reasons, with their labels.
package choice

// Choice is a code that users can choose, with its label.
type Choice[C ~string] struct {
	Code  C
	Label string
}

// List contains the codes that users can choose for one purpose, in the order in which they are shown.
type List[C ~string] []Choice[C]

// Label returns the label of a code, or "" if there is no such code.
func (l List[C]) Label(code C) string {
	for _, c := range l {
		if c.Code == code {
			return c.Label
		}
	}
	return ""
}
