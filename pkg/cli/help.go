package cli

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Add adds commands to the program. Help lists them in this order below the title.
func (a *App) Add(title string, commands ...*cobra.Command) {
	a.root.AddGroup(&cobra.Group{ID: title, Title: title})
	a.root.SetCompletionCommandGroupID(title) // the last group has the command completion
	for _, c := range commands {
		c.GroupID = title
	}
	a.root.AddCommand(commands...)
}

// headingOf is the key of the annotation with a flag's heading in help.
const headingOf = "nqueens_heading"

// Heading makes help show a heading above the named flag. The heading is for that flag and for
// those registered after it.
func Heading(flags *pflag.FlagSet, heading, first string) {
	flags.SortFlags = false
	_ = flags.SetAnnotation(first, headingOf, []string{heading}) // fails only for unknown flags
}

// help is the template of every help text. Only the help of the program itself has the flags that
// all commands share.
const help = `{{or .Long .Short}}

Usage:
  {{.UseLine}}
{{with .Example}}
Examples:
{{.}}
{{end}}{{range $group := .Groups}}
{{.Title}}:
{{range $.Commands}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand -}}
{{"  "}}{{rpad .Name 10}}  {{.Short}}
{{end}}{{end}}{{end}}{{flagsOf .}}
{{if .HasParent -}}
Flags of all commands: see {{.Root.Name}} --help.
{{- else -}}
Variables set flags too: NQUEENS_LOG_LEVEL sets --log-level.
{{- end}}{{with exitCodesOf .}}

Exit codes:
{{.}}
{{- end}}
`

// helpWidth is the width of help in columns.
const helpWidth = 110

// flagsOf returns the lines of help about the flags of a command.
func flagsOf(cmd *cobra.Command) string {
	flags := cmd.LocalFlags()
	for _, name := range []string{"help", "version"} {
		if f := flags.Lookup(name); f != nil {
			f.Hidden = true
		}
	}
	text := flags.FlagUsagesWrapped(helpWidth)
	flags.VisitAll(func(f *pflag.Flag) {
		if heading := f.Annotations[headingOf]; heading != nil {
			line := "      --" + f.Name + " "
			text = strings.Replace(text, line, "\n"+heading[0]+":\n"+line, 1)
		}
	})
	if text != "" && !strings.HasPrefix(text, "\n") {
		text = "\nFlags:\n" + text
	}
	return text
}

// The linker sets version and commit if the build has no repository that says them:
//
//	-ldflags "-X nqueens/pkg/cli.version=v1.2.3 -X nqueens/pkg/cli.commit=0123456789ab"
var version, commit string

// Version returns the version of this program: the one that the linker set, or else the version of
// its module, or else "devel".
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return cmp.Or(version, info.Main.Version, "devel")
	}
	return cmp.Or(version, "devel")
}

// Commit returns the first digits of the commit from which this program was built: the one that the
// linker set, or else the one that the go command found, or else "unknown".
func Commit() string {
	const digits = 12
	if commit != "" {
		return commit
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= digits {
				return s.Value[:digits]
			}
		}
	}
	return "unknown"
}

// VersionCommand adds the flag --version to the program, and returns the command version. Both
// print the version of the program, its commit, and the formats that it reads and writes.
func VersionCommand(app *App, formats string) *cobra.Command {
	system := runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	text := fmt.Sprintf(" version %s\ncommit %s, %s, %s\n", Version(), Commit(), system, formats)
	app.root.Version = Version()
	app.root.SetVersionTemplate("{{.Name}}" + text)
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), cmd.Root().Name()+text)
			return err
		},
	}
}
