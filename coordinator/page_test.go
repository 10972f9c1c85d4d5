//go:build unix

package main_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pageBlock is a block of a page that a test runs: sh, or console, with what its commands print.
type pageBlock struct {
	line           int
	language, text string
}

// pageBlocks returns the blocks of a page that are run.
func pageBlocks(t *testing.T, path string) (blocks []pageBlock) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)\n```(sh|console)\n(.*?)```\n").FindAllSubmatchIndex(text, -1) {
		line := strings.Count(string(text[:m[2]]), "\n") + 1
		blocks = append(blocks, pageBlock{line, string(text[m[2]:m[3]]), string(text[m[4]:m[5]])})
	}
	if len(blocks) < 3 {
		t.Fatalf("%s has %d blocks", filepath.Base(path), len(blocks))
	}
	return blocks
}

// changing matches what differs between runs or machines in the output of commands; a page may
// show any such text. All other text must be the same, except where the page has an ellipsis.
var changing = []struct {
	pattern *regexp.Regexp
	becomes string
}{
	{regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d INF \d+\.\d% \d+/\d+ tasks .*\n`), ""}, // progress, from time to time
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "TIME"},
	{regexp.MustCompile(`\b(n\d+)-\d{8}-\d{6}-[0-9a-f]{4}\b`), "$1-RUN"},
	{regexp.MustCompile(`\b(elapsed|core_time|eta|rate|seconds|kernel|workers|threads|worker|host)=("[^"]*"|\S+)`), "$1=ANY"},
	{regexp.MustCompile(`"(seconds|rate|workers|threads|kernel|worker|host)":("[^"]*"|[0-9.e+-]+)`), `"$1":ANY`},
}

// looksLike reports whether a command printed what a page shows. A line of ... matches any
// lines, and ... within a line matches any text.
func looksLike(printed, shown string) bool {
	for _, c := range changing {
		printed, shown = c.pattern.ReplaceAllString(printed, c.becomes), c.pattern.ReplaceAllString(shown, c.becomes)
	}
	pattern := "^"
	for line := range strings.Lines(shown) {
		if line = strings.TrimSuffix(line, "\n"); line == "..." {
			pattern += `(?:.*\n)*`
			continue
		}
		pattern += strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`) + `\n`
	}
	return regexp.MustCompile(pattern + "$").MatchString(printed)
}

// The output of a command matches a page if only names and times differ.
func TestOnlyNamesAndTimesMayDiffer(t *testing.T) {
	for _, c := range []struct {
		printed, shown string
		want           bool
	}{
		{"92\n", "92\n", true},
		{"92\n", "93\n", false},
		{"92\n", "", false},
		{"", "92\n", false},
		{"92\n92\n", "92\n", false},
		{"17:09:38 INF counting tasks=3 elapsed=1.2s\n", "01:02:03 INF counting tasks=3 elapsed=9s\n", true},
		{"17:09:38 INF counting tasks=3 elapsed=1.2s\n", "17:09:38 INF counting tasks=4 elapsed=1.2s\n", false},
		{"17:09:38 INF counting\n17:09:48 INF 3.1% 20/748 tasks  98 M/s\n92\n", "17:09:38 INF counting\n92\n", true},
		{"run=n8-20261120-170938-7274\n", "run=n8-20261121-010203-abcd\n", true},
		{"run=n8-20261120-170938-7274\n", "run=n9-20261121-010203-abcd\n", false},
		{`{"n":8,"seconds":0.25,"kernel":"avx2"}` + "\n", `{"n":8,"seconds":1e-05,"kernel":"generic"}` + "\n", true},
		{"one\ntwo\nthree\n", "one\n...\nthree\n", true},
		{"one\nthree\n", "one\n...\nthree\n", true},
		{"one\ntwo\nfour\n", "one\n...\nthree\n", false},
		{"a (b) [c]\n", "a ... [c]\n", true},
		{"a (b)\nc\n", "a ...c\n", false},
	} {
		if got := looksLike(c.printed, c.shown); got != c.want {
			t.Errorf("printed %q, shown %q: %v", c.printed, c.shown, got)
		}
	}
}

// shownCommand matches a command of a program in a block or in backticks, up to the end of the command.
var shownCommand = regexp.MustCompile("(?m)(?:^|[$;|] |&& |`|bin/|\\./|nqueens-)(coordinator|worker)((?: +[^|;&<>`\n#()]+)?)")

// Every command of the programs that a page shows, in a block or in backticks, exists and has the flags that follow:
// also those that no test runs, because they need Docker, other machines or minutes.
func TestShownCommandsExist(t *testing.T) {
	commands := make(map[string]map[string]bool) // the flags of each command
	for _, h := range everyCommand(t) {
		flags := make(map[string]bool)
		for _, f := range h.flags {
			flags[f.name] = true
		}
		commands[h.name()] = flags
	}
	for name, flags := range commands {
		program, _, _ := strings.Cut(name, " ")
		for _, common := range []string{"log-format", "log-level", "quiet", "no-progress", "help", "version"} {
			flags[common] = flags[common] || commands[program][common]
		}
		flags["help"], flags["version"] = true, name == program
	}
	maps.Copy(commands["worker"], commands["worker run"]) // its default
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) < 15 {
		t.Fatalf("found %d pages: %v", len(pages), err)
	}
	pages = append(pages, "../README.md", "../CONTRIBUTING.md", "../docs/dev/releases.md", "../docs/dev/opencl.md", "../docs/dev/benchmarks.md")
	shown := 0
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(content), "\\\n", " ")
		for _, part := range regexp.MustCompile("(?s)```(?:sh|bash|console)[^\n]*\n.*?```|`[^`\n]+`").FindAllString(text, -1) {
			for _, m := range shownCommand.FindAllStringSubmatch(part, -1) {
				name, rest := m[1], strings.Fields(m[2])
				for len(rest) > 0 && commands[name+" "+rest[0]] != nil {
					name, rest = name+" "+rest[0], rest[1:]
				}
				for _, word := range rest {
					flag, isFlag := strings.CutPrefix(word, "--")
					if flag, _, _ = strings.Cut(flag, "="); !isFlag {
						continue
					}
					shown++
					if !commands[name][flag] {
						t.Errorf("%s shows %q, and %s has no flag --%s", filepath.Base(page), strings.TrimSpace(m[0]), name, flag)
					}
				}
			}
		}
	}
	if shown < 100 {
		t.Errorf("found %d flags in pages", shown)
	}
}
