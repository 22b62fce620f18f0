package config

import (
	"strings"
	"testing"
)

func TestNodeValidate(t *testing.T) {
	for name, want := range map[string][]string{
		"":                      nil,
		"node-1.eu_west":        nil,
		strings.Repeat("n", 54): nil,
		strings.Repeat("n", 55): {"node.name"},
		"node 1":                {"node.name"},
		"-node":                 {"node.name"},
		"knöten":                {"node.name"},
	} {
		n := Node{Name: name}
		t.Run(name, func(t *testing.T) { checkProblems(t, n.Validate(), want...) })
	}
}

// The default name is the machine's host name, shortened and changed where it is not valid.
func TestNodeNameIsHostName(t *testing.T) {
	for host, want := range map[string]string{
		"node-1":                "node-1",
		strings.Repeat("n", 63): strings.Repeat("n", 54),
		"my machine":            "my-machine",
		"_gateway":              "gateway",
		"":                      "",
	} {
		got := nodeName(host)
		if got != want {
			t.Errorf("%q: got %q, want %q", host, got, want)
		}
		checkProblems(t, (&Node{Name: got}).Validate())
	}
}
