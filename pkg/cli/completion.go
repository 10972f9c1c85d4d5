package cli

import (
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// shells are those that completions can be made for.
var shells = map[string]func(root *cobra.Command, out io.Writer) error{
	"bash":       func(root *cobra.Command, out io.Writer) error { return root.GenBashCompletionV2(out, true) },
	"zsh":        func(root *cobra.Command, out io.Writer) error { return root.GenZshCompletion(out) },
	"fish":       func(root *cobra.Command, out io.Writer) error { return root.GenFishCompletion(out, true) },
	"powershell": func(root *cobra.Command, out io.Writer) error { return root.GenPowerShellCompletionWithDesc(out) },
}

// completionCommand prints what a shell needs to complete this program's commands.
func completionCommand(root *cobra.Command) *cobra.Command {
	names := slices.Sorted(maps.Keys(shells))
	name := root.Name()
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the script that lets a shell complete commands, flags and values",
		Long: `Print the script that lets a shell complete this program's commands, flags and values.
SHELL is bash, zsh, fish or powershell.

bash needs its package bash-completion. To have completions in every new shell:

  bash         ` + name + ` completion bash > ~/.local/share/bash-completion/completions/` + name + `
  zsh          ` + name + ` completion zsh > ~/.zfunc/_` + name + `
               and in ~/.zshrc: fpath=(~/.zfunc $fpath); autoload -U compinit; compinit
  fish         ` + name + ` completion fish > ~/.config/fish/completions/` + name + `.fish
  powershell   ` + name + ` completion powershell | Out-String | Invoke-Expression
               in the file that $PROFILE names`,
		Example: "  source <(" + name + " completion bash)\n  " + name + " completion fish > " + name + ".fish",
		ValidArgsFunction: func(_ *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return beginning(names, begin), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return Usagef("takes one argument, the shell: %s", joinOr(names))
			}
			if err := OneOf("SHELL", args[0], names...); err != nil {
				return err
			}
			return shells[args[0]](root, cmd.OutOrStdout())
		},
	}
}

// complete completes the words of a choice.
func (c *Enum) complete(_ *cobra.Command, _ []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return beginning(c.allowed, begin), cobra.ShellCompDirectiveNoFileComp
}

// beginning returns the words that begin so.
func beginning(words []string, begin string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !strings.HasPrefix(word, begin) })
}

// takesFile marks a flag whose value is a file.
const takesFile = "nqueens_takes_file"

// CompleteFiles has shells complete the names of files for a flag.
func CompleteFiles(flags *pflag.FlagSet, flag string) { mark(flags, flag, takesFile) }

// CompleteDirs has shells complete the names of folders for a flag.
func CompleteDirs(flags *pflag.FlagSet, flag string) { mark(flags, flag, cobra.BashCompSubdirsInDir) }

func mark(flags *pflag.FlagSet, flag, as string) {
	if err := flags.SetAnnotation(flag, as, []string{}); err != nil {
		panic(err) // no such flag
	}
}

// FilesAreArguments completes the names of files for the arguments of a command.
func FilesAreArguments(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// WithEnvironment completes as f does, once flags that are not given have their values
// from the environment.
func WithEnvironment(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if err := fromEnvironment(cmd.Flags()); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return f(cmd, args, begin)
	}
}

// registerCompletions has shells complete the words of every [Choice] of a command and those
// below it, and no names of files where nobody has said that files are wanted.
func registerCompletions(cmd *cobra.Command) {
	if len(os.Args) > 1 && os.Args[1] == cobra.ShellCompRequestCmd {
		// Quotes in a flag's usage mark the name of its value, for the help.
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
	}
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	flags := func(f *pflag.Flag) {
		if _, done := cmd.GetFlagCompletionFunc(f.Name); done || f.Annotations[takesFile] != nil {
			return
		}
		complete := cobra.NoFileCompletions
		if choice, ok := f.Value.(*Enum); ok {
			complete = choice.complete
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // no such flag
		}
	}
	cmd.LocalFlags().VisitAll(flags)
	for _, sub := range cmd.Commands() {
		registerCompletions(sub)
	}
}
