package report

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// progressLine says how far a run is: 21.0% 131/748 tasks  98 M/s  4 workers, 8 threads  1m20s to 2m left.
func progressLine(s *run.Snapshot) string {
	parts := []string{
		doneOf(s), humanize.Rate(s.Rate), fleetOf(s), timeLeft(s),
	}
	if s.Disputes > 0 {
		parts = append(parts, humanize.Plural(s.Disputes, "dispute"))
	}
	return strings.Join(parts, "  ")
}

// doneOf returns the part of the work that is done, and the tasks.
func doneOf(s *run.Snapshot) string {
	return fmt.Sprintf("%s %s/%s tasks", humanize.Percent(float64(s.WorkDone), s.Done == s.Tasks), humanize.Int(s.Done), humanize.Int(s.Tasks))
}

// fleetOf returns how many workers and threads a run has: 4 workers (1 paused), 6 threads.
func fleetOf(s *run.Snapshot) string {
	workers := humanize.Plural(s.Workers, "worker")
	if s.PausedWorkers > 0 {
		workers += fmt.Sprintf(" (%d paused)", s.PausedWorkers)
	}
	return workers + ", " + humanize.Plural(s.Threads, "thread")
}

// timeLeft says how long a run still takes.
func timeLeft(s *run.Snapshot) string {
	switch {
	case s.Done == s.Tasks:
		return "verifying the ledger"
	case s.Threads == 0:
		return "waiting for workers"
	case s.ETA == nil:
		return "estimating the time left"
	}
	return humanize.Remaining(s.ETA.Min.Duration, s.ETA.Max.Duration) + " left"
}

// FleetChange is which workers have come and gone.
type FleetChange struct {
	Joined, Left, Lost []string // names
	Threads            int      // of all that have joined
}

// IsEmpty reports whether no worker has come or gone.
func (c *FleetChange) IsEmpty() bool { return len(c.Joined)+len(c.Left)+len(c.Lost) == 0 }

// line says who has come and gone, and what the fleet is now:
// worker joined: host-1, 2 threads; now 4 workers, 8 threads, 1m20s to 2m left.
func (c *FleetChange) line(s *run.Snapshot) string {
	var parts []string
	add := func(names []string, what, more string) {
		switch {
		case len(names) == 1:
			parts = append(parts, fmt.Sprintf("worker %s: %s%s", what, names[0], more))
		case len(names) > 1:
			parts = append(parts, fmt.Sprintf("%d workers %s: %s%s", len(names), what, shortList(names), more))
		}
	}
	add(c.Joined, "joined", ", "+humanize.Plural(c.Threads, "thread"))
	add(c.Left, "left", "")
	add(c.Lost, "lost", "")
	return fmt.Sprintf("%s; now %s, %s", strings.Join(parts, "; "), fleetOf(s), timeLeft(s))
}

// maxListed bounds the names of workers in a line.
const maxListed = 4

func shortList(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// maxLogged bounds the names of workers in a field of the log.
const maxLogged = 100

// Log logs the change with the fleet of a snapshot.
func (c *FleetChange) Log(log zerolog.Logger, s *run.Snapshot) {
	event := log.Info()
	if len(c.Lost) > 0 {
		event = log.Warn()
	}
	for _, list := range []struct {
		name  string
		names []string
	}{{"joined", c.Joined}, {"left", c.Left}, {"lost", c.Lost}} {
		if len(list.names) > 0 {
			event.Strs(list.name, list.names[:min(len(list.names), maxLogged)])
		}
	}
	event.Int("workers", s.Workers).Int("threads", s.Threads)
	logETA(event, s)
	event.Str(humanize.LogField, c.line(s)).Msg("fleet changed")
}

// totalLine says the total of a run of n queens, of which some may be placed beforehand, and what confirms it.
func totalLine(total *big.Int, n, placed int, c *run.Confirmed, name string) string {
	board := fmt.Sprintf("n = %d", n)
	if placed > 0 {
		board += fmt.Sprintf(" with %s placed beforehand", humanize.Plural(placed, "queen"))
	}
	return fmt.Sprintf("%s solutions for %s, %s; run %s", humanize.Big(total), board, sentence(c), name)
}

// endLine says how a run has ended. It begins with the total if there is one.
func (r *Result) endLine() string {
	last := &r.Count.Snapshot
	if r.Total == nil {
		return fmt.Sprintf("run %s ended, %s, at %s", r.Run, r.End, doneOf(last))
	}
	return fmt.Sprintf("%s: %s in %s, %s, %s", totalLine((*big.Int)(r.Total), r.N, len(r.Placed), &r.Confirmed, r.Run),
		humanize.Plural(r.Tasks, "task"), humanize.Duration(last.Elapsed.Duration), humanize.Rate(r.Count.Rate), humanize.Plural(r.Workers, "worker"))
}

// StoppedText says in four lines how far a run is that was stopped, where what it has counted is, how long it still takes,
// and how to resume it. Before is how far it was when it still counted, or nil.
func (r *Result) StoppedText(before *run.Snapshot, folder, resume string) string {
	left := "unknown"
	if before != nil && before.ETA != nil {
		left = fmt.Sprintf("%s with %s", humanize.Remaining(before.ETA.Min.Duration, before.ETA.Max.Duration), humanize.Plural(before.Threads, "thread"))
	}
	return strings.Join([]string{
		"done so far:  " + doneOf(&r.Count.Snapshot),
		"nothing lost: " + folder + " has every counted task",
		"time left:    " + left,
		"to resume:    " + resume,
	}, "\n") + "\n"
}

// ProgressInterval returns the time until the next line on the progress of a run, that long after its start: 10 s
// for five minutes, and then a tenth of that time, but at most an hour.
func ProgressInterval(elapsed time.Duration) time.Duration {
	if elapsed < 5*time.Minute {
		return 10 * time.Second
	}
	return min(elapsed/10, time.Hour)
}
