package docs

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBlocks(t *testing.T) {
	plain := func(text string) []span { return []span{{Text: text}} }
	for _, c := range []struct {
		text string
		want []block
	}{
		{"", nil},
		{"one\ntwo\n\nthree", []block{{Text: []span{{Text: "one"}, {Text: " two"}}}, {Text: plain("three")}}},
		{"send `a` or `b`", []block{{Text: []span{
			{Text: "send "},
			{Text: "a", Code: true},
			{Text: " or "},
			{Text: "b", Code: true},
		}}}},
		{"see [Limits](#limits), `[a](#b)` and [\"x\"]", []block{{Text: []span{
			{Text: "see "},
			{Text: "Limits", Link: "#limits"},
			{Text: ", "},
			{Text: "[a](#b)", Code: true},
			{Text: " and [\"x\"]"},
		}}}},
		{"- one\n- two", []block{{Items: [][]span{plain("one"), plain("two")}}}},
		{"- one\n  more", []block{{Items: [][]span{{{Text: "one"}, {Text: " more"}}}}}},
		{"1. one\n2. two\n\n- three", []block{
			{Items: [][]span{plain("one"), plain("two")}, Ordered: true},
			{Items: [][]span{plain("three")}},
		}},
		{"list:\n- one", []block{{Text: plain("list:")}, {Items: [][]span{plain("one")}}}},
		{"45.6 means 45 units", []block{{Text: plain("45.6 means 45 units")}}},
		{"e. g. this", []block{{Text: plain("e. g. this")}}},
	} {
		if diff := cmp.Diff(c.want, blocks(c.text), unexported); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

// unexported makes cmp compare unexported fields as well.
var unexported = cmp.Exporter(func(reflect.Type) bool { return true })

func TestGuide(t *testing.T) {
	intro, sections := guide("What it is.\n\n## Base URLs\n\nTwo.\n\n## Limits\nNone.")
	want := []guideSection{{"base-urls", "Base URLs", blocks("Two.")}, {"limits", "Limits", blocks("None.")}}
	if diff := cmp.Diff(blocks("What it is."), intro, unexported) + cmp.Diff(want, sections, unexported); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
