package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/tracing"
)

// tracesGrace limits how long a node that stops waits for the collector.
const tracesGrace = 2 * time.Second

// newTracer returns nil if no collector is configured.
func newTracer(cfg *config.Config, environment, version string, log *slog.Logger) *tracing.Tracer {
	t := cfg.Tracing
	if t.Endpoint == "" {
		return nil
	}
	return tracing.New(tracing.Options{
		Endpoint: t.Endpoint, Header: traceHeader(t), SampleRatio: t.SampleRatio,
		Version: version, Environment: environment, Node: cfg.Node.Name, Log: log,
	})
}

func traceHeader(t config.Tracing) tracing.Header {
	name, value := t.HeaderField()
	return tracing.Header{Name: name, Value: value}
}

// sendLastTraces sends the spans that have not been sent yet.
func (a *App) sendLastTraces(ctx context.Context) {
	if a.tracer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tracesGrace)
	defer cancel()
	a.tracer.Shutdown(ctx) //nolint:errcheck // it only says that the time was too short
}
