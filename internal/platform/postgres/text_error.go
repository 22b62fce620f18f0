package postgres

import (
	"net"
	"regexp"
	"strings"
)

var (
	stateInText = regexp.MustCompile(`\(SQLSTATE ([0-9A-Z]{5})\)`)
	hostInText  = regexp.MustCompile(`(\S+) \(([^()\s]+)\): (?:dial|tls|server) error`)
	// failuresInText are parts of error messages from Go and pgx. These parts contain no values.
	failuresInText = []struct{ part, kind string }{
		{"no such host", "host not found"},
		{"connection refused", "connection refused"},
		{"unknown authority", "TLS: certificate signed by unknown authority"},
		{"context canceled", "cancelled"},
		{"deadline exceeded", "timed out"},
		{"timeout", "timed out"},
		{"conn closed", "connection lost"},
		{"EOF", "connection lost"},
		{"connection reset", "connection lost"},
		{"broken pipe", "connection lost"},
		{"closed network connection", "connection lost"},
	}
)

// TranslateText is like Translate, for a library that reports only the text of an error. The only
// values that the result contains are the SQLSTATE and the host.
func TranslateText(text string) error {
	e := &Err{kind: "the statement failed"}
	if state := stateInText.FindStringSubmatch(text); state != nil {
		e.SQLState, e.kind = state[1], ""
	}
	for _, f := range failuresInText {
		if e.SQLState == "" && strings.Contains(text, f.part) {
			e.kind = f.kind
			break
		}
	}
	if !strings.Contains(text, "failed to connect to") {
		return e
	}
	reason := e.kind
	if e.SQLState != "" {
		reason = strings.TrimPrefix(e.Error(), "database: ")
	}
	e.kind = "cannot connect: " + reason
	if at := hostInText.FindStringSubmatch(text); at != nil {
		host := at[1]
		if _, port, err := net.SplitHostPort(host); err == nil {
			host = net.JoinHostPort(at[2], port)
		}
		e.kind = "cannot connect to " + host + ": " + reason
	}
	return e
}
