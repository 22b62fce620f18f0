package intake_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/intake"
)

func BenchmarkPing(b *testing.B) {
	n := newNode(b)
	run(b, n.Recorder.Run)
	in := n.Intake(intake.Settings{PingRate: 1 << 30})
	r := intake.PingRequest{ID: uuid.New(), Slug: n.Required.Slug, Body: []byte(leastPing)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := in.Ping(r); err != nil {
			b.Fatal(err)
		}
	}
}
