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

// A database that neither answers nor hangs up must not stop what comes after a
// step, nor the next hour's.
func TestAStepOfRetentionGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		a := &App{log: slog.New(slog.NewTextHandler(&log, nil))}
		start := time.Now()
		steps := len(a.retention(start))
		for range steps {
			a.retain(t.Context(), step{"a step", func(ctx context.Context) (int64, error) {
				<-ctx.Done()
				return 0, ctx.Err()
			}})
		}
		if took := time.Since(start); took >= maintainEvery {
			t.Errorf("%d steps took %s, longer than until the next", steps, took)
		}
		if told := strings.Count(log.String(), "level="); told != steps {
			t.Errorf("told %d times of %d", told, steps)
		}
	})
}
