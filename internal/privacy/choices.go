package privacy

// Choice is a code that users can choose, with its label.
type Choice[C ~string] struct {
	Code  C
	Label string
}

// Choices lists the codes that users can choose for one purpose.
type Choices[C ~string] []Choice[C]

// Label returns the label of a code, or "" if there is no such code.
func (all Choices[C]) Label(code C) string {
	for _, c := range all {
		if c.Code == code {
			return c.Label
		}
	}
	return ""
}
