package humanize

import (
	"os"
	"path/filepath"
	"strings"
)

// Command returns what to type, in any folder, to start the program "coordinator" or "worker" of
// this build with these words. A program that was found on the PATH is named as it was called.
// Otherwise the command has the path of the program; the other program is expected beside it.
func Command(program string, words ...string) string {
	folder, _ := os.Getwd() // without it, the path stays as it was called
	exists := func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}
	return ShellWords(append(invocation(os.Args[0], folder, program, exists), words...)...)
}

// invocation returns the words that start a program, if the running one was called so in a folder.
func invocation(called, folder, program string, exists func(path string) bool) []string {
	name := programBeside(called, program)
	switch {
	case filepath.Base(called) == called: // on the PATH
		return []string{name}
	case strings.Contains(called, "go-build"): // go run removes the program when it ends
		return []string{"go", "-C", folder, "run", "nqueens/" + program}
	}
	path := called
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	beside := filepath.Join(filepath.Dir(path), name)
	if strings.HasSuffix(called, ".exe") {
		beside += ".exe"
	}
	if exists(beside) {
		return []string{beside}
	}
	return []string{name}
}
