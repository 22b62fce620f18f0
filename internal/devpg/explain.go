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

// portFree tells a port that is taken before Postgres fails on it.
func portFree(port int) error {
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return taken(port)
	}
	if err != nil {
		return fmt.Errorf("port %d on 127.0.0.1 cannot be listened on (%w): give Postgres another port, or 0 for a free one",
			port, err)
	}
	return listener.Close()
}

func taken(port int) error {
	return portTaken{fmt.Errorf("port %d on 127.0.0.1 is taken by another program: stop that one, or give Postgres another port, or 0 for a free one",
		port)}
}

// explain turns the library's error into what is wrong and the mend.
func (l layout) explain(err error, j job, found binaries) error {
	if found.download && !exists(l.library()) {
		return fmt.Errorf("no Postgres %d or newer was found on this machine, and it could not be downloaded (%w): %s",
			oldest, err, installHint)
	}
	text, _ := os.ReadFile(l.log()) // of this start alone
	words := l.logTail()
	switch {
	case strings.Contains(err.Error(), "already listening"), bytes.Contains(text, []byte("could not bind")):
		return taken(j.Port)
	case bytes.Contains(text, []byte("password authentication failed")):
		return fmt.Errorf("the data folder %s is damaged (the file password is not the cluster's): restore that file, or remove the folder to start afresh without its data",
			l)
	case words == "":
		return fmt.Errorf("the private Postgres did not start: %w", err)
	default:
		return fmt.Errorf("the private Postgres %d did not start on the data folder %s; its log %s ends with:%s",
			found.major, l, l.log(), words)
	}
}

// logTail is the end of Postgres's log, each line on one of its own.
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
