package models

import "time"

// LatencyBounds lists the upper bounds of the buckets in the column traffic_minutes.latency. One more
// bucket counts all slower requests.
var LatencyBounds = [...]time.Duration{
	250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, time.Second,
}
