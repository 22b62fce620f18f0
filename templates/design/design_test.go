package design

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notShown are components that the design page does not need to show.
var notShown = []string{
	"AuditList", "Confirm", "ErrorPage", "Keys", "RecoveryCodes", "Search", "StandalonePage", // whole pages
	"FormKey", "RowVersionField", "SuggestionOptions", // without a look of their own
	"ConfirmDialog", "FormError", "LinkOrText", // shown as ConfirmForm, NoticeBox and a link
}

var (
	definition = regexp.MustCompile(`(?m)^templ (?:\([^)]*\) )?(\w+)\(`)
	fromUI     = regexp.MustCompile(`ui\.([A-Z]\w*)\(`)
	sameFolder = regexp.MustCompile(`@([A-Za-z]\w*)\(`)
)

// TestDesignShowsAllComponents checks that the design page shows each exported component of templates/ui, alone or as
// part of another one.
func TestDesignShowsAllComponents(t *testing.T) {
	components := map[string]string{} // their source by name
	source := readTemplates(t, "../ui")
	starts := definition.FindAllStringSubmatchIndex(source, -1)
	for i, m := range starts {
		end := len(source)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		components[source[m[2]:m[3]]] = source[m[0]:end]
	}
	shown := map[string]bool{}
	var show func(name string)
	show = func(name string) {
		if shown[name] {
			return
		}
		shown[name] = true
		for _, m := range sameFolder.FindAllStringSubmatch(components[name], -1) {
			show(m[1])
		}
	}
	for _, m := range fromUI.FindAllStringSubmatch(readTemplates(t, "."), -1) {
		show(m[1])
	}
	if len(components) < 50 || len(shown) < 50 {
		t.Fatalf("found %d components, and the page shows %d", len(components), len(shown))
	}
	for name := range components {
		exported := strings.ToUpper(name[:1]) == name[:1]
		switch excused := slices.Contains(notShown, name); {
		case exported && !shown[name] && !excused:
			t.Errorf("the design page does not show %s", name)
		case shown[name] && excused:
			t.Errorf("notShown contains %s, which the design page shows", name)
		}
	}
}

func readTemplates(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.templ")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
