package app

import (
	"os"
	"runtime/debug"
)

// heapGrowth is the default for GOGC: the growth of the live heap, in percent, that starts a
// garbage collection. The live heap is only a few megabytes. With GOGC=100, Go's default,
// garbage collection used a tenth of the CPU time of pings and posts.
const heapGrowth = 400

// TuneGC sets the garbage collector's target to heapGrowth, unless GOGC is set. It is for
// programs that serve requests.
func TuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
