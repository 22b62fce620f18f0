package audit_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/platform/audit"
)

func TestMayApprove(t *testing.T) {
	ann, bob := uuid.New(), uuid.New()
	for name, c := range map[string]struct {
		first  *uuid.UUID
		second audit.Actor
		want   bool
	}{
		"another user":                          {&ann, audit.Actor{Staff: bob, Name: "bob@example.com"}, true},
		"the same user":                         {&ann, audit.Actor{Staff: ann, Name: "ann@example.com"}, false},
		"the same user with another address":    {&ann, audit.Actor{Staff: ann, Name: "ann.new@example.com"}, false},
		"a user after the command line":         {nil, audit.Actor{Staff: bob, Name: "bob@example.com"}, true},
		"the command line after a user":         {&ann, audit.Operator, false},
		"the command line after a command line": {nil, audit.Operator, false},
	} {
		if got := c.second.MayApprove(c.first); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
