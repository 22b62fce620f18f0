package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/internal/base/suggest"
)

const (
	variablePrefix = "PINGPOST_"
	fileSuffix     = "_file" // suffix of the key that contains the path of a secret's file
)

// shortVariable returns the short environment variable for the setting with this path. For
// keys.local_kek, it returns LEAD_VAULT_KEK. For most settings, it returns "", because they have no
// short variable.
func shortVariable(path string) string {
	switch path {
	case "keys.platform_keys":
		return "PINGPOST_PLATFORM_KEYS"
	case "keys.local_kek":
		return "LEAD_VAULT_KEK"
	}
	return ""
}

// longVariable returns the environment variable for the setting with this path. For http.api_addr, it
// returns PINGPOST_HTTP_API_ADDR.
func longVariable(path string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

func variable(path string) string {
	if short := shortVariable(path); short != "" {
		return short
	}
	return longVariable(path)
}

// variables maps each environment variable to the path of the setting that the variable sets.
func variables(parts []part) map[string]string {
	names := make(map[string]string)
	for _, p := range parts {
		for _, f := range p.fields() {
			for _, name := range []string{longVariable(p.path(f)), shortVariable(p.path(f))} {
				if name == "" {
					continue
				}
				names[name] = p.path(f)
				if f.secret {
					names[name+strings.ToUpper(fileSuffix)] = p.path(f) + fileSuffix
				}
			}
		}
	}
	return names
}

// readEnviron overrides values from the file with values from the environment. An empty
// variable counts as not set, because compose files and charts contain `${NAME:-}`.
func (r *reader) readEnviron(environ, allow []string) {
	names := variables(r.parts)
	given := make(map[string]string) // maps each path to the variable that sets it
	layer := make(map[string]any)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		path, known := names[name]
		if !known && strings.HasPrefix(name, variablePrefix) && !slices.Contains(allow, name) && !serviceLink(name, value) {
			r.unknownVariable(name, names)
		}
		if !known || strings.TrimSpace(value) == "" {
			continue
		}
		// Up to four variables can set the same secret: a long and a short one for the secret itself,
		// and a long and a short one for the path of its file.
		key := strings.TrimSuffix(path, fileSuffix)
		if other := given[key]; other != "" && other != name {
			r.report(key, name, fmt.Sprintf("conflicts with %s; unset one of them", other))
		}
		given[key] = name
		r.origins[path] = name
		layer[path] = value
	}
	for path := range given {
		// A variable overrides the key in the YAML file and, for a secret, the key that ends in _file.
		// Remove the origins of the list items in the YAML file, too, because they no longer apply.
		delete(r.given, path)
		delete(r.given, path+fileSuffix)
		maps.DeleteFunc(r.origins, func(p, _ string) bool { return strings.HasPrefix(p, path+"[") })
	}
	maps.Copy(r.given, layer)
}

func (r *reader) unknownVariable(name string, names map[string]string) {
	path := name
	if !plainName(strings.TrimPrefix(name, variablePrefix)) {
		path = variablePrefix + "…"
	}
	r.report(path, path, "unknown variable"+suggest.DidYouMean(nearVariable(name, names)))
}

// nearVariable returns the environment variable that the user probably meant by an unknown name. For
// PINGPOST_API_ADDR, it returns PINGPOST_HTTP_API_ADDR.
func nearVariable(name string, names map[string]string) string {
	candidates := slices.Sorted(maps.Keys(names))
	rest := strings.TrimPrefix(name, variablePrefix)
	for _, c := range candidates {
		if strings.HasSuffix(c, "_"+rest) {
			return c
		}
	}
	return suggest.Closest(name, candidates)
}

// serviceLink reports whether a variable looks like one that Kubernetes sets for a Service named
// pingpost, such as PINGPOST_SERVICE_HOST. Kubernetes sets such variables in every container of the
// namespace, so they must not be reported as unknown variables.
func serviceLink(name, value string) bool {
	rest := "_" + strings.TrimPrefix(name, variablePrefix)
	if strings.HasSuffix(rest, "_SERVICE_HOST") || strings.HasSuffix(rest, "_SERVICE_PORT") ||
		strings.Contains(rest, "_SERVICE_PORT_") {
		return true
	}
	if strings.HasSuffix(rest, "_PORT") && strings.Contains(value, "://") {
		return true
	}
	_, port, found := strings.Cut(rest, "_PORT_")
	digits := strings.TrimLeft(port, "0123456789")
	if !found || len(digits) == len(port) {
		return false
	}
	for _, protocol := range []string{"_TCP", "_UDP", "_SCTP"} {
		if detail, ok := strings.CutPrefix(digits, protocol); ok &&
			slices.Contains([]string{"", "_PROTO", "_PORT", "_ADDR"}, detail) {
			return true
		}
	}
	return false
}
