//go:build unix

package main_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/testkit"
)

// docs/reference.md has every command and every flag of both programs, as their help has them.
func TestGeneratedReference(t *testing.T) {
	for name, text := range referenceSections(t) {
		testkit.Generated(t, "docs/reference.md", name, text)
	}
}

// connectionFlags are those that all commands with --nats have.
var connectionFlags = []string{"creds", "nkey", "tls-ca", "tls-cert", "tls-key", "token-file"}

// referenceSections returns the generated sections, in Markdown.
func referenceSections(t *testing.T) map[string]string {
	t.Helper()
	sections := map[string]string{
		"common": flagTable(only(readHelp(t, []string{"worker"}).flags, func(f flagHelp) bool { return f.common })),
	}
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
