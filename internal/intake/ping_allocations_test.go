package intake_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/intake"
)

// TestPingAllocations uses the minimum of many runs, because the recorder's buffer sometimes grows.
// [raceAllocations] is the number of allocations that the race detector adds.
func TestPingAllocations(t *testing.T) {
	n := newNode(t)
	in := n.Intake(intake.Settings{PingRate: 1 << 30, SharedPingRate: 1 << 30})
	const typicalPing = `{"industry":"plumber","postcode":"SW1A 1AA","country":"GB","urgency":"emergency","job_type":"repair","budget":"500-1000"}`
	for name, r := range map[string]intake.PingRequest{
		"partner's base URL": {ID: uuid.New(), Slug: n.Required.Slug, Body: []byte(typicalPing)},
		"shared base URL":    {ID: uuid.New(), Slug: shared, Body: []byte(typicalPing)},
	} {
		fewest := 100.0
		for range 200 {
			fewest = min(fewest, testing.AllocsPerRun(1, func() {
				if result, err := in.Ping(r); err != nil || !result.Accepted {
					t.Error(result.Reason, err)
				}
			}))
		}
		if fewest != 2+raceAllocations {
			t.Errorf("%s: got %v allocations per ping, want %d (the ping's strings and the transactionId)",
				name, fewest, 2+raceAllocations)
		}
	}
}
