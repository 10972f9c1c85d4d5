package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// customizeHelp wraps the usage of flags, and ends every help with how the environment sets
// flags.
func customizeHelp(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 80 "))
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		help(cmd, args)
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "\nEvery flag can be set by the environment: --log-level is %s, unless empty.\n", EnvVar("log-level"))
	})
}

// addDefaultCommands adds the commands help and completion of cobra, once the root has its
// own commands. Unknown arguments are usage errors to them too.
func addDefaultCommands(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Example = "  " + root.Name() + " help health"
			c.PersistentPreRun = func(*cobra.Command, []string) {} // a wrong --log-level does not matter
			c.Run, c.RunE = nil, func(_ *cobra.Command, args []string) error { return printHelp(root, args) }
		case "completion":
			c.Example = "  source <(" + root.Name() + " completion bash)"
			c.Args, c.RunE = NoArguments, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range c.Commands() {
				shell.Example = "  " + shell.CommandPath() + " > FILE"
				shell.Args = NoArguments
			}
		}
	}
}

// printHelp prints the help of the command that the arguments name.
func printHelp(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err == nil {
		err = NoArguments(cmd, rest)
	}
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	return cmd.Help()
}
