package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Stories runs the stories in the files that match a pattern. A file has several stories, each
// below a line "-- NAME --". A line of a story that begins with ">" is an input; the lines below it
// are the output that must follow. The function begin is called for each story, and returns the
// function that takes the story's inputs. A story fails if other output follows; NQUEENS_UPDATE=1
// writes that output to the file instead.
func Stories(
	t *testing.T, pattern string,
	begin func(t *testing.T, out *strings.Builder) (input func(words []string)),
) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories in %s: %v", pattern, err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil || len(archive.Files) == 0 {
			t.Fatalf("no stories in %s: %v", path, err)
		}
		changed := false
		for i := range archive.Files {
			story := &archive.Files[i]
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txt")+"/"+story.Name, func(t *testing.T) {
				var out strings.Builder
				input := begin(t, &out)
				for line := range strings.Lines(string(story.Data)) {
					switch line = strings.TrimSuffix(line, "\n"); {
					case strings.HasPrefix(line, "> "):
						fmt.Fprintln(&out, line)
						input(strings.Fields(line)[1:])
					case line == "" || strings.HasPrefix(line, "#"):
						fmt.Fprintln(&out, line)
					}
				}
				told := out.String()
				switch {
				case told == string(story.Data):
				case os.Getenv("NQUEENS_UPDATE") == "1":
					story.Data, changed = []byte(told), true
				default:
					t.Errorf("the story in %s has other output now:\n%s", path, told)
				}
			})
		}
		if changed {
			if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}
