package app

import (
	"os"
	"runtime/debug"
)

// heapGrowth is the default for GOGC: the growth of the live heap, in percent, that triggers a
// garbage collection. The live heap is only a few megabytes. With Go's default of 100, garbage
// collection took a tenth of the CPU time spent on pings and posts.
const heapGrowth = 400

// TuneGC sets the garbage collector's target to heapGrowth, unless GOGC is set. It is for
// programs that serve requests.
func TuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
