package display

import (
	"fmt"
	"strings"
	"time"

	"nqueens/pkg/humanize"
)

// Worker is what the display of a worker shows.
type Worker struct {
	Name, Kernel string
	Threads      int
	Searching    int           // Of the threads.
	Ready        int           // Chunks that wait for a thread.
	Tasks        uint64        // Counted so far.
	Rate         float64       // Tasks a second, lately.
	Runs         []string      // Names of the runs of all chunks held.
	Idle         string        // Why no chunk is held; empty while one is.
	Elapsed      time.Duration // Since the start.
}

// ShowWorker presents what a worker does, as Show presents a run. A display shows either.
func (d *Display) ShowWorker(w Worker) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.worker = &w
}

// layoutWorker returns the display of a worker for a terminal of that size. No line is wider than
// the terminal.
func (t theme) layoutWorker(w *Worker, width, height int) []line {
	width = min(width, maxWidth)
	lines := []line{
		t.row([]segment{
			{0, line{{t.clean(w.Name), bold}}},
			{1, line{{t.clean(w.Kernel), faint}}},
			{2, line{{humanize.Plural(w.Threads, "thread"), plain}}},
			{3, line{{humanize.Duration(w.Elapsed) + " elapsed", faint}}},
		}, width),
		t.workRow(w),
		t.row([]segment{
			{0, line{{humanize.Plural(w.Tasks, "task") + " counted", plain}}},
			{1, line{{fmt.Sprintf("%.1f tasks/s", w.Rate), plain}}},
			{2, line{{fmt.Sprintf("%d of %d threads search", w.Searching, w.Threads), plain}}},
			{3, line{{humanize.Plural(w.Ready, "chunk") + " ready", faint}}},
		}, width),
	}
	lines = lines[:max(1, min(len(lines), height-1))]
	for i, l := range lines {
		lines[i] = l.fit(width, t)
	}
	return lines
}

// workRow says which runs the worker works for, or why it is idle.
func (t theme) workRow(w *Worker) line {
	if w.Idle != "" {
		return line{{"idle: " + t.clean(w.Idle), notice}}
	}
	return line{{"working for " + t.clean(strings.Join(w.Runs, ", ")), filled}}
}
