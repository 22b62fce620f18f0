package jobs

import (
	"context"
	"log/slog"

	"github.com/pingpost/pingpost/internal/postgres"
)

// riverLog is the log for River, which tells of each of its steps otherwise, and of errors in
// the words of the driver: with hosts, users and databases.
func riverLog(log *slog.Logger) *slog.Logger { return slog.New(errorsOnly{log.Handler()}) }

type errorsOnly struct{ slog.Handler }

func (h errorsOnly) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError && h.Handler.Enabled(ctx, l)
}

func (h errorsOnly) WithAttrs(a []slog.Attr) slog.Handler { return errorsOnly{h.Handler.WithAttrs(a)} }
func (h errorsOnly) WithGroup(name string) slog.Handler   { return errorsOnly{h.Handler.WithGroup(name)} }

func (h errorsOnly) Handle(ctx context.Context, r slog.Record) error {
	safe := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			safe.AddAttrs(slog.Any(a.Key, postgres.Translate(err)))
		} else if a.Key != "err" && a.Key != "error" { // a text by now, which nobody can translate
			safe.AddAttrs(a)
		}
		return true
	})
	return h.Handler.Handle(ctx, safe)
}
