//go:build unix

package main_test

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	main "nqueens/coordinator"
	"nqueens/pkg/cli/clitest"
	"nqueens/pkg/testkit"
)

// commandHelp is the parsed help of a command.
type commandHelp struct {
	words    []string // coordinator ledger
	short    string   // as its parent lists it, such as List the runs
	long     string
	use      string // coordinator ledger RUN [flags]
	examples []string
	below    []string // names of its subcommands
	about    []string // what this help says of each
	flags    []flagHelp
	last     string // line
	size     int    // of all of it, in words
}

// flagHelp is a flag in the help of a command.
type flagHelp struct {
	letter, name, value, usage string // q, quiet without dashes; URL, or nothing; on one line
	common                     bool   // of all commands
}

// variable returns the environment variable that sets a flag.
func variable(flag string) string {
	return "NQUEENS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// everyCommand returns all commands of both programs, as their own help lists them.
func everyCommand(t *testing.T) []commandHelp {
	t.Helper()
	readAllHelp.Do(func() {
		for todo := []commandHelp{{words: []string{"coordinator"}}, {words: []string{"worker"}}}; len(todo) > 0; todo = todo[1:] {
			h := readHelp(t, todo[0].words)
			h.short = todo[0].short
			allHelp = append(allHelp, h)
			for i, name := range h.below {
				todo = append(todo, commandHelp{words: slices.Concat(h.words, []string{name}), short: h.about[i]})
			}
		}
	})
	if len(allHelp) < 15 {
		t.Fatalf("found %d commands: the help is not read right", len(allHelp))
	}
	return allHelp
}

var (
	readAllHelp sync.Once
	allHelp     []commandHelp
)

var (
	heading     = regexp.MustCompile(`^[A-Z][A-Za-z ]*:$`)
	commandLine = regexp.MustCompile(`^  (\S+)  +(\S.*)$`)
	flagLine    = regexp.MustCompile(`^ +(?:-(\w), )?--([a-z-]+)(?: (\S+))?  +(\S.*)$`)
)

// readHelp parses what COMMAND --help prints: a text, and sections with a heading each.
func readHelp(t *testing.T, words []string) commandHelp {
	t.Helper()
	text := here(t, slices.Concat(words, []string{"--help"})...).Stdout
	h := commandHelp{words: words, size: len(strings.Fields(text))}
	section := "Long:"
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" {
			h.last = line
		}
		if heading.MatchString(line) {
			section = line
			continue
		}
		switch {
		case section == "Long:":
			h.long += line + "\n"
		case section == "Usage:" && h.use == "":
			h.use = strings.TrimSpace(line)
		case section == "Examples:" && strings.HasPrefix(line, "  "):
			h.examples = append(h.examples, strings.TrimSpace(line))
		case flagLine.MatchString(line):
			m := flagLine.FindStringSubmatch(line)
			h.flags = append(h.flags, flagHelp{m[1], m[2], m[3], m[4], section == "Flags of all commands:"})
		case strings.HasPrefix(line, "          "): // wrapped
			h.flags[len(h.flags)-1].usage += " " + strings.TrimSpace(line)
		case commandLine.MatchString(line):
			m := commandLine.FindStringSubmatch(line)
			h.below, h.about = append(h.below, m[1]), append(h.about, m[2])
		}
	}
	return h
}

// here runs a command to its end: the coordinator in this process, in the environment of the test.
func here(t *testing.T, words ...string) clitest.Result {
	t.Helper()
	if words[0] != "coordinator" {
		return clitest.Run(t, nil, words...)
	}
	var stdout, stderr strings.Builder
	code := main.Here(words[1:], &stdout, &stderr)
	return clitest.Result{Stdout: stdout.String(), Stderr: stderr.String(), Code: code}
}

func (h *commandHelp) name() string { return strings.Join(h.words, " ") }

// The help of every command has a text of several lines, a usage line, at least one example,
// and says that the environment sets flags too. All help together is read in half an hour.
func TestEveryCommandHasHelp(t *testing.T) {
	words := 0
	for _, h := range everyCommand(t) {
		if len(strings.Fields(h.long)) < 12 || strings.Count(h.long, "\n") > 25 {
			t.Errorf("%s: its help begins with %q, which explains too little or too much", h.name(), h.long)
		}
		if !strings.HasPrefix(h.use, h.name()) || len(h.examples) == 0 {
			t.Errorf("%s: usage %q, %d examples", h.name(), h.use, len(h.examples))
		}
		words += h.size
		if !strings.HasSuffix(h.last, "From the environment: NQUEENS_LOG_LEVEL is --log-level.") {
			t.Errorf("%s: its help ends with %q", h.name(), h.last)
		}
	}
	t.Logf("all help has %d words", words)
	if words > 6000 {
		t.Errorf("all help has %d words, want at most 6,000", words)
	}
}

// Every flag of every command is set by its environment variable. A value that no flag takes is
// exit 2, and the error names the flag and the variable.
func TestEnvironmentSetsEveryFlag(t *testing.T) {
	commands := everyCommand(t)
	clitest.AtHome(t)
	if keys := here(t, "coordinator", "keys", "init"); keys.Code != 0 {
		t.Fatalf("keys init: exit %d, stderr %q", keys.Code, keys.Stderr)
	}
	const wrong = "/dev/null/no such thing"
	arguments := strings.NewReplacer(" [flags]", "", " [command]", "", " [N]", "", " N", " 4", " [RUN...]", " n4-none", " RUN", " n4-none", " SHELL", " bash", " [RUN]", "", " [FILE]", "", " FILE", " file", " [COMMAND]", "", " ROLE NAME", " worker lab", " DIR", " keys", " results|records|tasks", " results")
	expect := func(got clitest.Result, command []string, flag string) {
		t.Helper()
		if got.Code != 2 || !strings.Contains(got.Stderr, "--"+flag) || !strings.Contains(got.Stderr, "(set by "+variable(flag)+")") || got.Stdout != "" {
			t.Errorf("%s=%q %q: exit %d, stdout %q, stderr %q, want exit 2 and a line with --%s and %[1]s",
				variable(flag), wrong, command, got.Code, got.Stdout, got.Stderr, flag)
		}
	}
	var processes []func()
	for _, h := range commands {
		if h.words[len(h.words)-1] == "help" {
			continue // it ignores settings
		}
		command := strings.Fields(arguments.Replace(h.use))
		for _, flag := range h.flags {
			// The first two are no settings. The third is a folder of another machine, of any name; keys init makes the
			// folder of keys; and a public key that is none is quoted without its flag.
			if slices.Contains([]string{"help", "version", "server-dir", "public-key"}, flag.name) || h.name() == "coordinator keys init" && flag.name == "keys" {
				continue
			}
			if command[0] == "worker" {
				processes = append(processes, func() {
					expect(clitest.Run(t, []string{variable(flag.name) + "=" + wrong}, command...), command, flag.name)
				})
				continue
			}
			t.Run(h.name()+" "+flag.name, func(t *testing.T) {
				t.Setenv(variable(flag.name), wrong)
				expect(here(t, command...), command, flag.name)
			})
		}
	}
	for _, run := range testkit.Sample(t, 6, processes) {
		run()
	}
}

// Both programs say their version and that of the messages, and the coordinator that of ledgers.
func TestBothProgramsPrintTheirVersion(t *testing.T) {
	for program, formats := range map[string]string{"coordinator": `protocol \d+, ledger format \d+`, "worker": `protocol \d+`} {
		want := regexp.MustCompile(`^` + program + ` version \S+( \(.*\))?\ngo\S+ \w+/\w+, ` + formats + `\n$`)
		for _, word := range []string{"--version", "version"} {
			if got := clitest.Run(t, nil, program, word); !want.MatchString(got.Stdout) {
				t.Errorf("%s %s prints %q", program, word, got.Stdout)
			}
		}
	}
}

// No program warns of a variable that sets a flag of the other one.
func TestNoVariableOfAFlagIsMisspelt(t *testing.T) {
	common := map[string]bool{}
	for _, f := range readHelp(t, []string{"worker"}).flags {
		if f.common {
			common[f.name] = true
		}
	}
	var settings []string
	for _, h := range everyCommand(t) {
		for _, f := range h.flags {
			if !common[f.name] && f.name != "json" { // which version has too
				settings = append(settings, variable(f.name)+"=x")
			}
		}
	}
	for _, program := range []string{"coordinator", "worker"} {
		if got := clitest.Run(t, settings, program, "version"); got.Code != 0 || got.Stderr != "" {
			t.Errorf("%s: exit %d, stderr %q", program, got.Code, got.Stderr)
		}
	}
}

// The help names each flag's value by what it is, as URL, FILE or N, or by its words, and not by its
// type in Go.
func TestPlaceholdersOfFlags(t *testing.T) {
	placeholders := []string{"", "ADDR", "DIR", "DURATION", "FILE", "HOURS", "KERNEL", "KEY", "N", "NAMES", "PERCENTAGE", "ROWS", "SHARE", "SQUARE", "URL"}
	for _, h := range everyCommand(t) {
		for _, f := range h.flags {
			if !slices.Contains(placeholders, f.value) && !strings.Contains(f.value, "|") {
				t.Errorf("%s: --%s %s, want one of %v, or words", h.name(), f.name, f.value, placeholders)
			}
			if f.value != "" && !strings.Contains(f.value, "|") && !regexp.MustCompile(`\b`+f.value+`\b`).MatchString(f.usage) {
				t.Errorf("%s: --%s %s: %q does not say what the value is", h.name(), f.name, f.value, f.usage)
			}
		}
	}
}
