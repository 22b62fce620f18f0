package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// errNoProcfs is returned on systems that do not report processor times in /proc.
var errNoProcfs = errors.New("this system has no /proc")

// tick is the unit in which Linux reports processor times in /proc.
const tick = 10 * time.Millisecond

// processors contains the busy time and the total time of all processors since the machine started.
type processors struct{ busy, all time.Duration }

func readProcessors() (p processors, err error) {
	text, err := os.ReadFile("/proc/stat")
	if errors.Is(err, os.ErrNotExist) {
		return p, errNoProcfs
	}
	if err != nil {
		return p, err
	}
	return parseProcessors(string(text))
}

// parseProcessors parses the first line of /proc/stat. It ignores the two guest times at the end of the
// line, because the user and nice times already include them.
func parseProcessors(text string) (p processors, err error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return p, errors.New("/proc/stat does not begin with the processors' times")
	}
	for i, field := range fields[1:9] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return p, fmt.Errorf("/proc/stat: %w", err)
		}
		p.all += time.Duration(ticks) * tick
		if idle := i == 3 || i == 4; !idle {
			p.busy += time.Duration(ticks) * tick
		}
	}
	return p, nil
}

// processStat contains selected fields of /proc/<pid>/stat.
type processStat struct {
	parent      int
	own, reaped time.Duration // processor time of the process, and of its children that have ended
}

func readProcess(pid int) (processStat, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if errors.Is(err, os.ErrNotExist) {
		return processStat{}, errNoProcfs
	}
	if err != nil {
		return processStat{}, err
	}
	return parseProcess(string(text))
}

// parseProcess parses the text of /proc/<pid>/stat. It skips everything up to the last closing
// parenthesis, because the program's name can itself contain spaces and parentheses.
func parseProcess(text string) (s processStat, err error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const parent, times = 1, 11 // times: user, system, and both for ended children
	if len(fields) < times+4 {
		return s, errors.New("a stat line in /proc is too short")
	}
	if s.parent, err = strconv.Atoi(fields[parent]); err != nil {
		return s, err
	}
	var ticks [4]int64
	for i := range ticks {
		if ticks[i], err = strconv.ParseInt(fields[times+i], 10, 64); err != nil {
			return s, err
		}
	}
	s.own = time.Duration(ticks[0]+ticks[1]) * tick
	s.reaped = time.Duration(ticks[2]+ticks[3]) * tick
	return s, nil
}

// familyTime returns the total processor time of a process and its children, including children that
// have ended. For Postgres, pass the ID of the postmaster.
func familyTime(pid int) (time.Duration, error) {
	first, err := readProcess(pid)
	if err != nil {
		return 0, err
	}
	sum := first.own + first.reaped
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		other, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // not a process
		}
		if s, err := readProcess(other); err == nil && s.parent == pid { // skip processes that have ended
			sum += s.own
		}
	}
	return sum, nil
}
