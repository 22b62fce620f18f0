//go:build !short

package pricing_test

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/yamldoc"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// maxImportMemory limits the memory that an import obtains from the operating system.
const maxImportMemory = 200 << 20

// largeFiles returns files of almost pricingrules.MaxFile bytes that need a lot of memory.
func largeFiles() map[string]string {
	repeat := func(head, item, tail string) string {
		return head + strings.Repeat(item, (pricingrules.MaxFile-len(head)-len(tail))/len(item)) + tail
	}
	numbered := func(head, format string, count int) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range count {
			row := fmt.Sprintf(format, i)
			if b.Len()+len(row) > pricingrules.MaxFile {
				break
			}
			b.WriteString(row)
		}
		return b.String()
	}
	few := pricingrules.MaxRules - 1
	return map[string]string{
		"empty values":   repeat("", "a:\n", ""),
		"flow list":      repeat("[", "a,", "a]"),
		"flow mapping":   repeat("{", "a,", "a}"),
		"explicit keys":  repeat("", "?\n", ""),
		"different keys": numbered("", "a%d:\n", pricingrules.MaxFile),
		"most keys":      numbered("", "a%d: x\n", yamldoc.MaxNodes/2-1),
		"most items":     strings.Repeat("- xy\n", yamldoc.MaxNodes-1),
		"most anchors":   numbered("", "- &a%d x\n", yamldoc.MaxNodes/2-1),
		"most tags":      numbered("rules:\n", "- !a%d x\n", yamldoc.MaxNodes-10),
		"one key":        repeat("\"", "x", "\": 1"),
		"one string":     repeat("rules: |\n", " x\n", ""),
		"nesting":        repeat("", "[", ""),
		"documents":      repeat("", "---\n", ""),
		"comments":       repeat("a: 1\n", "#\n", ""),
		"tag directive": "%TAG !a! " + strings.Repeat("x", pricingrules.MaxFile/2) + "\n---\n" +
			strings.Repeat("- !a!b x\n", pricingrules.MaxFile/20),
		"UTF-16":       "\xff\xfe" + strings.Repeat("a\x00:\x00\n\x00", pricingrules.MaxFile/6),
		"wrong rules":  repeat("rules:\n", "- a: 1 # x\n", ""),
		"unknown keys": numbered("rules:\n", "- {a: 1, b: 2, c: 3, d: 4, e: 5} # %d\n", few),
		"conflicting rules": numbered("rules:\n",
			"- {country: XX, urgency: soon, base: {GBP: 45.6}, exclude: true, note: \"row %d\"}\n", few),
		"valid rules": numbered("rules:\n",
			"- industry: plumber\n  country: GB\n  urgency: urgent\n  multiplier: 1.%d\n  note: row\n", few),
		"wrong CSV": repeat("industry,country,base\n", "x,GB,5\n", ""),
		"CSV":       repeat("industry,country,base\n", "plumber,GB,5\n", ""),
	}
}

// An import of at most pricingrules.MaxFile bytes needs little memory in a node, whatever the file contains.
func TestImportNeedsLittleMemory(t *testing.T) {
	d := admintest.NewConsoleWithDraft(t)
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	app.TuneGC()
	for name, text := range largeFiles() {
		if len(text) > pricingrules.MaxFile {
			t.Fatalf("%s: the file has %d bytes, want at most %d", name, len(text), pricingrules.MaxFile)
		}
		debug.FreeOSMemory()
		before := memoryInUse()
		stop, peak := make(chan struct{}), make(chan uint64)
		go func() {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for most := uint64(0); ; most = max(most, memoryInUse()) {
				select {
				case <-tick.C:
				case <-stop:
					peak <- most
					return
				}
			}
		}()
		kind := "yaml"
		if strings.Contains(name, "CSV") {
			kind = "csv"
		}
		p := d.Upload(t, map[string]string{"kind": kind}, "file."+kind, text)
		close(stop)
		used := int64(<-peak) - int64(before)
		t.Logf("%s: status %d, %d MiB", name, p.Status, used>>20)
		if p.Status != http.StatusOK && p.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: got status %d: %s", name, p.Status, p.Text())
		}
		if used > maxImportMemory {
			t.Errorf("%s: %d MiB, want at most %d", name, used>>20, maxImportMemory>>20)
		}
	}
}

// memoryInUse returns the amount of memory that the process has obtained from the operating system.
func memoryInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}
