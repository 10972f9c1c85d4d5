package cli

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Group is a heading of a program's help, with the commands below it.
type Group struct {
	Title    string
	Commands []*cobra.Command
}

// AddGroups adds commands to a program, which its help lists in this order.
func AddGroups(root *cobra.Command, groups ...Group) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.Title, Title: g.Title})
		for _, c := range g.Commands {
			c.GroupID = g.Title
		}
		root.AddCommand(g.Commands...)
	}
}

// headingOf annotates a flag with its heading in help.
const headingOf = "nqueens_heading"

// FlagGroup registers flags, which help lists below a heading.
func FlagGroup(flags *pflag.FlagSet, heading string, register func(*pflag.FlagSet)) {
	group := pflag.NewFlagSet(heading, pflag.ContinueOnError)
	group.SortFlags = false
	register(group)
	group.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[headingOf] == nil {
			_ = group.SetAnnotation(f.Name, headingOf, []string{heading}) // fails only for unknown flags
		}
	})
	flags.SortFlags = false
	flags.AddFlagSet(group)
}

// helpWidth is the width of help in columns.
const helpWidth = 80

// writeHelp prints the help of a command: what it does, how to call it, examples, the commands below it and
// its flags.
func writeHelp(w io.Writer, cmd *cobra.Command) {
	var headings []string
	sections := make(map[string]*pflag.FlagSet)
	flags := cmd.Flags()
	if !cmd.HasParent() { // those of a default command are in its help
		flags = cmd.PersistentFlags()
	}
	flags.SortFlags = false
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Name == "version" || f.Hidden || cmd.HasParent() && cmd.Root().PersistentFlags().Lookup(f.Name) == f {
			return
		}
		heading := "Flags"
		if named := f.Annotations[headingOf]; named != nil {
			heading = named[0]
		}
		if sections[heading] == nil {
			headings, sections[heading] = append(headings, heading), pflag.NewFlagSet(heading, pflag.ContinueOnError)
			sections[heading].SortFlags = false
		}
		sections[heading].AddFlag(f)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n", cmp.Or(cmd.Long, cmd.Short))
	below := len(cmd.Commands()) > 0
	if !below || len(headings) > 1 {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if below {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	others := "Commands"
	if len(cmd.Groups()) > 0 {
		others = "Others"
	}
	for _, g := range append(slices.Clone(cmd.Groups()), &cobra.Group{Title: others}) {
		heading := "\n" + g.Title + ":\n"
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				fmt.Fprintf(&b, "%s  %-10s  %s\n", heading, c.Name(), c.Short)
				heading = ""
			}
		}
	}
	for _, heading := range headings {
		fmt.Fprintf(&b, "\n%s:\n%s", heading, sections[heading].FlagUsagesWrapped(helpWidth))
	}
	last := "More flags: " + cmd.Root().Name() + " --help. "
	if !cmd.HasParent() {
		last = "Help on a command: " + cmd.Root().Name() + " COMMAND --help. "
	}
	fmt.Fprintf(&b, "\n%sFrom the environment: %s is --log-level.\n", last, EnvVar("log-level"))
	_, _ = io.WriteString(w, asInstalled(cmd.Root(), b.String()))
}

// customizeHelp has all help printed by writeHelp, with commands and flags in the order in which they were added.
func customizeHelp(root *cobra.Command) {
	cobra.EnableCommandSorting = false
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(cmd.OutOrStdout(), cmd) })
}

// commandLines matches what a person types to start one of the programs: its name before a command or a flag.
var commandLines = regexp.MustCompile(`(^|[^-\w])(coordinator|worker)( (?:count|estimate|solve|runs|watch|resume|stop|cancel|prune|verify|ledger|backup|` +
	`restore|keys|reset|health|run|bench|kernels|task|key)\b| --)`)

// asInstalled returns a text with the names of the programs as they are installed: nqueens-coordinator
// and nqueens-worker, if this one is called so.
func asInstalled(root *cobra.Command, text string) string {
	prefix, _ := strings.CutSuffix(root.Name(), "coordinator")
	if prefix == root.Name() {
		prefix, _ = strings.CutSuffix(root.Name(), "worker")
	}
	if prefix == root.Name() || prefix == "" {
		return text
	}
	return commandLines.ReplaceAllString(text, "${1}"+prefix+"$2$3")
}

// loadScript says how shells load scripts of completions.
var loadScript = map[string]string{
	"bash":       "in a file of /etc/bash_completion.d,\nwith the package bash-completion.",
	"zsh":        "in a file of ${fpath[1]}, with its\nname after an underscore, and autoload -U compinit; compinit in ~/.zshrc.",
	"fish":       "in a file of\n~/.config/fish/completions that ends in .fish.",
	"powershell": "in your profile.",
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
			c.Short = "Print a script that completes commands in a shell"
			c.Long = c.Short + `. The help of each shell says how to load it.`
			c.Example = "  source <(" + root.Name() + " completion bash)"
			c.Args, c.RunE = NoArguments, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range c.Commands() {
				shell.Short = "Print the script for " + shell.Name()
				shell.Long = shell.Short + ". Load it whenever the shell starts: " + loadScript[shell.Name()]
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
