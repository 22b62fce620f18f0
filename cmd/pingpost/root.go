package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/suggest"
)

// run executes the command line and returns the exit code: 0 for success, 1 for a failure, 2 for a usage
// error. The function unhook restores the default handling of signals, so that a second Ctrl-C ends a
// shutdown that hangs.
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

// plain replaces the text of each apperr.Error in err with its public message, because causes belong
// only in logs. It keeps the text that other errors add around these messages.
func plain(err error) error {
	text := err.Error()
	for _, e := range publicErrors(err) {
		text = strings.Replace(text, e.Error(), e.Message, 1)
	}
	return errors.New(text)
}

// publicErrors returns the outermost apperr.Errors in the tree of err.
func publicErrors(err error) []*apperr.Error {
	if e, ok := err.(*apperr.Error); ok { //nolint:errorlint // checks one node of the tree
		return []*apperr.Error{e}
	}
	switch wrapped := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		if inner := wrapped.Unwrap(); inner != nil {
			return publicErrors(inner)
		}
	case interface{ Unwrap() []error }:
		var found []*apperr.Error
		for _, inner := range wrapped.Unwrap() {
			found = append(found, publicErrors(inner)...)
		}
		return found
	}
	return nil
}

// codeSuffix returns a suffix such as " [not_found/partner]", with the error's code for scripts.
func codeSuffix(err error) string {
	if e := apperr.As(err); e != nil {
		return fmt.Sprintf(" [%s/%s]", e.Code, e.Reason)
	}
	return ""
}

// usageError reports that the command line was used incorrectly. For this error, run returns the exit
// code 2.
type usageError struct{ error }

func newRoot(unhook func()) *cobra.Command {
	root := group("pingpost", "Platform on which partners sell consumer leads by ping-post",
		serveCommand(unhook), devCommand(unhook), migrateCommand(), partnerCommand(), accountCommand(),
		secretCommand(), leadCommand(), personCommand(), evidenceCommand(), erasuresCommand(), retentionCommand(),
		pricingCommand(), reconcileCommand(), signCommand(), keysCommand(), staffCommand(),
		auditCommand(), restoreDrillCommand(), completionCommand(), configCommand(), doctorCommand(), healthCommand(),
		idCommand(), versionCommand(),
	)
	root.Args = cobra.ArbitraryArgs // otherwise cobra reports an unknown command as a failure, not a usage error
	root.SilenceUsage, root.SilenceErrors = true, true
	root.Version = version()
	root.Flags().Bool("version", false, "print the version")
	root.SetVersionTemplate("{{.Version}}")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		// A group of commands has no flags of its own, so an argument before the flag is an unknown
		// command.
		if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
			return unknownCommand(c, args[0])
		}
		return usageError{fmt.Errorf("%w%s. Run `%s --help` for usage", err, similarFlag(c, err), c.CommandPath())}
	})
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

// similarFlag returns the end of a message about an unknown flag, such as "; did you mean --json?".
func similarFlag(c *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return suggest.DidYouMean(suggest.Closest("--"+unknown.GetSpecifiedName(), names))
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
	c.SuggestionsMinimumDistance = 2
	similar := ""
	if names := c.SuggestionsFor(name); len(names) > 0 {
		similar = fmt.Sprintf("Did you mean `%s %s`? ", c.CommandPath(), strings.Join(names, "` or `"+c.CommandPath()+" "))
	}
	return usageError{fmt.Errorf("unknown command %q for %q. %sRun `%s --help` for a list", name, c.CommandPath(), similar,
		c.CommandPath())}
}

func jsonFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print JSON")
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// counted formats a number with its noun: "1 lead", "2 leads".
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// printTable prints rows in aligned columns. Tabs separate the column headings in head.
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
