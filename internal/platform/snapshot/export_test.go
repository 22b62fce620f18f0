package snapshot

import "context"

// Listen runs the part of Run that receives notifications.
func (w *Watcher) Listen(ctx context.Context) { w.listen(ctx) }

// Woken returns the channel through which Listen wakes Run.
func (w *Watcher) Woken() <-chan struct{} { return w.nudge }
