//go:build unix

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/cli/clitest"
)

// completions asks a program for completions of a command line, as the shell scripts do, and
// returns them and the directive that ends them.
func completions(t *testing.T, words ...string) (found []string, directive string) {
	t.Helper()
	got := here(t, append([]string{words[0], "__complete"}, words[1:]...)...)
	if got.Code != 0 {
		t.Fatalf("%q: exit %d\n%s", words, got.Code, got.Stderr)
	}
	found = strings.Split(strings.TrimSuffix(got.Stdout, "\n"), "\n")
	return found[:len(found)-1], found[len(found)-1]
}

// Small runs, one complete and one interrupted.
const smallComplete, smallInterrupted = "n6-20261120-153012-ab12", "n7-20261120-170938-7274"

// Runs complete to their names and states, newest first; enumerated values to those values;
// folders to folders, and files to files.
func TestArgumentsAndValuesComplete(t *testing.T) {
	data := filepath.Join(t.TempDir(), "runs")
	t.Setenv("NQUEENS_DATA", data)
	createRun(t, data, smallComplete, 6)
	createRun(t, data, smallInterrupted, 7)
	if got := clitest.Run(t, nil, "coordinator", "resume", smallComplete, "--data", data); got.Code != 0 {
		t.Fatalf("resume: exit %d\n%s", got.Code, got.Stderr)
	}
	runs := []string{smallInterrupted + "\tinterrupted", smallComplete + "\tcomplete"}
	const files, none, folders, runsInOrder = ":0", ":4", ":16", ":36"
	for _, c := range []struct {
		words     string // the last is to be completed, and may be empty
		want      []string
		directive string
	}{
		{"coordinator verify ", runs, runsInOrder},
		{"coordinator resume ", runs, runsInOrder},
		{"coordinator cancel n7", runs[:1], runsInOrder},
		{"coordinator stop n7", runs[:1], runsInOrder},
		{"coordinator ledger n6", runs[1:], runsInOrder},
		{"coordinator backup n6", runs[1:], runsInOrder},
		{"coordinator backup " + smallComplete + " ", nil, files},
		{"coordinator backup " + smallComplete + " n6.backup ", nil, runsInOrder},
		{"coordinator restore ", nil, files},
		{"coordinator ledger n99", nil, runsInOrder},
		{"coordinator verify " + smallComplete + " ", nil, runsInOrder},
		{"coordinator verify --data " + data + "/none ", nil, runsInOrder},
		{"coordinator count --symmetry ", []string{"full", "mirror", "none"}, none},
		{"coordinator count --kernel gen", []string{"generic"}, none},
		{"coordinator verify --kernel a", nil, none}, // those of this machine: see below
		{"coordinator count --priority ", []string{"low", "normal", "high"}, none},
		{"coordinator resume --priority h", []string{"high"}, none},
		{"coordinator prune " + smallComplete + " ", runs, runsInOrder},
		{"coordinator keys add ", []string{"worker", "watcher", "coordinator"}, none},
		{"coordinator runs --log-level w", []string{"warn"}, none},
		{"coordinator runs --log-format ", []string{"auto", "json"}, none},
		{"coordinator count --listen ", nil, none},
		{"coordinator count --data ", nil, folders},
		{"coordinator count ", nil, none},
		{"coordinator runs ", runs, runsInOrder},
		{"coordinator completion z", []string{"zsh\tPrint the script for zsh"}, none},
		{"worker task ", nil, files},
		{"worker task --threads ", nil, none},
		{"worker bench --symmetry m", []string{"mirror"}, none},
		{"worker run --kernel g", []string{"generic"}, none},
		{"worker --kernel g", []string{"generic"}, none},
	} {
		if c.words == "coordinator verify --kernel a" {
			c.want = []string{"auto"}
			for name := range strings.Lines(clitest.Run(t, nil, "worker", "kernels").Stdout) {
				if strings.HasPrefix(name, "a") {
					c.want = append(c.want, strings.TrimSpace(name))
				}
			}
		}
		found, directive := completions(t, strings.Split(c.words, " ")...)
		if !slices.Equal(found, c.want) || directive != c.directive {
			t.Errorf("%q is completed with %q and %s, want %q and %s", c.words, found, directive, c.want, c.directive)
		}
	}
}

// The description of a flag has no quotes around the name of its value.
func TestFlagDescriptionsHaveNoQuotes(t *testing.T) {
	got := clitest.Run(t, nil, "coordinator", "__complete", "solve", "4", "--limit")
	if !strings.HasPrefix(got.Stdout, "--limit\tprint at most N boards") {
		t.Errorf("--limit is completed with %q", got.Stdout)
	}
}

// With the script that the program prints, bash completes commands, flags, values and runs.
func TestBashCompletes(t *testing.T) {
	long(t)
	data := filepath.Join(t.TempDir(), "runs")
	createRun(t, data, smallComplete, 6)
	for _, c := range []struct {
		line string
		want []string
	}{
		{"coordinator verify n", []string{smallComplete}},
		{"coordinator count 8 --log-level d", []string{"debug"}},
		{"worker run --kernel gene", []string{"generic"}},
	} {
		// The helper of bash-completion, as far as the script uses it, and then what bash does at
		// a tab.
		const script = `set +e
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; prev=${words[cword-1]}; }
source <("$program" completion bash)
COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=9 COMP_KEY=9
read -ra COMP_WORDS <<<"$line"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
"$(complete -p "$program" | sed 's/.*-F \([^ ]*\) .*/\1/')"
printf '%s\n' "${COMPREPLY[@]}"`
		program, _, _ := strings.Cut(c.line, " ")
		got := clitest.RunShell(t, t.TempDir(), []string{"NQUEENS_DATA=" + data, "program=" + program, "line=" + c.line}, script)
		if found := strings.Fields(got.Stdout); got.Code != 0 || !slices.Equal(found, c.want) {
			t.Errorf("%s is completed with %q, want %q; exit %d, stderr\n%s", c.line, found, c.want, got.Code, got.Stderr)
		}
	}
}

// Each shell that is installed parses its completion script; the others are printed at least.
func TestShellsParseTheCompletionScripts(t *testing.T) {
	long(t)
	for _, program := range []string{"coordinator", "worker"} {
		for _, shellName := range []string{"bash", "zsh", "fish", "powershell"} {
			script := clitest.Run(t, nil, program, "completion", shellName)
			if script.Code != 0 || !strings.Contains(script.Stdout, "__complete") || !strings.Contains(script.Stdout, program) {
				t.Errorf("%s completion %s: exit %d, %d bytes", program, shellName, script.Code, len(script.Stdout))
			}
			path, err := exec.LookPath(shellName)
			if shellName == "powershell" || err != nil && shellName != "bash" {
				t.Logf("%s is not installed, or can't parse a script without running it", shellName)
				continue
			}
			file := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(file, []byte(script.Stdout), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.CommandContext(t.Context(), path, "-n", file).CombinedOutput(); err != nil {
				t.Errorf("%s -n on the script of %s: %v\n%s", shellName, program, err, out)
			}
		}
	}
}
