package tracing

import "context"

// Flush sends the spans that have ended.
func (t *Tracer) Flush(ctx context.Context) error { return t.provider.ForceFlush(ctx) }
