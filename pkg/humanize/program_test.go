package humanize

import "testing"

// The programs are named as the running one was called, in whatever folder it is.
func TestProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ called, name, want string }{
		{"coordinator", "coordinator", "coordinator"},
		{"bin/coordinator", "worker", "worker"},
		{"/usr/bin/nqueens-coordinator", "coordinator", "nqueens-coordinator"},
		{"/usr/bin/nqueens-coordinator", "worker", "nqueens-worker"},
		{"nqueens-worker-opencl", "worker", "nqueens-worker-opencl"},
		{"nqueens-worker-opencl", "coordinator", "nqueens-coordinator"},
		{"nqueens-worker.exe", "worker", "nqueens-worker"},
		{"/home/worker/coordinator", "coordinator", "coordinator"},
		{"another", "worker", "worker"},
	} {
		if got := programBeside(c.called, c.name); got != c.want {
			t.Errorf("called as %s, %s is %s, want %s", c.called, c.name, got, c.want)
		}
	}
}
