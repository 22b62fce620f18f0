package child

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Usage is the processor time and memory of a process.
type Usage struct {
	CPU      time.Duration // user and system, all threads
	Resident int64         // bytes of memory in use now
	Peak     int64         // the most memory that was ever in use, in bytes; 0 if the system does not report it
}

// ServeUsage replies to each message from the parent with the processor time and memory of this
// process, until the parent closes the link. Servers run it while they serve requests.
func (l *Link) ServeUsage() error {
	for {
		var question any
		if err := l.Next(&question); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		used, err := ReadUsage()
		if err == nil {
			err = l.Say(used)
		}
		if err != nil {
			return err
		}
	}
}

// Usage returns the processor time and memory of the child process.
func (p *Process) Usage() (Usage, error) {
	var u Usage
	err := p.Ask("usage", &u)
	return u, err
}

// ReadUsage returns the processor time and memory of this process.
func ReadUsage() (Usage, error) {
	var spent syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &spent); err != nil {
		return Usage{}, err
	}
	u := Usage{CPU: time.Duration(spent.Utime.Nano() + spent.Stime.Nano())}
	status, err := os.ReadFile("/proc/self/status")
	if errors.Is(err, os.ErrNotExist) { // not Linux
		out, err := exec.Command("ps", "-o", "rss=", "-p", strconv.Itoa(os.Getpid())).Output()
		if err != nil {
			return u, fmt.Errorf("ps does not report the resident memory: %w", err)
		}
		u.Resident, err = kilobytes(string(out))
		return u, err
	}
	if err != nil {
		return u, err
	}
	err = u.read(status)
	return u, err
}

// read parses VmRSS and VmHWM in /proc/self/status.
func (u *Usage) read(status []byte) (err error) {
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan() && err == nil; {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch name {
		case "VmRSS":
			u.Resident, err = kilobytes(value)
		case "VmHWM":
			u.Peak, err = kilobytes(value)
		}
	}
	if err == nil && u.Resident == 0 {
		err = errors.New("/proc/self/status has no VmRSS")
	}
	return err
}

func kilobytes(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
	return n << 10, err
}
