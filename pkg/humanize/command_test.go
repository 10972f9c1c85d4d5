package humanize

import (
	"slices"
	"strings"
	"testing"
)

// A command names a program as a person can start it in any folder.
func TestInvocation(t *testing.T) {
	for _, c := range []struct{ called, program, want string }{
		{"coordinator", "coordinator", "coordinator"},
		{"coordinator", "worker", "worker"},
		{"bin/coordinator", "coordinator", "/here/bin/coordinator"},
		{"bin/coordinator", "worker", "/here/bin/worker"},
		{"../bin/coordinator", "coordinator", "/bin/coordinator"},
		{"/here/bin/worker", "coordinator", "/here/bin/coordinator"},
		{"/elsewhere/coordinator", "worker", "worker"},
		{"nqueens-coordinator", "worker", "nqueens-worker"},
		{"nqueens-worker-opencl", "worker", "nqueens-worker-opencl"},
		{"nqueens-worker-opencl", "coordinator", "nqueens-coordinator"},
		{"coordinator.exe", "worker", "worker"},
		{"/tmp/go-build12/b001/exe/coordinator", "worker", "go -C /here run nqueens/worker"},
		{"another", "worker", "worker"},
	} {
		files := []string{
			"/here/bin/coordinator", "/here/bin/worker", "/bin/coordinator", "/elsewhere/coordinator",
		}
		exists := func(path string) bool { return slices.Contains(files, path) }
		if got := strings.Join(invocation(c.called, "/here", c.program, exists), " "); got != c.want {
			t.Errorf("called as %s, the %s is started with %q, want %q", c.called, c.program, got, c.want)
		}
	}
}
