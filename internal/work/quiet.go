package work

import (
	"context"
	"log/slog"

	"github.com/pingpost/pingpost/internal/store"
)

// quiet is the log for River, which tells of each of its steps otherwise, and of errors in
// the words of the driver: with hosts, users and databases.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(onlyErrors{log.Handler()}) }

type onlyErrors struct{ slog.Handler }

func (h onlyErrors) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError && h.Handler.Enabled(ctx, l)
}

func (h onlyErrors) WithAttrs(a []slog.Attr) slog.Handler { return onlyErrors{h.Handler.WithAttrs(a)} }
func (h onlyErrors) WithGroup(name string) slog.Handler   { return onlyErrors{h.Handler.WithGroup(name)} }

func (h onlyErrors) Handle(ctx context.Context, r slog.Record) error {
	safe := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			safe.AddAttrs(slog.Any(a.Key, store.Translate(err)))
		} else if a.Key != "err" && a.Key != "error" { // a text by now, which nobody can translate
			safe.AddAttrs(a)
		}
		return true
	})
	return h.Handler.Handle(ctx, safe)
}
