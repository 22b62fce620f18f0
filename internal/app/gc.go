package app

import (
	"os"
	"runtime/debug"
)

// heapGrowth is the default that pingpost uses for GOGC. With Go's default of 100, garbage collection
// took a tenth of the CPU time of pings and posts, because the live heap is only a few megabytes.
const heapGrowth = 400

// TuneGC makes garbage collections less frequent, unless the environment variable GOGC is set. It is
// meant for programs that serve requests.
func TuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
