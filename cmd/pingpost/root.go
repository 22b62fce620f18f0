package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/apperr"
)

// run executes the command line and returns the exit code: 0 for success, 1 for a
// failure, 2 for a usage error. unhook restores the default handling of signals, so
// that a second Ctrl-C ends a shutdown that hangs.
func run(ctx context.Context, unhook func(), args []string) int {
	root := newRoot(unhook)
	root.SetArgs(args)
	out := &output{to: os.Stdout}
	root.SetOut(out)
	err := root.ExecuteContext(ctx)
	if err == nil && out.err != nil {
		err = fmt.Errorf("writing the output: %w", out.err)
	}
	if err == nil {
		return 0
	}
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(os.Stderr, "pingpost: %v\n", err)
		return 2
	}
	if !errors.As(err, new(loggedError)) {
		fmt.Fprintf(os.Stderr, "pingpost: %v%s\n", plain(err), codeSuffix(err))
	}
	return 1
}

// output is the standard output. It saves the first error, so that commands can print
// without checking each write.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// plain returns the message for people, if the error has one.
func plain(err error) error {
	if f := apperr.As(err); f != nil {
		return errors.New(f.Message)
	}
	return err
}

// codeSuffix returns an error's code for scripts, such as " [not_found/partner]".
func codeSuffix(err error) string {
	if e := apperr.As(err); e != nil {
		return fmt.Sprintf(" [%s/%s]", e.Code, e.Reason)
	}
	return ""
}

// usageError is an error in the use of the command line.
type usageError struct{ error }

func newRoot(unhook func()) *cobra.Command {
	root := group("pingpost", "Platform on which partners sell consumer leads by ping-post",
		serveCommand(unhook), devCommand(unhook), migrateCommand(), partnerCommand(), accountCommand(),
		secretCommand(), pricingCommand(), reconcileCommand(), signCommand(), keysCommand(), staffCommand(),
		auditCommand(), configCommand(), idCommand(), versionCommand(),
	)
	root.Args = cobra.ArbitraryArgs // otherwise cobra reports an unknown command as a failure, not a usage error
	root.SilenceUsage, root.SilenceErrors = true, true
	root.Version = version()
	root.Flags().Bool("version", false, "print the version")
	root.SetVersionTemplate("{{.Version}}")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		// A group has no flags, so the error is in the command before them.
		if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
			return unknownCommand(c, args[0])
		}
		return usageError{fmt.Errorf("%w. Run `%s --help` for usage", err, c.CommandPath())}
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	return root
}

// group returns a command that only contains other commands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, RunE: func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(c, args[0])
		}
		return c.Help()
	}}
	c.AddCommand(commands...)
	return c
}

func unknownCommand(c *cobra.Command, name string) error {
	return usageError{fmt.Errorf("unknown command %q for %q. Run `%s --help` for a list", name, c.CommandPath(), c.CommandPath())}
}

// jsonFlag adds --json to a command.
func jsonFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print JSON")
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printTable prints a header and rows in aligned columns.
func printTable(w io.Writer, head string, rows [][]any) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, head)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
