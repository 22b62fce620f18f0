package main

import (
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/id"
)

func TestID(t *testing.T) {
	t.Parallel()
	const uuid, digits = "01900000-0000-7000-8000-0000000000ff", "01J0000000E00800000000007Z"
	o := pingpost(t, "id", strings.ToUpper(uuid))
	if out := o.ok(t); out != "ld_"+digits+"  "+uuid+"\n" || !strings.Contains(o.stderr, "pt_ ac_ sk_") {
		t.Errorf("printed %q and %q", out, o.stderr)
	}
	for _, kind := range id.Kinds {
		text := string(kind) + digits
		if out := pingpost(t, "id", strings.ToLower(text)).ok(t); out != text+"  "+uuid+"\n" {
			t.Errorf("%s: printed %q", text, out)
		}
	}
	if v := printed[idView](t, pingpost(t, "id", "pt_"+digits, "--json")); v != (idView{"pt_" + digits, uuid}) {
		t.Errorf("printed %+v", v)
	}
	for _, wrong := range []string{"", "ld_", "xx_" + digits, "ld_" + digits + "0", uuid[:35]} {
		pingpost(t, "id", wrong).fails(t, 2)
	}
	pingpost(t, "id").fails(t, 2, "id --help")
}
