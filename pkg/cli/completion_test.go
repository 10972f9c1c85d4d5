package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// newCompletions returns a program whose command open takes files and folders.
func newCompletions(t *testing.T) *program {
	p := newFlags(t)
	open := &cobra.Command{Use: "open FILE", ValidArgsFunction: CompleteFiles, RunE: func(*cobra.Command, []string) error { return nil }}
	open.Flags().String("data", "", "")
	open.Flags().String("report", "", "")
	if err := errors.Join(cobra.MarkFlagDirname(open.Flags(), "data"), cobra.MarkFlagFilename(open.Flags(), "report")); err != nil {
		t.Fatal(err)
	}
	shut := &cobra.Command{Use: "close NAME", RunE: func(*cobra.Command, []string) error { return nil }}
	shut.Flags().String("place", "here", "")
	shut.ValidArgsFunction = func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return []cobra.Completion{cmd.Flag("place").Value.String()}, cobra.ShellCompDirectiveNoFileComp
	}
	p.root.AddCommand(open, shut)
	return p
}

// complete requests completions as the shells' scripts do.
func complete(p *program, args ...string) (words []string, directive cobra.ShellCompDirective) {
	p.run(append([]string{cobra.ShellCompNoDescRequestCmd}, args...)...)
	words = strings.Split(strings.TrimSuffix(p.stdout.String(), "\n"), "\n")
	last := words[len(words)-1]
	for _, digit := range strings.TrimPrefix(last, ":") {
		directive = directive*10 + cobra.ShellCompDirective(digit-'0')
	}
	return words[:len(words)-1], directive
}

// Enums are completed with their words; files and folders only where they are expected.
func TestCompletions(t *testing.T) {
	const none, files, folders = cobra.ShellCompDirectiveNoFileComp, cobra.ShellCompDirectiveDefault, cobra.ShellCompDirectiveFilterDirs
	for _, c := range []struct {
		args      []string
		want      []string
		directive cobra.ShellCompDirective
	}{
		{[]string{""}, []string{"count", "version", "try", "open", "close", "completion", "help"}, none},
		{[]string{"co"}, []string{"count", "completion"}, none},
		{[]string{"try", "--symmetry", ""}, []string{"full", "mirror"}, none},
		{[]string{"try", "--symmetry", "m"}, []string{"mirror"}, none},
		{[]string{"try", "--symmetry=m"}, []string{"mirror"}, none},
		{[]string{"try", "--log-level", ""}, []string{"debug", "info", "warn", "error"}, none},
		{[]string{"--log-format", "a"}, []string{"auto"}, none},
		{[]string{"try", "--sy"}, []string{"--symmetry"}, none},
		{[]string{"try", "--depth", ""}, nil, none},
		{[]string{"try", "--data", ""}, nil, none},
		{[]string{"try", ""}, nil, none},
		{[]string{"count", ""}, nil, none},
		{[]string{"open", ""}, nil, files},
		{[]string{"open", "--data", ""}, nil, folders},
		{[]string{"open", "--report", ""}, nil, files},
		{[]string{"help", "co"}, []string{"count", "completion"}, none},
		{[]string{"help", "count", ""}, nil, none},
		{[]string{"completion", ""}, []string{"bash", "zsh", "fish", "powershell"}, none},
		{[]string{"completion", "bash", ""}, nil, none},
		{[]string{"completion", "z"}, []string{"zsh"}, none},
		{[]string{"close", ""}, []string{"here"}, none},
	} {
		words, directive := complete(newCompletions(t), c.args...)
		if !slices.Equal(words, c.want) || directive != c.directive {
			t.Errorf("%q: %q with directive %d, want %q with %d", c.args, words, directive, c.want, c.directive)
		}
	}
}

// Completions use the flags that the environment sets. A wrong variable does not disable
// completions that do not use flags.
func TestCompletionsKnowTheEnvironment(t *testing.T) {
	p := newCompletions(t)
	t.Setenv("NQUEENS_PLACE", "there")
	t.Setenv("NQUEENS_LOG_LEVEL", "info")
	if words, _ := complete(p, "close", ""); !slices.Equal(words, []string{"there"}) {
		t.Errorf("completed with %q", words)
	}
	p = newCompletions(t)
	t.Setenv("NQUEENS_LOG_LEVEL", "loud")
	if words, _ := complete(p, "try", "--symmetry", ""); len(words) != 2 {
		t.Errorf("completed with %q", words)
	}
	p = newCompletions(t)
	t.Setenv("NQUEENS_LOG_LEVEL", "loud")
	if words, directive := complete(p, "close", ""); len(words) != 0 || directive != cobra.ShellCompDirectiveError {
		t.Errorf("completed with %q and directive %d", words, directive)
	}
}

// There is a script for each shell, which names the program. Unknown shells are rejected.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		p := newProgram(t, nothing).run("completion", shell)
		if script := p.stdout.String(); p.code != 0 || len(script) < 1000 || !strings.Contains(script, "tool") || p.stderr.Len() > 0 {
			t.Errorf("%s: exit %d, a script of %d bytes, stderr %q", shell, p.code, len(script), &p.stderr)
		}
	}
	newProgram(t, nothing).run("completion", "bash", "zsh").wantUsage(t, `unknown command or argument "zsh"`)
	newProgram(t, nothing).run("completion", "bsh").wantUsage(t, `unknown command or argument "bsh": did you mean bash?`)
}

// Help and completions use the name under which a program is installed, if it ends in its own name.
func TestInstalledName(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/local/bin/nqueens-coordinator": "nqueens-coordinator", `nqueens-coordinator.exe`: "nqueens-coordinator",
		"bin/coordinator": "coordinator", "/tmp/cli.test": "coordinator", "supercoordinator": "coordinator", "": "coordinator",
	} {
		if got := installedName("coordinator", path); got != want {
			t.Errorf("called as %q: %q, want %q", path, got, want)
		}
	}
}
