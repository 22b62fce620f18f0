package partners

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pastedPost is a post that a user pasted from a log, as the output of curl -v, as raw HTTP, or as headers and a body.
type pastedPost struct {
	method, path string              // of the request line; "" if there is none
	headers      map[string][]string // names in lower case; one value for each occurrence
	bodies       []string            // that the sender may have sent, the most likely first; browsers change line breaks
	length       int                 // the Content-Length header; -1 if there is none
}

var (
	requestLine = regexp.MustCompile(`^([A-Z]+) (\S+)(?: HTTP/[0-9.]+)?$`)
	headerLine  = regexp.MustCompile(`^([A-Za-z0-9-]+):[ \t]*(.*)$`)
)

// readPaste reads a pasted post. In the output of curl -v, it reads the request from the lines that start with ">", and
// the body from the lines between them and the response.
func readPaste(text string) pastedPost {
	p := pastedPost{headers: map[string][]string{}, length: -1}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "> ") }) {
		lines = curlRequest(lines)
	}
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	if len(lines) > 0 {
		if m := requestLine.FindStringSubmatch(strings.TrimSpace(lines[0])); m != nil {
			p.method, p.path, lines = m[1], m[2], lines[1:]
		}
	}
	for len(lines) > 0 {
		m := headerLine.FindStringSubmatch(lines[0])
		if m == nil {
			break
		}
		name := strings.ToLower(m[1])
		p.headers[name], lines = append(p.headers[name], m[2]), lines[1:]
	}
	if len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	p.readBody(strings.Join(lines, "\n"))
	return p
}

// curlRequest returns the request in the output of curl -v as raw HTTP.
func curlRequest(lines []string) (raw []string) {
	last := 0
	for i, line := range lines {
		if line == ">" || strings.HasPrefix(line, "> ") {
			raw, last = append(raw, strings.TrimPrefix(line[1:], " ")), i
		}
	}
	if raw[len(raw)-1] != "" {
		raw = append(raw, "")
	}
	for _, line := range lines[last+1:] {
		if line == "<" || strings.HasPrefix(line, "< ") {
			break
		}
		if !strings.HasPrefix(line, "* ") && !strings.HasPrefix(line, "} [") && !strings.HasPrefix(line, "{ [") {
			raw = append(raw, line)
		}
	}
	return raw
}

// readBody finds the bodies that the sender may have sent. Pasting adds line breaks at the end of the body, and changes
// those inside. If there is a Content-Length header, it shows which of these bodies was sent.
func (p *pastedPost) readBody(text string) {
	trimmed := strings.TrimRight(text, "\n")
	if strings.TrimSpace(trimmed) == "" {
		return
	}
	windows := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
	all := []string{trimmed, trimmed + "\n", text, windows(trimmed), windows(trimmed + "\n"), windows(text)}
	if lengths := p.headers["content-length"]; len(lengths) == 1 {
		if n, err := strconv.Atoi(strings.TrimSpace(lengths[0])); err == nil {
			p.length = n
		}
	}
	exact := slices.DeleteFunc(slices.Clone(all), func(body string) bool { return len(body) != p.length })
	if len(exact) > 0 {
		all = exact
	}
	for _, body := range all {
		if !slices.Contains(p.bodies, body) {
			p.bodies = append(p.bodies, body)
		}
	}
}

// first returns the first value of a header, or "".
func (p pastedPost) first(name string) string {
	if all := p.headers[name]; len(all) > 0 {
		return all[0]
	}
	return ""
}

var postPath = regexp.MustCompile(`^(?:https?://[^/]+)?.*?(?:/p/([^/?]+))?/api/lead/post$`)

// slug returns the slug in the path, or "" for the shared base URL. If there is no path, it returns the parameter own.
// The result ok is false if the path is not that of a post.
func (p pastedPost) slug(own string) (slug string, ok bool) {
	if p.path == "" {
		return own, true
	}
	path, _, _ := strings.Cut(p.path, "?")
	m := postPath.FindStringSubmatch(path)
	if m == nil {
		return "", false
	}
	return m[1], true
}
