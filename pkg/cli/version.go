package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Set by the linker, where the build has no repository to read them from:
//
//	-ldflags "-X nqueens/pkg/cli.version=v1.2.3 -X nqueens/pkg/cli.commit=ab12cd3 -X nqueens/pkg/cli.date=2026-11-20T15:30:12Z"
var version, commit, date string

// Build says what a program is, and with which others it works. It is what version --json prints.
type Build struct {
	Program string `json:"program"`          // "coordinator" or "worker"
	Version string `json:"version"`          // "devel" if it was built without one
	Commit  string `json:"commit,omitempty"` // at least its first letters; absent if unknown
	Date    string `json:"date,omitempty"`   // time of the commit or the build, in RFC 3339; absent if unknown
	Go      string `json:"go"`               // version of Go that built it
	OS      string `json:"os"`               // as Go names it, such as "linux"
	Arch    string `json:"arch"`             // as Go names it, such as "amd64"
	Formats
}

// Formats are the versions of what a program reads and writes.
type Formats struct {
	Protocol int `json:"protocol"` // version of the messages: a coordinator and its workers must have the same
	// version of the ledgers that the coordinator reads; absent of a worker
	Ledger int `json:"ledger,omitempty"`
}

// Version returns the version of this program: as the linker set it, or else that of its
// module or revision, or else "devel".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "(devel)" {
		return cmp.Or(version, "devel")
	}
	return cmp.Or(version, info.Main.Version, "devel")
}

// newBuild returns what is known of this program.
func newBuild(program string, formats Formats) Build {
	b := Build{
		Program: program, Version: Version(), Commit: commit, Date: date,
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Formats: formats,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = cmp.Or(b.Commit, s.Value[:min(len(s.Value), 12)])
			case "vcs.time":
				b.Date = cmp.Or(b.Date, s.Value)
			}
		}
	}
	return b
}

// String returns two lines: the version with commit and date as far as they are known, and the rest.
//
//	coordinator version v1.2.3 (ab12cd3, 2026-11-20T15:30:12Z)
//	go1.26.0 linux/amd64, protocol 3, ledger format 2
func (b Build) String() string {
	text := b.Program + " version " + b.Version
	known := slices.DeleteFunc([]string{b.Commit, b.Date}, func(s string) bool { return s == "" })
	if len(known) > 0 {
		text += " (" + strings.Join(known, ", ") + ")"
	}
	text += fmt.Sprintf("\n%s %s/%s, protocol %d", b.Go, b.OS, b.Arch, b.Protocol)
	if b.Ledger > 0 {
		text += fmt.Sprintf(", ledger format %d", b.Ledger)
	}
	return text
}

// write prints the build: as text, or as a JSON object.
func (b Build) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(b)
	}
	_, err := fmt.Fprintln(w, b)
	return err
}

// VersionCommand returns the command that says what the program is, as its --version does.
func VersionCommand(app *App, formats Formats) *cobra.Command {
	var asJSON bool
	build := newBuild(app.root.Name(), formats)
	app.root.Version = build.Version
	app.root.SetVersionTemplate(build.String() + "\n")
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: `Print the version of this program and how it was built. A coordinator and its workers need the same
protocol.`,
		Example: "  " + app.root.Name() + " version\n  " + app.root.Name() + " version --json",
		Args:    NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return build.write(cmd.OutOrStdout(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
