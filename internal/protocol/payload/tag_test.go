package payload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pingpost/pingpost/internal/protocol/quote"
)

// A value that is not valid never rejects a request (decision 63). A ping marks it as dropped, and a post
// gets a warning.
func TestTags(t *testing.T) {
	tax := taxonomy(t)
	for name, c := range map[string]struct {
		value, want string
		ignored     bool
	}{
		"text":                {`"click-7"`, "click-7", false},
		"not trimmed":         {`" click 7\n"`, "click 7", false},
		"escaped":             {`"a\u0022\\\u00e9"`, `a"\é`, false},
		"null":                {`null`, "", false},
		"empty":               {`""`, "", false},
		"blank":               {`" \t\n"`, "", false},
		"longest":             {chars(32), strings.Repeat("é", 32), false},
		"a number":            {`7`, "", true},
		"an object":           {`{"a":1}`, "", true},
		"a boolean":           {`true`, "", true},
		"too long":            {chars(65), "", true},
		"U+0000":              {`"a\u0000"`, "", true},
		"line break inside":   {`"a\nb"`, "", true},
		"invisible character": {`"a\u200bb"`, "", true},
		"right-to-left mark":  {`"a\u202eb"`, "", true},
	} {
		post, err := ParsePost([]byte(`{` + least + `,"reference":` + c.value + `,"subId":` + c.value + `}`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var warned []string
		for _, w := range post.Warnings {
			warned = append(warned, string(w.Code)+" "+strings.Join(w.Path, "."))
		}
		var want []string
		if c.ignored {
			want = []string{"value_ignored reference", "value_ignored subId"}
		}
		if post.Reference != c.want || post.SubID != c.want || !cmp.Equal(warned, want) {
			t.Errorf("%s: got %q and %q with warnings %v, want %q with %v", name, post.Reference, post.SubID, warned, c.want, want)
		}
		ping, err := ParsePing([]byte(`{"industry":"plumber","postcode":"SW1A 1AA","reference":`+c.value+`,"subId":`+c.value+`}`), tax)
		tag := quote.Tag{Value: c.want, Dropped: c.ignored}
		if err != nil || ping.Reference != tag || ping.SubID != tag || ping.Postcode != "SW1A 1AA" || ping.Warnings != nil {
			t.Errorf("%s: ping: got %+v (error %v), want %+v", name, ping, err, tag)
		}
	}
}

func TestTagLengths(t *testing.T) {
	post, err := ParsePost([]byte(`{` + least + `,"reference":` + chars(64) + `,"subId":` + chars(33) + `}`))
	if err != nil || post.Reference != strings.Repeat("é", 64) || post.SubID != "" || len(post.Warnings) != 1 {
		t.Errorf("got %+v (error %v)", post, err)
	}
}

// The post's values win. A missing value is replaced by the ping's.
func TestInheritTags(t *testing.T) {
	dropped := quote.Tag{Dropped: true}
	for name, c := range map[string]struct {
		sent     string
		ping     quote.Tag
		want     string
		warnings int
	}{
		"none":                            {},
		"only in the ping":                {"", quote.Tag{Value: "a"}, "a", 0},
		"only in the post":                {"b", quote.Tag{}, "b", 0},
		"both":                            {"b", quote.Tag{Value: "a"}, "b", 0},
		"dropped in the ping":             {"", dropped, "", 2},
		"dropped in the ping, and a post": {"b", dropped, "b", 0},
	} {
		post := Post{Reference: c.sent, SubID: c.sent}
		post.InheritTags(c.ping, c.ping)
		if post.Reference != c.want || post.SubID != c.want || len(post.Warnings) != c.warnings {
			t.Errorf("%s: got %+v", name, post)
		}
	}
}
