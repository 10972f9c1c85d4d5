//go:build cluster || release

package deploy_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkout returns a repository with a copy of the sources, without ignored files.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "git", args...).Output()
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		return string(out)
	}
	files := git("-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	for file := range strings.SplitSeq(strings.TrimSuffix(files, "\x00"), "\x00") {
		from, to := filepath.Join("..", file), filepath.Join(dir, file)
		text, err := os.ReadFile(from)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, but not committed
		}
		info, statErr := os.Stat(from)
		if err := errors.Join(err, statErr, os.MkdirAll(filepath.Dir(to), 0o755)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	git("-C", dir, "init", "-q")
	git("-C", dir, "add", "--all")
	git("-C", dir, "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "-q", "-m", "checkout")
	return dir
}
