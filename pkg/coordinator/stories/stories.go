// Package stories plays text files that people read: inputs to a state machine, and what it answered. Only tests
// import it.
//
// A story is a file of blocks, with an empty line between them. A block is lines of input, a line "----", and the
// output. Lines of input that begin with # are comments. A block may be only comments.
//
//	# A worker reports all tasks of a chunk.
//	returned chunk=1 tasks=0-3
//	fill
//	----
//	publish chunk 2: task 4
//
// The flag -rewrite of the test writes the outputs into the files. Read the difference before you commit it.
package stories

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the outputs of the stories into their files")

// separator stands between the inputs and the output of a block.
const separator = "----"

// Play plays each file that matches the pattern as a subtest. start returns a player for one file; the player takes
// a line of input and returns the output, which has no empty line. The test fails if no file matches.
func Play(t *testing.T, pattern string, start func(t *testing.T) (play func(input string) string)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no story matches %s (%v)", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			played, err := replay(string(text), start(t))
			switch {
			case err != nil:
				t.Fatalf("%s: %v", file, err)
			case *rewrite:
				if err := os.WriteFile(file, []byte(played), 0o644); err != nil {
					t.Fatal(err)
				}
			case played != string(text):
				t.Errorf("%s: -rewrite changes it: %s", file, firstDifference(string(text), played))
			}
		})
	}
}

// replay returns the text of a story with the outputs of a player.
func replay(text string, play func(input string) string) (string, error) {
	var story strings.Builder
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		inputs, _, isPlayed := strings.Cut(block+"\n", separator+"\n")
		var outputs strings.Builder
		for line := range strings.Lines(inputs) {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "#"):
			case !isPlayed:
				return "", fmt.Errorf("a block has no line %s: %q", separator, block)
			default:
				outputs.WriteString(play(line))
			}
		}
		if story.Len() > 0 {
			story.WriteString("\n")
		}
		story.WriteString(inputs)
		if isPlayed {
			story.WriteString(separator + "\n")
		}
		if output := strings.Trim(outputs.String(), "\n"); output != "" {
			story.WriteString(output + "\n")
		}
	}
	return story.String(), nil
}

// firstDifference names the first line in which two texts differ.
func firstDifference(want, got string) string {
	wanted, lines := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(wanted), len(lines)) {
		if wanted[i] != lines[i] {
			return fmt.Sprintf("line %d is\n%s\nand becomes\n%s", i+1, wanted[i], lines[i])
		}
	}
	return fmt.Sprintf("it has %d lines, and then has %d", len(wanted), len(lines))
}
