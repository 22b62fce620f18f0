package config

import (
	"log/slog"
	"testing"
)

func TestLogValidate(t *testing.T) {
	checkProblems(t, (&Log{Level: "INFO", Format: "logfmt"}).Validate(),
		"log.format",
		"log.level",
	)
}

func TestSlogLevel(t *testing.T) {
	for level, want := range map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	} {
		l := Log{Level: level, Format: "json"}
		checkProblems(t, l.Validate())
		if got := l.SlogLevel(); got != want {
			t.Errorf("%s is %v, want %v", level, got, want)
		}
	}
}
