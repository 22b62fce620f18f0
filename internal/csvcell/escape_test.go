package csvcell

import "testing"

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a=b": "a=b", "12.50": "12.50",
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@sum": "'@sum", "\t=1": "'\t=1", "\r=1": "'\r=1",
	} {
		if got := Escape(text); got != want {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want)
		}
	}
}
