package app

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A database that does not respond must not delay the other steps for more than an hour.
func TestExpiryStepTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := &App{log: slog.New(slog.NewTextHandler(&log, nil))}
		start := time.Now()
		steps := len(a.expirySteps(start))
		for range steps {
			a.deleteExpired(t.Context(), expiryStep{"a step", func(ctx context.Context) (int64, error) {
				<-ctx.Done()
				return 0, ctx.Err()
			}})
		}
		if took := time.Since(start); took >= maintainEvery {
			t.Errorf("%d steps took %s, want less than an hour", steps, took)
		}
		if logged := strings.Count(log.String(), "level="); logged != steps {
			t.Errorf("got %d log lines, want %d", logged, steps)
		}
	})
}
