package devpg

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// longestSocketPath is the maximum length, in bytes, of the path of a Unix socket. All supported systems
// allow this length. Linux allows 107.
const longestSocketPath = 103

// connectTimeout is how long Postgres may take to accept connections after pg_ctl has reported that
// Postgres is ready. It is short because the embedded-postgres library polls without a pause.
const connectTimeout = 5 * time.Second

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
		StartTimeout(connectTimeout).
		Logger(nil) // write the log only to its file
}

// settings returns the settings that Postgres starts with. Postgres listens only on this machine. Its
// log contains no statements, parameters or error details, because they may contain personal data.
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

// socketSetting returns the folder for the Unix socket. If the path is too long or would be parsed as a
// list, it returns "", and Postgres creates no socket.
func (l layout) socketSetting() string {
	longest := fmt.Sprintf("%s/.s.PGSQL.%d", l.socket(), 65535)
	if len(longest) > longestSocketPath || strings.ContainsAny(l.socket(), ",'") {
		return ""
	}
	return l.socket()
}

// locale returns a locale that sorts by code point. On Linux, this is C.UTF-8, which also converts the
// case of non-ASCII letters, as in a production database. On other systems, it is C, because not every
// version of macOS has C.UTF-8.
func locale() string {
	if runtime.GOOS == "linux" {
		return "C.UTF-8"
	}
	return "C"
}
