// Command pingpost is the whole platform: the service, the embedded default for
// development, and the operator's commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/pingpost/pingpost/internal/devpg"
)

func main() {
	devpg.RunIfChild()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, stop, os.Args[1:])
	stop()
	os.Exit(code)
}
