package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
)

// machine contains the properties of the machine that affect the figures. It contains nothing that
// identifies the machine.
type machine struct {
	CPU      string
	Cores    int
	SHA      string // "yes", "no" or "not known": whether the processor has SHA-256 instructions
	System   string
	Go       string
	Postgres string
	Sync     time.Duration // time of a synchronous write of 8 KiB
	Load     string        // load average of the last minute before the run
}

func (s *stage) machine(ctx context.Context) (m machine, err error) {
	m = machine{Cores: runtime.NumCPU(), Go: runtime.Version(), SHA: "not known", CPU: "not known", Load: "not known"}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.readCPU(string(info))
	} else if brand, err := exec.CommandContext(ctx, "sysctl", "-n", "machdep.cpu.brand_string").Output(); err == nil {
		m.CPU = strings.TrimSpace(string(brand))
	}
	if average, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(average), " ")
	}
	system, err := exec.CommandContext(ctx, "uname", "-sr").Output()
	if err != nil {
		return m, fmt.Errorf("reading the system's version: %w", err)
	}
	m.System = strings.TrimSpace(string(system))
	if m.Sync, err = syncTime(s.folder); err != nil {
		return m, fmt.Errorf("measuring the disk: %w", err)
	}
	err = s.root.QueryRow(ctx, "SHOW server_version").Scan(&m.Postgres)
	return m, err
}

// readCPU sets CPU and SHA from the text of /proc/cpuinfo. For ARM processors, the text often does not
// contain the model.
func (m *machine) readCPU(info string) {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "model name":
			m.CPU = value
		case "flags", "Features":
			m.SHA = "no"
			if flags := strings.Fields(value); slices.Contains(flags, "sha_ni") || slices.Contains(flags, "sha2") {
				m.SHA = "yes"
			}
		}
	}
}

// syncTime returns the median time of writing 8 KiB to disk with fsync.
func syncTime(folder string) (time.Duration, error) {
	file, err := os.Create(filepath.Join(folder, "sync"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	page, times := noise(8<<10), []time.Duration{}
	for range 51 {
		start := clock.System{}.Now()
		if _, err := file.WriteAt(page, 0); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		times = append(times, clock.System{}.Now().Sub(start))
	}
	slices.Sort(times)
	return times[len(times)/2], errors.Join(file.Close(), os.Remove(file.Name()))
}
