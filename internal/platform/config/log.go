package config

import "log/slog"

// Log holds the settings of the section `log`.
type Log struct {
	// The lowest level that is logged: `debug`, `info`, `warn` or `error`. Secrets and personal data
	// are not logged at any level.
	Level string

	// The format of the log: `json` for machines that collect logs, or `text` for people at a terminal.
	Format string

	// Whether each request to the partner API and the console is logged: `true` or `false`. Requests
	// to the `ops` listener are not logged.
	Access bool
}

func defaultLog(p Profile) Log {
	l := Log{Level: "info", Format: "json", Access: true}
	if p == Dev {
		l.Format = "text" // for a terminal
	}
	return l
}

func (l *Log) fields() []field {
	return []field{
		text("level", &l.Level),
		text("format", &l.Format),
		flag("access", &l.Access),
	}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
func (l *Log) Validate() error {
	var ps Problems
	oneOf(&ps, "log.level", l.Level, "debug", "info", "warn", "error")
	oneOf(&ps, "log.format", l.Format, "json", "text")
	return ps.asError()
}

// SlogLevel returns Level as a slog.Level. The section must have passed Validate.
func (l *Log) SlogLevel() slog.Level {
	switch l.Level {
	case "debug":
		return slog.LevelDebug
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}
