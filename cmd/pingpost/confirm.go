package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

var errUnconfirmed = usageError{errors.New(
	"nothing was changed, because the command was not confirmed. To confirm it, add --yes")}

// yesFlag adds the flag --yes to a command that calls confirm.
func yesFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("yes", false, "confirm the command, which cannot be undone")
}

// confirm prints what a command will do. Unless the flag --yes is set, it asks the user to confirm it. If
// standard input is not a terminal, it returns a usage error instead.
func confirm(c *cobra.Command, yes bool, what string) error {
	fmt.Fprintln(c.ErrOrStderr(), what)
	if yes {
		return nil
	}
	if !interactive(c.InOrStdin()) {
		return errUnconfirmed
	}
	if !answers(c, "This cannot be undone. Type yes to continue: ", "yes") {
		return errUnconfirmed
	}
	return nil
}

// answers asks a question and reports whether the user types the given answer.
func answers(c *cobra.Command, question, answer string) bool {
	fmt.Fprint(c.ErrOrStderr(), question)
	line, err := bufio.NewReader(io.LimitReader(c.InOrStdin(), 64)).ReadString('\n')
	return err == nil && strings.TrimSpace(line) == answer
}

// interactive reports whether a user can answer a question on in. It also returns true for /dev/null, from
// which confirm then reads no answer.
func interactive(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
