package devpg

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
)

func portFree(port int) error {
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return taken(port)
	}
	if err != nil {
		return fmt.Errorf("cannot listen on port %d on 127.0.0.1 (%w): choose another port for Postgres, or 0 for a free one",
			port, err)
	}
	return listener.Close()
}

func taken(port int) error {
	return portTaken{fmt.Errorf("port %d on 127.0.0.1 is in use by another program: stop that program, or choose another port for Postgres, or 0 for a free one",
		port)}
}

// explain turns an error of the embedded-postgres library into one that tells the user what to do.
func (l layout) explain(err error, j job, found binaries) error {
	if found.download && !exists(l.library()) {
		return fmt.Errorf("found no Postgres %d or newer on this machine, and downloading it failed (%w): %s",
			oldest, err, installHint)
	}
	text, _ := os.ReadFile(l.log()) // the file contains only the log of this start
	words := l.logTail()
	switch {
	case strings.Contains(err.Error(), "already listening"), bytes.Contains(text, []byte("could not bind")):
		return taken(j.Port)
	case bytes.Contains(text, []byte("password authentication failed")):
		return fmt.Errorf("the data folder %s is damaged (the file password does not match the cluster): restore that file, or remove the folder to start over without its data",
			l)
	case words == "":
		return fmt.Errorf("the private Postgres did not start: %w", err)
	default:
		return fmt.Errorf("the private Postgres %d did not start in the data folder %s; its log %s ends with:%s",
			found.major, l, l.log(), words)
	}
}

func (l layout) logTail() string {
	const most = 8
	text, err := os.ReadFile(l.log())
	if err != nil || len(text) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = lines[max(0, len(lines)-most):]
	return "\n  " + strings.Join(lines, "\n  ")
}
