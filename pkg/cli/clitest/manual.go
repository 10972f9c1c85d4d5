package clitest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
)

// Manual writes the manual pages of a program, one for each command, and checks them. It names the
// programs as they are installed. The pages go to the folder NQUEENS_MANUAL, as in scripts/release,
// or else to a temporary one. Only tests make them, so the programs do not link the generator.
func Manual(t *testing.T, root *cobra.Command) {
	t.Helper()
	folder := os.Getenv("NQUEENS_MANUAL")
	if folder == "" {
		folder = t.TempDir()
	}
	cli.Rename(root, func(program string) string { return "nqueens-" + program })
	root.DisableAutoGenTag = true
	forManual(root)
	header := doc.GenManHeader{Section: "1", Source: "nqueens " + cli.Version(), Manual: "nqueens"}
	if err := doc.GenManTree(root, &header, folder); err != nil {
		t.Fatal(err)
	}
	finish(t, folder, root)
}

// forManual lets the generator show the flags of a command, and of those below it, as help shows
// them: with the name of a value, and with the default value at the end.
func forManual(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	show := func(f *pflag.Flag) {
		switch f.DefValue {
		case "", "0", "false", "[]":
		default:
			f.Usage += " (default " + f.DefValue + ")"
		}
		f.DefValue, f.Usage = pflag.UnquoteUsage(f)
		f.NoOptDefVal = ""
		f.Hidden = f.Hidden || f.Name == "help" || f.Name == "version"
	}
	cmd.NonInheritedFlags().VisitAll(show)
	for _, c := range cmd.Commands() {
		forManual(c)
	}
}

// readable replaces what the generator writes for a flag by a tag and its text: see TP in man(7).
// It removes the quotes of a value, and the equals sign of a switch, which has no value.
var readable = strings.NewReplacer(
	".PP\n\\fB-", ".TP\n\\fB-",
	"OPTIONS\n\\fB-", "OPTIONS\n.TP\n\\fB-",
	"COMMANDS\n\\fB-", "COMMANDS\n.TP\n\\fB-",
	"=\"", "=", "\"\n\t", "\n", "=\n\t", "\n", "\n\t", "\n",
)

// finish completes the page of a command and the pages of the commands below it, and checks them.
func finish(t *testing.T, folder string, cmd *cobra.Command) {
	t.Helper()
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			finish(t, folder, c)
		}
	}
	path := filepath.Join(folder, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := readable.Replace(string(page)) + exitStatus(cmd) + environment
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !strings.Contains(text, "--"+f.Name) {
			t.Errorf("%s has no --%s", path, f.Name)
		}
	})
	if command := inRepository.FindString(text); command != "" {
		t.Errorf("%s names a program that is not installed: %q", path, command)
	}
}

// inRepository finds a command line of a program with its name in the repository.
var inRepository = regexp.MustCompile(`(?m)(^ *|\| )(coordinator|worker) .*`)

// exitStatus returns the section of a page that has the exit codes of a command.
func exitStatus(cmd *cobra.Command) string {
	codes := cli.ExitCodesOf(cmd)
	if codes == "" {
		return ""
	}
	return ".SH EXIT STATUS\n.EX\n" + codes + "\n.EE\n"
}

// environment is the section that ends each page.
const environment = `.SH ENVIRONMENT
A variable sets each flag that the command line lacks: NQUEENS_LOG_LEVEL sets --log-level.
`
