//go:build unix

package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nqueens/pkg/cli/clitest"
)

// jsonSection is a section of docs/json.md: the commands in its heading, and its fields.
type jsonSection struct {
	commands []string
	always   []string // fields
	absent   []string // fields that may be absent
}

func readJSONPage(t *testing.T) (sections []jsonSection) {
	t.Helper()
	text, err := os.ReadFile("../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	names := func(text string) (list []string) {
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			list = append(list, m[1])
		}
		return list
	}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		s := jsonSection{commands: names(heading)}
		for _, row := range regexp.MustCompile(`(?m)^\| ([^|]*) \|(.*)$`).FindAllStringSubmatch(body, -1) {
			if strings.Contains(row[2], "absent") {
				s.absent = append(s.absent, names(row[1])...)
			} else {
				s.always = append(s.always, names(row[1])...)
			}
		}
		sections = append(sections, s)
	}
	return sections
}

// Every command that prints JSON has a section in docs/json.md, and every section is of such commands.
func TestEveryJSONObjectIsDocumented(t *testing.T) {
	var have []string
	want := []string{"coordinator solve", "worker task"} // without --json
	for _, s := range readJSONPage(t) {
		have = append(have, s.commands...)
	}
	for _, h := range everyCommand(t) {
		if slices.ContainsFunc(h.flags, func(f flagHelp) bool { return f.name == "json" }) {
			want = append(want, h.name())
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("docs/json.md has the commands\n%q, and with --json there are\n%q", have, want)
	}
}

// The objects of commands that do not report on a run have the fields of docs/json.md, and no
// others; a test of pkg/report checks the rest.
func TestJSONObjectsHaveTheirFields(t *testing.T) {
	exported := filepath.Join(t.TempDir(), "exported.jsonl")
	const task = `{"run":"n4-a","task":0,"hash":"d21dccc0c06e3329","k":8,"allow":[15,15,15,15],"prefixes":[[0,0,0,0]],"count":"2","worker":"w","kernel":"generic","attempt":1,"seconds":0.1}`
	if err := os.WriteFile(exported, []byte(task+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := map[string][]string{
		"worker bench": {"8", "--threads", "1", "--json"}, "worker kernels": {"--json"},
		"coordinator version": {"--json"}, "worker version": {"--json"},
		"coordinator solve": {"4", "--unique", "--format", "json"}, "worker task": {exported},
	}
	for _, s := range readJSONPage(t) {
		for _, command := range s.commands {
			args, checked := arguments[command]
			if !checked {
				continue
			}
			delete(arguments, command)
			got := clitest.Run(t, nil, slices.Concat(strings.Fields(command), args)...)
			if got.Stdout == "" {
				t.Errorf("%s prints nothing: %s", command, got.Stderr)
			}
			for line := range strings.Lines(got.Stdout) {
				var object map[string]any
				if err := json.Unmarshal([]byte(line), &object); err != nil {
					t.Fatalf("%s prints %q: %v", command, line, err)
				}
				for _, name := range s.always {
					if _, there := object[name]; !there {
						t.Errorf("%s prints no %s: %s", command, name, line)
					}
				}
				for name := range object {
					if !slices.Contains(s.always, name) && !slices.Contains(s.absent, name) {
						t.Errorf("docs/json.md has no %s of %s", name, command)
					}
				}
			}
		}
	}
	for command := range arguments {
		t.Errorf("docs/json.md has no section of %s", command)
	}
}
