package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/platform/config"
)

// allowed lists the environment variables that start with PINGPOST_ but are not settings.
var allowed = []string{
	"PINGPOST_CONFIG", "PINGPOST_DATA_DIR", "PINGPOST_POSTGRES_BIN", "PINGPOST_VAULT_BIN", "PINGPOST_SECRET",
}

// source returns a configuration source: the file from --config or PINGPOST_CONFIG, and
// the environment.
func source(file string, profile config.Profile, need ...config.Section) config.Source {
	if file == "" {
		file = os.Getenv("PINGPOST_CONFIG")
	}
	return config.Source{File: file, Environ: os.Environ(), Defaults: profile, Allow: allowed, Need: need}
}

func configFlag(c *cobra.Command) *string {
	file := new(string)
	configVar(c, file)
	return file
}

func configVar(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "config", "",
		"the YAML `FILE` that contains the settings (default $PINGPOST_CONFIG, or no file)")
}

func serveCommand(unhook func()) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the service in production",
		Long: "Run the service in production. If the configuration is incomplete or not valid, the service\n" +
			"reports every problem and exits. See docs/reference/configuration.md.",
		Args: noArgs,
	}
	file := configFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		hangup := hangups()
		read := func() (*config.Config, error) { return config.Load(source(*file, config.Serve)) }
		cfg, err := read()
		if err != nil {
			return logProblems(app.NewLogger(config.Defaults(config.Serve).Log, os.Stdout), err)
		}
		log := app.NewLogger(cfg.Log, os.Stdout)
		for _, w := range app.Warnings(c.Context(), cfg) {
			log.Warn("configuration", "setting", w.Path, "problem", w.Text)
		}
		app.TuneGC()
		node, err := app.Start(c.Context(), app.Options{
			Config:      cfg,
			Environment: "production",
			Version:     releaseOf(buildInfo()),
			Revision:    versionOf(buildInfo()).Revision,
			Clock:       clock.System{},
			Log:         os.Stdout,
			ReadConfig:  read,
			Hangup:      hangup,
		})
		if err != nil {
			return logFatal(log, "start failed", err)
		}
		notifySystemd(daemon.SdNotifyReady)
		if err := wait(c.Context(), unhook, node); err != nil {
			return logFatal(log, "stopped with an error", err)
		}
		return nil
	}
	return c
}

// hangups returns a channel for SIGHUP, which stops other commands.
func hangups() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Ignore(syscall.SIGHUP) // it no longer ends the context of the command
	signal.Notify(c, syscall.SIGHUP)
	return c
}

// loggedError is an error that has already been logged, so run does not print it.
type loggedError struct{ error }

func logProblems(log *slog.Logger, err error) error {
	var problems config.Problems
	if !errors.As(err, &problems) {
		return logFatal(log, "start failed", err)
	}
	for _, p := range problems {
		log.Error("configuration", "setting", p.Path, "origin", p.Origin, "problem", p.Text)
	}
	return loggedError{err}
}

func logFatal(log *slog.Logger, msg string, err error) error {
	log.Error(msg, "error", plain(err))
	return loggedError{err}
}

// wait waits for a signal or a failure, and then shuts the node down.
func wait(ctx context.Context, unhook func(), node *app.App) error {
	failed := node.Wait(ctx)
	unhook()
	// Ask systemd for the time that the stop may take, so that TimeoutStopSec need not match the settings.
	notifySystemd(daemon.SdNotifyStopping, fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", node.StopTimeout().Microseconds()))
	if err := node.Stop(context.WithoutCancel(ctx)); failed == nil {
		failed = err
	}
	return failed
}

// notifySystemd tells systemd the state of the service, if systemd started it with Type=notify.
func notifySystemd(states ...string) {
	_, _ = daemon.SdNotify(false, strings.Join(states, "\n")) // without systemd, there is nothing to do
}
