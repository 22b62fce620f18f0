package app

import (
	"os"
	"runtime/debug"
)

// heapGrowth is the value for GOGC: the growth of the live heap, in percent, that starts
// a garbage collection. The live heap is a few megabytes, so with Go's default of 100
// collections took a tenth of the processor time of pings and posts.
const heapGrowth = 400

// TuneGC sets the garbage collector's target to heapGrowth, unless GOGC is set. Call it
// in programs that serve requests.
func TuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
