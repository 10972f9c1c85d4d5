package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completer is an [Enum], or the value of a flag that embeds one.
type completer interface {
	complete(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective)
}

// complete completes the words of the flag.
func (e *Enum) complete(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	words := slices.DeleteFunc(slices.Clone(e.allowed), func(word string) bool { return !strings.HasPrefix(word, prefix) })
	return words, cobra.ShellCompDirectiveNoFileComp
}

// CompleteFiles completes the argument of a command with the names of files.
func CompleteFiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// withEnvironment completes as f does, after the environment has set the flags that the
// command line does not.
func withEnvironment(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if err := fromEnvironment(cmd.Flags()); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return f(cmd, args, prefix)
	}
}

// registerCompletions completes the words of every [completer] of a command and of its
// subcommands. It turns off the completion of file names wherever nothing else is
// completed and no annotation of cobra says that a flag takes files or folders.
func registerCompletions(cmd *cobra.Command) {
	if len(os.Args) > 1 && os.Args[1] == cobra.ShellCompRequestCmd {
		// Backquotes in a flag's usage mark the name of its value, for the help alone.
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
	}
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.ValidArgsFunction = withEnvironment(cmd.ValidArgsFunction)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		_, takesFiles := f.Annotations[cobra.BashCompFilenameExt]
		if _, done := cmd.GetFlagCompletionFunc(f.Name); done || takesFiles {
			return
		}
		complete := cobra.NoFileCompletions
		if words, ok := f.Value.(completer); ok {
			complete = words.complete
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // no such flag
		}
	})
	for _, sub := range cmd.Commands() {
		registerCompletions(sub)
	}
}
