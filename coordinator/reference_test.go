//go:build unix

package main_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated sections of docs/reference.md")

// docs/reference.md has every command and every flag of both programs, as their help has them. With
// the flag -update, the test writes them.
func TestReferencePage(t *testing.T) {
	const file = "../docs/reference.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := string(page)
	for name, text := range referenceSections(t) {
		section := regexp.MustCompile(`(?s)(<!-- generated: ` + name + ` -->\n).*?(<!-- end -->\n)`)
		if len(section.FindAllString(want, -1)) != 1 {
			t.Fatalf("docs/reference.md needs one section <!-- generated: %s -->", name)
		}
		want = section.ReplaceAllStringFunc(want, func(old string) string {
			parts := section.FindStringSubmatch(old)
			return parts[1] + text + parts[2]
		})
	}
	switch {
	case want == string(page):
	case *update:
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("docs/reference.md is out of date: go test ./coordinator -run TestReferencePage -update writes it")
	}
}

// connectionFlags are those that all commands with --nats have.
var connectionFlags = []string{"creds", "nkey", "tls-ca", "tls-cert", "tls-key", "token-file"}

// referenceSections returns the generated sections, in Markdown.
func referenceSections(t *testing.T) map[string]string {
	t.Helper()
	sections := map[string]string{}
	for _, h := range inOrder(everyCommand(t)) {
		own := slices.DeleteFunc(slices.Clone(h.flags), func(f flagHelp) bool {
			return f.common || f.name == "help" || slices.Contains(connectionFlags, f.name)
		})
		text := "### `" + strings.TrimSuffix(h.use, " [flags]") + "`\n\n" + h.short + ".\n\n"
		if len(own) > 0 {
			text += flagTable(own)
		}
		sections[h.words[0]] += text
		if h.name() == "worker run" {
			sections["common"] = flagTable(only(h.flags, func(f flagHelp) bool { return f.common }))
			sections["connection"] = flagTable(only(h.flags, func(f flagHelp) bool { return slices.Contains(connectionFlags, f.name) }))
		}
	}
	return sections
}

// inOrder returns the commands that do something, each followed by those below it. help and
// completion explain themselves.
func inOrder(all []commandHelp) (ordered []commandHelp) {
	for _, h := range all {
		if len(h.words) != 2 || h.words[1] == "help" || h.words[1] == "completion" {
			continue
		}
		below := only(all, func(b commandHelp) bool { return len(b.words) == 3 && slices.Equal(b.words[:2], h.words) })
		if len(below) == 0 {
			below = []commandHelp{h}
		}
		ordered = append(ordered, below...)
	}
	return ordered
}

func only[T any](list []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), func(e T) bool { return !keep(e) })
}

var defaultValue = regexp.MustCompile(` ?\(default "?(.*?)"?\)$`)

func flagTable(flags []flagHelp) string {
	var b strings.Builder
	b.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	for _, f := range flags {
		name := strings.TrimSpace("--" + f.name + " " + f.value)
		if f.letter != "" {
			name = "-" + f.letter + ", " + name
		}
		value := ""
		if m := defaultValue.FindStringSubmatch(f.usage); m != nil {
			value = m[1]
		}
		cells := []string{"`" + name + "`", value, defaultValue.ReplaceAllString(f.usage, "")}
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String() + "\n"
}

// The exit codes of docs/reference.md are those of package cli.
func TestReferenceHasTheExitCodes(t *testing.T) {
	page, err := os.ReadFile("../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, row := range regexp.MustCompile(`(?m)^\| (\d[\d, ]*) \|`).FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, strings.Split(row[1], ", ")...)
	}
	source, err := os.ReadFile("../pkg/cli/cli.go")
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, line := range regexp.MustCompile(`(?m)^\texit\w+ += (\d+)`).FindAllStringSubmatch(string(source), -1) {
		codes = append(codes, line[1])
	}
	want := slices.Concat(codes[:len(codes)-1], []string{"130", "143"}) // the last is for signals: plus 2, or 15
	if codes[len(codes)-1] != "128" || !slices.Equal(documented, want) {
		t.Errorf("docs/reference.md has the exit codes %v, and package cli %v", documented, codes)
	}
}
