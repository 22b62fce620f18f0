package pricingrules

import "testing"

func TestClassOf(t *testing.T) {
	for urgency, want := range map[string]Class{
		"emergency": Emergency, "immediate": Immediate, "urgent": Urgent, "flexible": Flexible,
		"EMERGENCY": Emergency, "Urgent": Urgent, "\u00a0 flexible\u2003\n": Flexible,
		"": Standard, "standard": Standard, "soon": Standard, "urgent!": Standard, "very urgent": Standard,
		"emergency\x00": Standard, "\xff": Standard,
	} {
		if got := ClassOf(urgency); got != want {
			t.Errorf("ClassOf(%q) = %v, want %v", urgency, got, want)
		}
	}
}

func TestClassOfDoesNotAllocate(t *testing.T) {
	var sum Class
	n := testing.AllocsPerRun(100, func() { sum += ClassOf(" urgent ") + ClassOf("whenever") + ClassOf("") })
	if n != 0 || sum == 0 {
		t.Errorf("got %v allocations, want 0 (sum of classes %d)", n, sum)
	}
}

// Sealed quotes contain these numbers, and other nodes and later releases must interpret them in the
// same way.
func TestClassNumbersAndNames(t *testing.T) {
	for number, name := range []string{"standard", "emergency", "immediate", "urgent", "flexible"} {
		class, ok := ParseClass(name)
		if !ok || class != Class(number) || class.String() != name || !class.Valid() {
			t.Errorf("ParseClass(%s) = %d (%s), %v, want %d", name, class, class, ok, number)
		}
	}
	for _, name := range []string{"", "Emergency", " urgent", "unknown"} {
		if class, ok := ParseClass(name); ok {
			t.Errorf("ParseClass(%q) = %v, want an error", name, class)
		}
	}
	if c := Class(Classes); c.Valid() || c.String() != "unknown" {
		t.Errorf("class %d: got valid %t, name %s, want an unknown class", c, c.Valid(), c)
	}
}
