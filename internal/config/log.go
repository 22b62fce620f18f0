package config

import "log/slog"

// Log says what is logged and how.
type Log struct {
	Level  string // debug, info, warn or error
	Format string // json or text
	Access bool   // one line a request
}

func defaultLog(p Profile) Log {
	l := Log{Level: "info", Format: "json", Access: true}
	if p == Dev {
		l.Format = "text" // a person reads it
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

// Validate reports every problem of the section as Problems.
func (l *Log) Validate() error {
	var ps Problems
	oneOf(&ps, "log.level", l.Level, "debug", "info", "warn", "error")
	oneOf(&ps, "log.format", l.Format, "json", "text")
	return ps.asError()
}

// SlogLevel is Level for slog. The section must be valid.
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
