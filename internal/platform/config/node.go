package config

import (
	"os"
	"regexp"
	"strings"
)

// Node holds the settings of the section `node`.
type Node struct {
	// The name of this node in its start line in the log, and in `application_name` in Postgres, where it
	// follows `pingpost`. It consists of up to 54 letters, digits, dots, hyphens and underscores. If this
	// setting is empty, the node uses the machine's host name.
	Name string
}

func (n *Node) fields() []field {
	return []field{text("name", &n.Name)}
}

// maxNodeName is the maximum length of a name that, after "pingpost ", fits into application_name.
const maxNodeName = 54

var (
	validNodeName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,53}$`)
	invalidInNodeName = regexp.MustCompile(`[^A-Za-z0-9._-]`)
)

// Validate checks the section. Its error has the type Problems and contains all problems.
func (n *Node) Validate() error {
	var ps Problems
	if n.Name != "" && !validNodeName.MatchString(n.Name) {
		ps.add("node.name", "must consist of up to %d letters, digits, dots, hyphens and underscores, and start with a letter or digit",
			maxNodeName)
	}
	return ps.asError()
}

// useHostName sets the name to the machine's host name if it is not set.
func (n *Node) useHostName() {
	if n.Name == "" {
		host, _ := os.Hostname() // without a host name, the node has no name
		n.Name = nodeName(host)
	}
}

// nodeName returns a valid name for the node on the machine with the given host name. It returns "" if the
// host name contains no letters or digits.
func nodeName(host string) string {
	valid := strings.TrimLeft(invalidInNodeName.ReplaceAllString(host, "-"), "._-")
	return valid[:min(len(valid), maxNodeName)]
}
