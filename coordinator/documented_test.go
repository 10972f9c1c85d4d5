package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The sh blocks of README and tutorial can be run one after another, as people type them, but with
// bin/ in a temporary folder.
func TestDocumentedCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("builds both programs and counts n = 18")
	}
	blocks := regexp.MustCompile("(?ms)^```sh$(.*?)\n```$")
	for _, page := range []string{"README.md", "docs/tutorial.md"} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", page))
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			script := "set -euo pipefail\n"
			for _, block := range blocks.FindAllStringSubmatch(string(text), -1) {
				script += block[1]
			}
			moved := strings.NewReplacer("bin/", folder+"/bin/", `"$PWD/bin`, `"`+folder+"/bin", "n13.jsonl",
				folder+"/n13.jsonl")
			script = moved.Replace(script)
			cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
			cmd.Dir, cmd.Env = "..", append(os.Environ(), "XDG_STATE_HOME="+folder)
			out, err := cmd.CombinedOutput()
			want := map[string]string{"README.md": "666090624\n", "docs/tutorial.md": `"agrees":true`}[page]
			if err != nil || !strings.Contains(string(out), want) {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// Links in documents lead to files and headings that exist.
func TestLinks(t *testing.T) {
	pages, _ := filepath.Glob("../docs/*.md")
	for _, page := range append(pages, "../README.md", "../CONTRIBUTING.md", "../SECURITY.md",
		"../CHANGELOG.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(string(text), -1) {
			path, heading, _ := strings.Cut(link[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			there, err := os.ReadFile(target)
			if err != nil || heading != "" && !headings(there)[heading] {
				t.Errorf("%s: nothing is at %s (%v)", page, link[1], err)
			}
		}
	}
}

// headings returns the names with which links refer to the headings of a page.
func headings(page []byte) map[string]bool {
	names := make(map[string]bool)
	for _, line := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllSubmatch(page, -1) {
		names[strings.ReplaceAll(
			regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(string(line[1])), ""), " ",
			"-")] = true
	}
	return names
}
