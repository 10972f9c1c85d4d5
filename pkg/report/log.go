package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/queens"
)

// logDone adds the progress of a run to an event.
func logDone(event *zerolog.Event, s *queens.Snapshot) {
	event.Uint64("done", s.Done).Uint64("tasks", s.Tasks).Float64("percent",
		humanize.Percentage(float64(s.WorkDone))).
		Float64("elapsed_s", math.Round(s.Elapsed.Seconds()*1e3)/1e3)
	if s.Solutions != nil {
		event.Str("solutions", s.Solutions.String())
	}
}

// Fleet returns the numbers of workers and threads: 4 workers on 2 machines, 8 threads (1 idle).
func Fleet(s *queens.Snapshot) string {
	if s.Live == nil {
		return "workers not known"
	}
	if s.Workers == 0 {
		return "no workers"
	}
	text := fmt.Sprintf("%s on %s, %s", humanize.Plural(s.Workers, "worker"),
		humanize.Plural(s.Machines, "machine"), humanize.Plural(s.Threads, "thread"))
	if s.IdleThreads > 0 {
		text += fmt.Sprintf(" (%s idle)", humanize.Int(s.IdleThreads))
	}
	return text
}

// Progress returns a line about the progress of a run: 21.0%, 131 of 748 tasks; 98 M/s; 4 workers
// on 2 machines, 8 threads; 1m20s to 2m to go.
func Progress(s *queens.Snapshot) string {
	parts := []string{doneOf(s)}
	if s.Rate != nil {
		parts = append(parts, humanize.Rate(s.PerSecond))
	}
	if s.Live == nil || s.Workers > 0 {
		parts = append(parts, Fleet(s))
	}
	parts = append(parts, Remaining(s))
	if s.Checks != nil && s.Disputes > 0 {
		parts = append(parts, humanize.Plural(s.Disputes, "dispute"))
	}
	return strings.Join(parts, "; ")
}

// LogProgress logs the progress of a run.
func LogProgress(log zerolog.Logger, s *queens.Snapshot) {
	event := log.Info()
	logDone(event, s)
	if s.Live != nil {
		event.Int("machines", s.Machines).Int("workers", s.Workers).Int("threads", s.Threads).
			Int("idle_threads", s.IdleThreads)
	}
	if s.Rate != nil {
		event.Float64("rate", math.Round(s.PerSecond))
	}
	if s.TimeToGo != nil {
		event.Float64("eta_least_s", math.Round(s.Least.Seconds())).Float64("eta_most_s",
			math.Round(s.Most.Seconds()))
	}
	if s.Checks != nil && s.Disputes > 0 {
		event.Uint64("disputes", s.Disputes).Uint64("recounts", s.Recounts)
	}
	event.Str(humanize.LogField, Progress(s)).Msg("progress")
}

// Follower logs what the snapshots of a run show: workers that come and go, bans, disputes, for
// what the run waits, and the progress from time to time. It looks for changes every two seconds. A
// Follower is not safe for concurrent use.
type Follower struct {
	Log      zerolog.Logger
	Progress bool // log the progress too

	begun   time.Duration    // when the first snapshot came
	looked  time.Duration    // when it last looked for changes
	logged  time.Duration    // when it last logged the progress
	before  *queens.Snapshot // the snapshot of the last look; nil before the first look
	started bool
}

const (
	lookInterval  = 2 * time.Second // time between two looks for changes
	firstInterval = 10 * time.Second
	lastInterval  = time.Minute
)

// progressInterval returns the time between two lines about the progress: 2 s in the first 10 s, 10
// s in the rest of the first minute, and then one minute.
func progressInterval(running time.Duration) time.Duration {
	switch {
	case running < firstInterval:
		return lookInterval
	case running < lastInterval:
		return firstInterval
	}
	return lastInterval
}

// Follow logs what is new in a snapshot. Call it about once a second, with the time on a monotonic
// clock. Nobody may change the snapshot afterwards.
func (f *Follower) Follow(now time.Duration, s *queens.Snapshot) {
	if !f.started {
		f.begun, f.looked, f.logged, f.started = now, now, now, true
	}
	if now-f.looked >= lookInterval || s.State != queens.Running {
		f.looked = now
		if f.before != nil { // the line about the progress has the first workers
			f.logFleet(s)
		}
		if text := s.NoTotal(); text != "" && (f.before == nil || f.before.Solutions != nil) {
			f.Log.Warn().Msg(text)
		}
		f.logTrust(s)
		f.logWait(s)
		f.before = s
	}
	if f.Progress && s.State == queens.Running && now-f.logged >= progressInterval(now-f.begun) {
		f.logged = now
		LogProgress(f.Log, s)
	}
}

// logFleet logs which workers have come and gone since the last look.
func (f *Follower) logFleet(s *queens.Snapshot) {
	if s.Live == nil || f.before.Live == nil {
		return
	}
	now, before := workers(s), workers(f.before)
	var joined, left, silent []string
	for process, w := range now {
		if _, known := before[process]; !known {
			joined = append(joined, nameOf(w))
		}
	}
	for process, w := range before {
		if _, present := now[process]; present {
			continue
		}
		if w.IsSilent() { // it did not leave
			silent = append(silent, nameOf(w))
		} else {
			left = append(left, nameOf(w))
		}
	}
	isPartial := max(s.Workers, f.before.Workers) > queens.MaxWorkers // a snapshot lists no more
	if len(joined)+len(left)+len(silent) == 0 || s.State != queens.Running || isPartial {
		return
	}
	event, parts := f.Log.Info(), []string(nil)
	if len(silent) > 0 {
		event = f.Log.Warn()
	}
	for _, change := range []struct {
		field, verb string
		names       []string
	}{{"joined", "joined", joined}, {"left", "left", left}, {"silent", "fell silent", silent}} {
		if len(change.names) > 0 {
			slices.Sort(change.names)
			event.Strs(change.field, change.names)
			workers := humanize.Plural(len(change.names), "worker")
			parts = append(parts, fmt.Sprintf("%s %s: %s", workers, change.verb, shortList(change.names)))
		}
	}
	text := fmt.Sprintf("%s; now %s", strings.Join(parts, "; "), Fleet(s))
	event.Int("workers", s.Workers).Int("threads", s.Threads).Str(humanize.LogField,
		text).Msg("workers changed")
}

func workers(s *queens.Snapshot) map[string]*queens.Worker {
	byProcess := make(map[string]*queens.Worker, len(s.WorkerList))
	for i := range s.WorkerList {
		byProcess[s.WorkerList[i].Process] = &s.WorkerList[i]
	}
	return byProcess
}

// nameOf returns the label of a worker, and its number of threads.
func nameOf(w *queens.Worker) string {
	return fmt.Sprintf("%s (%s)", w.Label, humanize.Plural(w.Threads, "thread"))
}

// shortList returns the first few names, and the number of the others.
func shortList(names []string) string {
	const most = 4
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// logTrust logs bans and disputes that are new since the last look.
func (f *Follower) logTrust(s *queens.Snapshot) {
	if s.Checks == nil {
		return
	}
	before := new(queens.Checks)
	if f.before != nil && f.before.Checks != nil {
		before = f.before.Checks
	}
	if s.Disputes > before.Disputes {
		f.Log.Warn().Uint64("disputes", s.Disputes).Uint64("recounting", s.Recounting).
			Str(humanize.LogField, fmt.Sprintf("counts of %s differ; the coordinator recounts them",
				humanize.Plural(s.Disputes-before.Disputes, "more task"))).Msg("dispute")
	}
	known := make(map[queens.Machine]bool)
	for _, b := range before.Banned {
		known[b.Machine] = true
	}
	for _, b := range s.Banned {
		if !known[b.Machine] {
			text := BanText(&b) + "; its other counts are void: check its memory and its cooling"
			f.Log.Error().Str("user", b.User).Str("machine", b.Name).Uint64("task", b.Task).Uint64("count",
				b.Count).
				Uint64("recount", b.Recount).Str(humanize.LogField, text).Msg("banned")
		}
	}
}

// logWait logs for what the run waits, once for each reason, and when it goes on.
func (f *Follower) logWait(s *queens.Snapshot) {
	now, before := s.Waits, (*queens.Wait)(nil)
	if f.before != nil {
		before = f.before.Waits
	}
	switch {
	case now != nil && (before == nil || before.Reason != now.Reason):
		event := f.Log.Info()
		if now.Advice() != "" {
			event = f.Log.Warn()
		}
		event.Str("for", string(now.Reason)).Time("since", now.Since).Str("why", now.Why).
			Str("help", now.Advice()).Str(humanize.LogField, now.Sentence()).Msg("waiting")
	case now == nil && before != nil && s.State == queens.Running && before.Advice() != "":
		waited := humanize.Duration(s.At.Sub(before.Since))
		f.Log.Info().Str("for", string(before.Reason)).
			Str(humanize.LogField, "the run goes on; it was "+before.Short()+" for "+waited).Msg("goes on")
	}
}

// BanText says why a machine is banned.
func BanText(b *queens.Ban) string {
	return fmt.Sprintf("machine %s is banned: it counted %s in task %s, a recount %s", b.Shown(),
		humanize.Int(b.Count),
		humanize.Int(b.Task), humanize.Int(b.Recount))
}
