package humanize

import (
	"os"
	"path/filepath"
	"strings"
)

// Program returns the name by which a person starts a program, "coordinator" or "worker", on a
// machine like this one. The running program has the name by which it was called. The other one has
// its name in the same style: where nqueens-worker runs, the coordinator is nqueens-coordinator.
func Program(name string) string { return programBeside(os.Args[0], name) }

func programBeside(called, name string) string {
	called = strings.TrimSuffix(filepath.Base(called), ".exe")
	for _, running := range []string{"coordinator", "worker"} {
		style, _, found := strings.Cut(called, running)
		switch {
		case found && running == name:
			return called
		case found:
			return style + name
		}
	}
	return name
}
