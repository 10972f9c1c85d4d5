package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pageBlock is a block of a page of the documentation: fenced, or indented by four spaces.
type pageBlock struct {
	line     int
	language string // what follows the fence; of an indented block "indented"
	text     string
	excuse   string // why no test runs its commands: the comment before it
}

// excuseComment matches comments before a block that say why its commands are not run with
// the page.
//
//	<!-- run by FILE -->        another test runs them: FILE, from the root, which names the page
//	<!-- by hand: REASON -->    no test runs them
var excuseComment = regexp.MustCompile(`^<!-- (run by \S+|by hand: \S.*) -->$`)

// checkedElsewhere are pages whose blocks of a language other tests read.
var checkedElsewhere = []blockKind{
	{"operations.md", "sh"},       // deploy/operations_test.go
	{"operations.md", "sh watch"}, // deploy/operations_test.go
	{"logs.md", "console"},        // log_page_test.go
}

type blockKind struct{ page, language string }

// pageBlocks returns the blocks of a page.
func pageBlocks(text string) (blocks []pageBlock) {
	var b *pageBlock
	excuse, before := "", ""
	end := func() {
		blocks, b = append(blocks, *b), nil
	}
	for i, line := range strings.Split(text, "\n") {
		indented := strings.HasPrefix(line, "    ")
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case b != nil && b.language == "indented" && (indented || line == ""):
			b.text += strings.TrimPrefix(line, "    ") + "\n"
			before = line
			continue
		case b != nil && b.language != "indented" && !fence:
			b.text += line + "\n"
			continue
		case b != nil:
			closed := b.language != "indented"
			end()
			if closed {
				excuse, before = "", ""
				continue
			}
		}
		switch {
		case fence:
			b = &pageBlock{line: i + 1, language: language, excuse: excuse}
		case indented && before == "":
			b = &pageBlock{line: i + 1, language: "indented", excuse: excuse, text: strings.TrimPrefix(line, "    ") + "\n"}
		case excuseComment.MatchString(line):
			excuse = excuseComment.FindStringSubmatch(line)[1]
		case line != "":
			excuse = ""
		}
		before = line
	}
	if b != nil {
		end()
	}
	return blocks
}

// command matches a line that a reader may type.
var command = regexp.MustCompile(`^(\$ )?([A-Z_]+=\S* )*(bin/|\./)?(coordinator|worker|docker|kubectl|nats-server|systemctl|go (run|build|test)|scripts/\S+|\.ci/run)(\s|$)`)

// isRun reports whether the commands of a block are run with the page.
func (b *pageBlock) isRun(page string) bool {
	return b.excuse == "" && (b.language == "sh" || b.language == "console") && !b.isChecked(page)
}

// isChecked reports whether another test reads the block.
func (b *pageBlock) isChecked(page string) bool {
	return slices.Contains(checkedElsewhere, blockKind{filepath.Base(page), b.language})
}

// check returns an error if no test runs the block, it has a command, and no comment says why.
func (b *pageBlock) check(page string) error {
	switch {
	case b.isChecked(page):
		return nil
	case b.language == "console" && b.excuse == "" && !strings.HasPrefix(b.text, "$ "):
		return fmt.Errorf("%s:%d: a block of console begins with a command after $", page, b.line)
	case b.isRun(page):
		return nil
	}
	if file, ok := strings.CutPrefix(b.excuse, "run by "); ok {
		test, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			return fmt.Errorf("%s:%d: %w", page, b.line, err)
		}
		if !strings.Contains(string(test), filepath.Base(page)) {
			return fmt.Errorf("%s:%d: %s does not name the page", page, b.line, file)
		}
	}
	for line := range strings.Lines(b.text) {
		found := command.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		if script := strings.Fields(found[4])[0]; strings.Contains(script, "/") {
			if _, err := os.Stat(filepath.Join("..", script)); err != nil {
				return fmt.Errorf("%s:%d: %w", page, b.line, err)
			}
		}
		if b.excuse == "" {
			return fmt.Errorf("%s:%d: nothing runs %q: make it a block of sh or console, or say before it why not, as in <!-- by hand: it takes hours -->",
				page, b.line, strings.TrimSpace(line))
		}
	}
	return nil
}

// changing matches what differs between runs or machines in the output of commands; a page may
// show any such text. All other text must be the same, except where the page has an ellipsis.
var changing = []struct {
	pattern *regexp.Regexp
	becomes string
}{
	{regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d INF progress .*\n`), ""}, // one every ten seconds
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

// page is a page of the documentation.
type page struct {
	path   string
	blocks []pageBlock
}

// readPages returns README.md and the pages of docs.
func readPages(t *testing.T) (pages []page) {
	t.Helper()
	paths, err := filepath.Glob("../docs/*.md")
	if err != nil || len(paths) < 5 {
		t.Fatalf("found %d pages (%v)", len(paths), err)
	}
	for _, path := range append(paths, "../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page{path: path, blocks: pageBlocks(string(text))})
	}
	return pages
}

// Blocks of a page are found with their languages and excuses, and a command that no test
// runs needs an excuse.
func TestPageBlocksAreFoundAndChecked(t *testing.T) {
	const text = "# Title\n\n    go run ./coordinator count 18\n\n    more\n\ntext\n    not a block\n\n" +
		"```sh\nworker kernels\n```\n<!-- by hand: it takes hours -->\n```bash\nscripts/bench table\n```\n\n<!-- by hand: lost -->\ntext\n\n" +
		"```console\n$ worker kernels\ngeneric\n```\n```text\n    coordinator/   a folder\n```\n<!-- run by coordinator/page_test.go -->\n\n    worker task\n"
	blocks := pageBlocks(text)
	want := []pageBlock{
		{3, "indented", "go run ./coordinator count 18\n\nmore\n\n", ""},
		{10, "sh", "worker kernels\n", ""},
		{14, "bash", "scripts/bench table\n", "by hand: it takes hours"},
		{21, "console", "$ worker kernels\ngeneric\n", ""},
		{25, "text", "    coordinator/   a folder\n", ""},
		{30, "indented", "worker task\n\n", "run by coordinator/page_test.go"},
	}
	if !slices.Equal(blocks, want) {
		t.Errorf("found the blocks\n%+v\nwant\n%+v", blocks, want)
	}
	for _, c := range []struct {
		block pageBlock
		wrong string // nothing: it is right
	}{
		{pageBlock{language: "indented", text: "go run ./coordinator count 18\n"}, "nothing runs"},
		{pageBlock{language: "text", text: "$ worker kernels\n"}, "nothing runs"},
		{pageBlock{language: "bash", text: "NQUEENS_KERNEL=generic scripts/soak\n"}, "nothing runs"},
		{pageBlock{language: "", text: "total\n  bin/worker\n"}, ""},
		{pageBlock{language: "text", text: "coordinator/   a folder\nscripts/  more\nthe worker\n"}, ""},
		{pageBlock{language: "bash", text: "docker compose up\n", excuse: "by hand: no"}, ""},
		{pageBlock{language: "bash", text: "scripts/no-such\n", excuse: "by hand: no"}, "no such file"},
		{pageBlock{language: "bash", text: "worker\n", excuse: "run by no/such_test.go"}, "no such file"},
		{pageBlock{language: "bash", text: "worker\n", excuse: "run by coordinator/log_page_test.go"}, "does not name the page"},
		{pageBlock{language: "console", text: "17:10:00 INF progress\n"}, "begins with a command"},
		{pageBlock{language: "sh", text: "worker\n"}, ""},
	} {
		err := c.block.check("README.md")
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%+v: %v, want %q", c.block, err, c.wrong)
		}
	}
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
		{"17:09:38 INF counting\n17:09:48 INF progress percent=3\n92\n", "17:09:38 INF counting\n92\n", true},
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
