package api

import (
	"testing"

	"github.com/pingpost/pingpost/test/node"
)

// TestContract sends the partner API everything that the specification speaks
// of, over HTTP, to one node. Every exchange is held against the OpenAPI
// document; in the end nothing that was sent may be found where it must not be.
func TestContract(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *node.Node)
	}{
		{"Prices", prices},
		{"PingFields", pingFields},
		{"PingRefusals", pingRejections},
		{"PostFields", postFields},
		{"PostRefusals", postRejections},
		{"Transactions", transactions},
		{"Signatures", signatures},
		{"WhosePostItIs", accountSelection},
		{"Agreed", partnerPrices},
		{"Again", replays},
		{"Addresses", addresses},
		{"Methods", methods},
		{"Sizes", sizes},
		{"Documents", documents},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, n) })
	}
	n.CheckNoPersonalData(t)
}
