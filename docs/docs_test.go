// Package docs_test checks what the pages for people refer to: links, files and tests.
// It does not run their examples; coordinator/documented_test.go does.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository.
const root = ".."

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	span     = regexp.MustCompile("`([^`\n]+)`")
	listing  = regexp.MustCompile(`(?m)^    ([\w.-]+/[\w./-]*)(?:\s|$)`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*\b`)
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
	fileName = regexp.MustCompile(`^[\w.-]+\.(?:go|s|md|yml|conf|service|txt)$`)
)

// TestLinks checks that every relative link leads to a file, and its fragment to a heading.
func TestLinks(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target, fragment, _ := strings.Cut(m[1], "#")
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
			}
			content, err := os.ReadFile(path)
			if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
				continue
			}
			if err != nil {
				t.Errorf("%s: link to %s: %v", page, m[1], err)
			} else if fragment != "" && !slices.Contains(anchors(string(content)), fragment) {
				t.Errorf("%s: link to %s: there is no such heading", page, m[1])
			}
		}
	}
}

// TestPaths checks that every path of the repository exists: in backticks, and at the start
// of the lines of an indented listing.
func TestPaths(t *testing.T) {
	top, names := tree(t)
	for page, text := range pages(t) {
		var paths []string
		for _, m := range slices.Concat(span.FindAllStringSubmatch(text, -1), listing.FindAllStringSubmatch(text, -1)) {
			paths = append(paths, strings.Fields(m[1] + " .")[0])
		}
		for _, path := range paths {
			first, _, nested := strings.Cut(path, "/")
			switch {
			case nested && top[first]:
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(path))); err != nil {
					t.Errorf("%s: %v", page, err)
				}
			case !nested && fileName.MatchString(path) && !names[path]:
				t.Errorf("%s: no file is named %s", page, path)
			}
		}
	}
}

// TestTests checks that every test, fuzz test and benchmark that a page names exists.
func TestTests(t *testing.T) {
	exists := make(map[string]bool)
	walk(t, func(path string) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, m := range testFunc.FindAllStringSubmatch(read(t, path), -1) {
			exists[m[1]] = true
		}
	})
	for page, text := range pages(t) {
		for _, name := range testName.FindAllString(text, -1) {
			if !exists[name] {
				t.Errorf("%s: there is no %s", page, name)
			}
		}
	}
}

// TestMessages checks that the program has every message of the page of messages.
func TestMessages(t *testing.T) {
	var program strings.Builder
	walk(t, func(path string) {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			program.WriteString(read(t, path))
		}
	})
	joined := regexp.MustCompile(`" \+\s+"`).ReplaceAllString(program.String(), "")
	page := read(t, filepath.Join(root, "docs", "troubleshooting.md"))
	messages := regexp.MustCompile("(?m)^### `(.*)`$").FindAllStringSubmatch(page, -1)
	if len(messages) < 10 {
		t.Fatalf("docs/troubleshooting.md has %d messages", len(messages))
	}
	for _, m := range messages {
		for _, part := range strings.Split(m[1], "…") {
			if !strings.Contains(joined, strings.TrimSpace(part)) {
				t.Errorf("docs/troubleshooting.md: the program has no message with %q", part)
			}
		}
	}
}

// pages returns the text of every page by its path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	walk(t, func(path string) {
		relative, _ := filepath.Rel(root, path) // both are relative
		if dir := filepath.Dir(relative); filepath.Ext(path) == ".md" && (dir == "." || strings.HasPrefix(dir, "docs")) {
			found[path] = read(t, path)
		}
	})
	if len(found) < 20 {
		t.Fatalf("found %d pages", len(found))
	}
	return found
}

// anchors returns the fragments of a page's headings.
func anchors(text string) []string {
	var found []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		kept := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		found = append(found, strings.ReplaceAll(kept, " ", "-"))
	}
	return found
}

// tree returns the directories at the top of the repository, and the names of all files.
func tree(t *testing.T) (top, names map[string]bool) {
	t.Helper()
	top, names = make(map[string]bool), make(map[string]bool)
	walk(t, func(path string) {
		relative, _ := filepath.Rel(root, path) // both are relative
		if first, _, nested := strings.Cut(filepath.ToSlash(relative), "/"); nested {
			top[first] = true
		}
		names[filepath.Base(path)] = true
	})
	return top, names
}

// walk calls f for each file of the repository but those of git and built commands.
func walk(t *testing.T, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == filepath.Join(root, ".git") || path == filepath.Join(root, "bin")):
			return fs.SkipDir
		case !entry.IsDir():
			f(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
