package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Update reports whether tests write the generated parts of pages instead of comparing them:
// scripts/generate asks for that with the environment variable NQUEENS_UPDATE.
func Update() bool { return os.Getenv("NQUEENS_UPDATE") == "1" }

// Generated compares a part of a page with what the code says, and fails if they differ. With
// [Update] it writes the part instead. The page is a path from the root of the repository. The
// part stands between two comments:
//
//	<!-- generated: NAME -->
//	<!-- end -->
func Generated(t testing.TB, page, name, want string) {
	t.Helper()
	path := filepath.Join(Root(t), page)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- generated: "+name+" -->\n", "<!-- end -->\n"
	before, rest, found := strings.Cut(string(content), begin)
	have, after, ended := strings.Cut(rest, end)
	switch {
	case !found || !ended || strings.Contains(after, begin):
		t.Fatalf("%s needs one part from %q to %q", page, begin, end)
	case have == want:
	case Update():
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s, part %q, is out of date: scripts/generate writes it. It is\n%s\nand the code says\n%s", page, name, have, want)
	}
}

// Root returns the root of the repository.
func Root(t testing.TB) string {
	t.Helper()
	folder, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for {
		// Modules of tools have no git folder and no folder of pages.
		if _, err := os.Stat(filepath.Join(folder, "docs", "reference.md")); err == nil {
			return folder
		}
		if folder == filepath.Dir(folder) {
			t.Fatal("the test does not run in the repository")
		}
		folder = filepath.Dir(folder)
	}
}
