package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
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
		_ = group.SetAnnotation(f.Name, headingOf, []string{heading}) // fails only for unknown flags
	})
	flags.SortFlags = false
	flags.AddFlagSet(group)
}

// Common is the heading of flags that several commands share. Below a program, help only names them: its help has them.
const Common = "Server and runs"

// helpWidth is the width of help in columns.
const helpWidth = 110

// writeHelp prints the help of a command: what it does, how to call it, examples, the commands below it and its flags. The
// flags of all commands are in the help of the program only.
func writeHelp(w io.Writer, cmd *cobra.Command) {
	var headings, common []string
	sections := make(map[string]*pflag.FlagSet)
	flags := cmd.LocalFlags()
	if cmd.HasParent() {
		flags = cmd.NonInheritedFlags()
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		heading := "Flags"
		if named := f.Annotations[headingOf]; named != nil {
			heading = named[0]
		}
		if heading == Common && cmd.HasParent() {
			common = append(common, "--"+f.Name)
			return
		}
		if sections[heading] == nil {
			headings, sections[heading] = append(headings, heading), pflag.NewFlagSet(heading, pflag.ContinueOnError)
			sections[heading].SortFlags = false
		}
		sections[heading].AddFlag(f)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", cmp.Or(cmd.Long, cmd.Short), cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, g := range append(slices.Clone(cmd.Groups()), &cobra.Group{Title: "Others"}) {
		heading := "\n" + g.Title + ":\n"
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && c.IsAvailableCommand() {
				fmt.Fprintf(&b, "%s  %-10s  %s\n", heading, c.Name(), c.Short)
				heading = ""
			}
		}
	}
	for _, heading := range headings {
		fmt.Fprintf(&b, "\n%s:\n%s", heading, sections[heading].FlagUsagesWrapped(helpWidth))
	}
	last := "Flags are also set by variables: " + EnvVar("log-level") + " is --log-level."
	if cmd.HasParent() {
		last = strings.Join(append(common, "and those of all commands"), ", ") + ": see " + cmd.Root().Name() + " --help."
	}
	fmt.Fprintf(&b, "\n%s\n", last)
	_, _ = io.WriteString(w, b.String())
}

// customizeHelp has all help printed by writeHelp, with commands and flags in the order in which they were added.
func customizeHelp(root *cobra.Command) {
	cobra.EnableCommandSorting = false
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(cmd.OutOrStdout(), cmd) })
}

// Set by the linker, where the build has no repository to read them from:
//
//	-ldflags "-X nqueens/pkg/cli.version=v1.2.3 -X nqueens/pkg/cli.commit=ab12cd3"
var version, commit string

// Version returns the version of this program: as the linker set it, or else that of its module, or else "devel".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "(devel)" {
		return cmp.Or(version, "devel")
	}
	return cmp.Or(version, info.Main.Version, "devel")
}

// VersionCommand returns the command that says what the program is, as its --version does: its version, and the formats that
// it reads and writes.
func VersionCommand(app *App, formats string) *cobra.Command {
	revision := commit
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = cmp.Or(revision, s.Value[:min(len(s.Value), 12)])
			}
		}
	}
	text := fmt.Sprintf("%s version %s\n%s %s/%s, %s\n", app.root.Name(), strings.TrimSpace(Version()+" "+revision), runtime.Version(), runtime.GOOS, runtime.GOARCH, formats)
	app.root.Version = Version()
	app.root.SetVersionTemplate(text)
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
}
