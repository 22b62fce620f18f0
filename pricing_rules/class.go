package pricingrules

import "strings"

// Class is the urgency class of a lead (decision 8).
type Class uint8

// These are the urgency classes. Their numbers are part of sealed quotes and must not change.
const (
	Standard  Class = 0
	Emergency Class = 1
	Immediate Class = 2
	Urgent    Class = 3
	Flexible  Class = 4
)

// Classes is the number of classes. The classes are numbered from 0 to Classes - 1.
const Classes = 5

var classNames = [Classes]string{"standard", "emergency", "immediate", "urgent", "flexible"}

// ClassOf returns the class for an urgency that a partner sent. It ignores case and surrounding spaces.
// If the urgency is not the name of a class, it returns Standard (decision 8).
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

// ParseClass parses the name of a class as written in rules. Case matters.
func ParseClass(name string) (Class, bool) {
	for i, n := range classNames {
		if n == name {
			return Class(i), true
		}
	}
	return Standard, false
}

// Valid reports whether c is a defined class.
func (c Class) Valid() bool { return c < Classes }

// String returns the name of the class as written in rules and metrics.
func (c Class) String() string {
	if !c.Valid() {
		return "unknown"
	}
	return classNames[c]
}
