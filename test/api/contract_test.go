package api

import (
	"testing"

	"github.com/pingpost/pingpost/test/node"
)

// TestContract tests the whole specification over HTTP on one node. It checks every request and response
// against the OpenAPI document. At the end, it checks that values from requests were stored and logged
// only where this is allowed.
func TestContract(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *node.Node)
	}{
		{"Prices", prices},
		{"PingFields", pingFields},
		{"PingRejections", pingRejections},
		{"PostFields", postFields},
		{"PostRejections", postRejections},
		{"Transactions", transactions},
		{"Signatures", signatures},
		{"AccountSelection", accountSelection},
		{"PartnerPrices", partnerPrices},
		{"Replays", replays},
		{"Addresses", addresses},
		{"Pointers", pointers},
		{"Methods", methods},
		{"Sizes", sizes},
		{"Documents", documents},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, n) })
	}
	n.CheckNoPersonalData(t)
}
