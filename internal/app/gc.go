package app

import (
	"os"
	"runtime/debug"
)

// heapGrowth is by how much the heap may grow, in percent of what is live, before
// garbage is collected. Go's own 100 is for heaps of gigabytes: ours holds a few
// megabytes, and collecting it for each few more took a tenth of the processor
// time of pings and posts.
const heapGrowth = 400

// TuneGC sets the pace of the process's garbage collector, unless the
// operator has, with GOGC. It is for programs that serve.
func TuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
