package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// completionScripts contains the function that writes the completion script for each shell.
var completionScripts = map[string]func(root *cobra.Command, w io.Writer) error{
	"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
	"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
	"zsh":        (*cobra.Command).GenZshCompletion,
}

func completionCommand() *cobra.Command {
	c := &cobra.Command{
		Short: "Print a shell completion script",
		Long:  "Print a shell completion script. The packages install the scripts for bash, zsh and fish.",
		Example: `  source <(pingpost completion bash)
  pingpost completion zsh > "${fpath[1]}/_pingpost"
  pingpost completion fish > ~/.config/fish/completions/pingpost.fish
  pingpost completion powershell | Out-String | Invoke-Expression`,
	}
	c.ValidArgs = slices.Sorted(maps.Keys(completionScripts))
	c.Use = "completion " + strings.Join(c.ValidArgs, "|")
	c.Args = exactly(1, "the name of a shell: "+strings.Join(c.ValidArgs, ", "))
	c.RunE = func(c *cobra.Command, args []string) error {
		write, ok := completionScripts[args[0]]
		if !ok {
			return usageError{fmt.Errorf("unknown shell %q. Run `%s --help` for a list", args[0], c.CommandPath())}
		}
		return write(c.Root(), c.OutOrStdout())
	}
	return c
}
