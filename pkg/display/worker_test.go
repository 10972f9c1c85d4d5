package display

import (
	"strings"
	"testing"
	"time"
)

// The display of a worker says what it does, or why it does nothing, on a terminal of any size.
func TestWorkerLayout(t *testing.T) {
	working := Worker{
		Name: "node-17-a1b2", Kernel: "avx512", Threads: 8, Searching: 8, Ready: 3, Tasks: 12345, Rate: 12.34,
		Runs: []string{"n16-20261120-170938-7274", "n20-20261120-170940-1a2b"}, Elapsed: 62 * time.Second,
	}
	idle := Worker{Name: "attic-3f02", Kernel: "generic", Threads: 1, Idle: "no run is alive"}
	for _, c := range []struct {
		name          string
		worker        *Worker
		width, height int
		want          string
	}{
		{"working", &working, 120, 24, `node-17-a1b2 · avx512 · 8 threads · 1m2s elapsed
working for n16-20261120-170938-7274, n20-20261120-170940-1a2b
12,345 tasks counted · 12.3 tasks/s · 8 of 8 threads search · 3 chunks ready
`},
		{"narrow", &working, 40, 24, `node-17-a1b2 · avx512 · 8 threads
working for n16-20261120-170938-7274, n…
12,345 tasks counted · 12.3 tasks/s
`},
		{"two rows", &working, 40, 2, "node-17-a1b2 · avx512 · 8 threads\n"},
		{"idle", &idle, 80, 24, `attic-3f02 · generic · 1 thread · 0s elapsed
idle: no run is alive
0 tasks counted · 0.0 tasks/s · 0 of 1 threads search · 0 chunks ready
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := text(theme{}.layoutWorker(c.worker, c.width, c.height), theme{})
			if trimmed := trimLines(got); trimmed != c.want {
				t.Errorf("it shows\n%swant\n%s", trimmed, c.want)
			}
		})
	}
}

// trimLines removes spaces at the ends of lines.
func trimLines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}
