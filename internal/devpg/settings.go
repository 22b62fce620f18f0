package devpg

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// longestSocketPath is the least of the systems' limits (Linux has 107).
const longestSocketPath = 103

// answerPatience bounds how long Postgres may take to answer once pg_ctl has
// called it ready. The library asks without pause, so it is short.
const answerPatience = 5 * time.Second

func (j job) config(l layout, password string) embeddedpostgres.Config {
	return embeddedpostgres.DefaultConfig().
		Username(superuser).
		Password(password).
		Database("postgres").
		Port(uint32(j.Port)).
		DataPath(l.cluster()).
		RuntimePath(l.library()).
		Locale(locale()).
		Encoding("UTF8").
		StartParameters(j.settings(l)).
		StartTimeout(answerPatience).
		Logger(nil) // the log stays in its file
}

// settings keep Postgres on this machine and what its clients send out of its
// log: no statements, no parameters, no details that quote a row.
func (j job) settings(l layout) map[string]string {
	s := map[string]string{
		"listen_addresses":                  "127.0.0.1",
		"unix_socket_directories":           l.socketSetting(),
		"max_connections":                   "200",
		"shared_buffers":                    "128MB",
		"timezone":                          "UTC",
		"log_timezone":                      "UTC",
		"log_statement":                     "none",
		"log_min_error_statement":           "panic",
		"log_min_duration_statement":        "-1",
		"log_error_verbosity":               "terse",
		"log_parameter_max_length":          "0",
		"log_parameter_max_length_on_error": "0",
	}
	if !j.Durable {
		s["fsync"] = "off"
		s["synchronous_commit"] = "off"
		s["full_page_writes"] = "off"
	}
	maps.Copy(s, j.ExtraSettings)
	return s
}

// socketSetting is empty, which means no Unix socket, where the path is too long
// for one or would be read as a list of several.
func (l layout) socketSetting() string {
	longest := fmt.Sprintf("%s/.s.PGSQL.%d", l.socket(), 65535)
	if len(longest) > longestSocketPath || strings.ContainsAny(l.socket(), ",'") {
		return ""
	}
	return l.socket()
}

// locale orders texts by code point everywhere, and on Linux knows the upper and
// lower case of letters beyond ASCII too, as a production database does. macOS
// has no such locale by that name in every version.
func locale() string {
	if runtime.GOOS == "linux" {
		return "C.UTF-8"
	}
	return "C"
}
