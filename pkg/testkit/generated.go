package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Generated compares a part of a page below docs with the text that the code gives, and fails if
// they differ. If the environment variable NQUEENS_UPDATE is 1, as in scripts/generate, Generated
// writes the part instead. The part stands in one page, between two comments:
//
//	<!-- generated: NAME -->
//	<!-- end -->
func Generated(t testing.TB, name, want string) {
	t.Helper()
	begin, end := "<!-- generated: "+name+" -->\n", "<!-- end -->\n"
	docs := filepath.Join(root(t), "docs")
	pages, err := filepath.Glob(filepath.Join(docs, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range pages {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, begun := strings.Cut(string(content), begin)
		if !begun {
			continue
		}
		found += strings.Count(string(content), begin)
		have, after, ended := strings.Cut(rest, end)
		switch {
		case !ended:
			t.Fatalf("%s: %q has no %q", path, begin, end)
		case have == want:
		case os.Getenv("NQUEENS_UPDATE") == "1":
			if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s, part %q, is out of date: run scripts/generate. The page has\n%s\nand the code "+
				"gives\n%s", path, name, have, want)
		}
	}
	if found != 1 {
		t.Fatalf("%d parts of the pages in %s begin with %q, want 1", found, docs, begin)
	}
}

// Golden compares a text with a file, and fails if they differ. With NQUEENS_UPDATE=1 it writes the
// file instead, for review.
func Golden(t testing.TB, file, got string) {
	t.Helper()
	if os.Getenv("NQUEENS_UPDATE") == "1" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (NQUEENS_UPDATE=1 writes it); got\n%s\nwant\n%s", file, got, want)
	}
}

// root returns the folder of the repository.
func root(t testing.TB) string {
	t.Helper()
	folder, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for {
		mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module nqueens\n") {
			return folder
		}
		if folder == filepath.Dir(folder) {
			t.Fatal("the test must run in the repository")
		}
		folder = filepath.Dir(folder)
	}
}
