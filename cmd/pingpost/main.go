// Command pingpost runs the service, a complete platform for development, and commands for
// operators.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/pingpost/pingpost/internal/dev/devpg"
)

func main() {
	devpg.RunIfChild()
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	code := run(ctx, stop, os.Args[1:])
	stop()
	os.Exit(code)
}
