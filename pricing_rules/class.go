package pricingrules

import "strings"

// Class is how urgent a lead is, as far as its price goes (decision 8).
type Class uint8

// The numbers are sealed into quotes: they never change.
const (
	Standard  Class = 0 // neither raises nor lowers
	Emergency Class = 1
	Immediate Class = 2
	Urgent    Class = 3
	Flexible  Class = 4
)

// Classes is how many there are; every class is below it.
const Classes = 5

var classNames = [Classes]string{"standard", "emergency", "immediate", "urgent", "flexible"}

// ClassOf reads the urgency that a partner sent: trimmed of Unicode space and in
// lower case. Whatever is not one of the four words is Standard (decision 8).
func ClassOf(urgency string) Class {
	switch strings.ToLower(strings.TrimSpace(urgency)) {
	case "emergency":
		return Emergency
	case "immediate":
		return Immediate
	case "urgent":
		return Urgent
	case "flexible":
		return Flexible
	}
	return Standard
}

// ParseClass reads the exact name of a class, the form that rules use.
func ParseClass(name string) (Class, bool) {
	for i, n := range classNames {
		if n == name {
			return Class(i), true
		}
	}
	return Standard, false
}

// Valid reports whether c is one of the five.
func (c Class) Valid() bool { return c < Classes }

// String is the class's name, the form that rules and counters use.
func (c Class) String() string {
	if !c.Valid() {
		return "unknown"
	}
	return classNames[c]
}
