// Command vaultdev runs a real Vault server for development and tests. It contains Vault's own core, the
// transit engine, and the AppRole and Kubernetes auth methods.
//
//	vaultdev server -dev -dev-listen-address=127.0.0.1:8200
//	vaultdev server -config=PATH
//
// For this project, it can replace `vault server`. With -dev, it stores all data in memory, so the data is
// lost when the server stops, and it prints the same lines, which contain the address, an unseal key and a
// root token. With -config, it reads a configuration file or a folder with such files.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "vaultdev:", err)
		os.Exit(1)
	}
}

func run(args []string, output, log io.Writer) error {
	if len(args) == 0 || args[0] != "server" {
		return errors.New("usage: vaultdev server -dev [-dev-listen-address=HOST:PORT] | -config=PATH")
	}
	flags := flag.NewFlagSet("vaultdev server", flag.ContinueOnError)
	flags.SetOutput(log)
	address := flags.String("dev-listen-address", "127.0.0.1:8200", "address to listen on; port 0 selects a free port")
	level := flags.String("log-level", "info", "trace, debug, info, warn or error")
	dev := flags.Bool("dev", false, "store all data in memory, and print the root token")
	config := flags.String("config", "", "configuration file, or folder with configuration files")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	var s *server
	var err error
	switch {
	case *dev == (*config != ""):
		return errors.New("either -dev or -config is required")
	case *dev:
		var listener net.Listener
		if listener, err = net.Listen("tcp", *address); err != nil {
			return err
		}
		if s, err = startDev(listener, *level, log); err != nil {
			return err
		}
		fmt.Fprintf(output, "Api Address: http://%s\nUnseal Key: %s\nRoot Token: %s\n", listener.Addr(), s.unsealKey,
			s.rootToken)
	default:
		if s, err = startConfigured(*config, *level, log); err != nil {
			return err
		}
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	select {
	case <-ended:
		return s.stop()
	case err := <-s.failed:
		return errors.Join(err, s.stop())
	}
}
