package config

import "log/slog"

// Log holds the settings for logging.
type Log struct {
	Level  string // debug, info, warn or error
	Format string // json or text
	Access bool   // log a line for each request
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

// Validate returns all problems in the section as Problems.
func (l *Log) Validate() error {
	var ps Problems
	oneOf(&ps, "log.level", l.Level, "debug", "info", "warn", "error")
	oneOf(&ps, "log.format", l.Format, "json", "text")
	return ps.asError()
}

// SlogLevel returns Level as a slog.Level. The section must be valid.
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
