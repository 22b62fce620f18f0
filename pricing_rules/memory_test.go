package pricingrules

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/yamldoc"
)

// maxImportMemory is the limit for the live memory that an import of a file of MaxFile bytes needs.
const maxImportMemory = 200 << 20

// largeFiles returns files of almost MaxFile bytes that need much memory.
func largeFiles() map[string]string {
	repeat := func(head, item, tail string) string {
		return head + strings.Repeat(item, (MaxFile-len(head)-len(tail))/len(item)) + tail
	}
	numbered := func(head, format string, count int) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range count {
			row := fmt.Sprintf(format, i)
			if b.Len()+len(row) > MaxFile {
				break
			}
			b.WriteString(row)
		}
		return b.String()
	}
	few := MaxRules - 1
	return map[string]string{
		"empty values":      repeat("", "a:\n", ""),
		"flow list":         repeat("[", "a,", "a]"),
		"flow mapping":      repeat("{", "a,", "a}"),
		"explicit keys":     repeat("", "?\n", ""),
		"different keys":    numbered("", "a%d:\n", MaxFile),
		"most keys":         numbered("", "a%d: x\n", yamldoc.MaxNodes/2-1),
		"most items":        strings.Repeat("- xy\n", yamldoc.MaxNodes-1),
		"most anchors":      numbered("", "- &a%d x\n", yamldoc.MaxNodes/2-1),
		"most tags":         numbered("rules:\n", "- !a%d x\n", yamldoc.MaxNodes-10),
		"one key":           repeat("\"", "x", "\": 1"),
		"one string":        repeat("rules: |\n", " x\n", ""),
		"nesting":           repeat("", "[", ""),
		"documents":         repeat("", "---\n", ""),
		"comments":          repeat("a: 1\n", "#\n", ""),
		"tag directive":     "%TAG !a! " + strings.Repeat("x", MaxFile/2) + "\n---\n" + strings.Repeat("- !a!b x\n", MaxFile/20),
		"UTF-16":            "\xff\xfe" + strings.Repeat("a\x00:\x00\n\x00", MaxFile/6),
		"wrong rules":       repeat("rules:\n", "- a: 1 # x\n", ""),
		"unknown keys":      numbered("rules:\n", "- {a: 1, b: 2, c: 3, d: 4, e: 5} # %d\n", few),
		"conflicting rules": numbered("rules:\n", "- {country: XX, urgency: soon, base: {GBP: 45.6}, exclude: true, note: \"row %d\"}\n", few),
		"valid rules":       numbered("rules:\n", "- industry: plumber\n  country: GB\n  urgency: urgent\n  multiplier: 1.%d\n  note: row\n", few),
		"wrong CSV":         repeat("industry,country,base\n", "x,GB,5\n", ""),
		"CSV":               repeat("industry,country,base\n", "plumber,GB,5\n", ""),
	}
}

// A file of at most MaxFile bytes needs little memory, whatever it contains.
func TestFilesNeedLittleMemory(t *testing.T) {
	tax, markets, _, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // so that the live memory is measured often
	for name, text := range largeFiles() {
		if len(text) > MaxFile {
			t.Fatalf("%s: the file has %d bytes, want at most %d", name, len(text), MaxFile)
		}
		before := liveMemory(true)
		stop, peak := make(chan struct{}), make(chan uint64)
		go func() {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for most := uint64(0); ; most = max(most, liveMemory(false)) {
				select {
				case <-tick.C:
				case <-stop:
					peak <- most
					return
				}
			}
		}()
		var table *Table
		if strings.Contains(name, "CSV") {
			_, err = ParseBases("f.csv", []byte(text), tax, markets)
		} else {
			_, table, err = Load("f.yaml", []byte(text), tax, markets)
		}
		close(stop)
		used := int64(max(<-peak, liveMemory(true))) - int64(before)
		t.Logf("%s: %d MiB", name, used>>20)
		if used > maxImportMemory {
			t.Errorf("%s: %d MiB of live memory, want at most %d", name, used>>20, maxImportMemory>>20)
		}
		runtime.KeepAlive(table)
		runtime.KeepAlive(err)
	}
}

// liveMemory returns the memory that was in use at the last garbage collection.
func liveMemory(collect bool) uint64 {
	if collect {
		runtime.GC()
	}
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// A file can contain MaxRules rules with usual fields.
func TestLargestRateCard(t *testing.T) {
	tax, markets, _, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	card := manyRules(t, tax, markets, MaxRules)
	for i := range card.Rules {
		if r := &card.Rules[i]; r.Base != (Amounts{}) {
			r.Base, r.Multiplier = Amounts{money.GBP: 1000, money.EUR: 1100}, 0
		}
	}
	data := FormatCard(card)
	got, err := ParseCard("f.yaml", data)
	if err != nil || len(got.Rules) != len(card.Rules) || len(data) > MaxFile {
		t.Errorf("got %d rules and error %v from %d bytes, want %d rules", len(got.Rules), err, len(data), len(card.Rules))
	}
	_, err = ParseCard("f.yaml", []byte("rules:\n"+strings.Repeat("- {base: {GBP: 1}}\n", MaxRules+1)))
	problems, ok := errors.AsType[Problems](err)
	if !ok || len(problems) != 1 || problems[0].Line != MaxRules+2 {
		t.Errorf("too many rules: got %v, want one problem on line %d", err, MaxRules+2)
	}
}
