package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// customizeHelp says at the end of every help how flags are set by the environment, and gives
// the program a command help that knows a mistake from a question.
func customizeHelp(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 80 "))
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		help(cmd, args)
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "\nEvery flag can be set by the environment: --log-level is %s, unless empty.\n", EnvVar("log-level"))
	})
	root.SetHelpCommand(&cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Print what a command does, its flags and examples",
		Long:    "Print what a command does, its flags and examples, as " + root.Name() + " COMMAND --help does.",
		Example: "  " + root.Name() + " help health",
		// The settings of the log don't matter.
		PersistentPreRun: func(*cobra.Command, []string) {},
		ValidArgsFunction: func(_ *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return commandNames(root, begin), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
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
		},
	})
}

// commandNames returns the commands that begin so, and what they do.
func commandNames(root *cobra.Command, begin string) (names []cobra.Completion) {
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), begin) {
			names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	return names
}

// NoArguments is for commands that take none.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(cmd, args[0])
}

func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if slices.Contains(c.SuggestFor, word) {
			return Usagef("unknown command or argument %q: did you mean %s?", word, c.Name())
		}
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	hint := didYouMean(word, names)
	if hint == "" {
		hint = ": see " + cmd.CommandPath() + " --help"
	}
	return Usagef("unknown command or argument %q%s", word, hint)
}
