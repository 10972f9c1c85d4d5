package report

import (
	"io"
	"math"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// WriteSnapshot writes a snapshot as a JSON object.
func WriteSnapshot(w io.Writer, s *run.Snapshot) error { return writeJSON(w, s) }

// LastResult returns what the last snapshot of a complete run says of its result.
func LastResult(s *run.Snapshot) *Result {
	r := &Result{
		N: s.N, Total: s.Total, Known: s.Known(), Run: s.Run, Symmetry: s.Symmetry, Placed: s.Placed, Tasks: s.Tasks,
		Confirmed: run.Confirmed{Level: run.None}, End: Complete, Elapsed: s.Elapsed.Duration, Count: &Count{Snapshot: *s},
	}
	if s.Confirmed != nil {
		r.Confirmed = *s.Confirmed
	}
	return r
}

// LogSnapshot logs a snapshot.
func LogSnapshot(log zerolog.Logger, s *run.Snapshot) {
	event := log.Info()
	logDone(event, s)
	logETA(event, s)
	event.Float64("rate", math.Round(s.Rate)).Int("workers", s.Workers).Int("threads", s.Threads)
	logCount(event, "republished", s.Republished)
	logCount(event, "disputes", uint64(max(0, s.Disputes)))
	if s.State == run.Running && s.Bottleneck.Phrase() != "" {
		event.Str("bottleneck", string(s.Bottleneck))
	}
	if len(s.Sharing) > 0 {
		event.Strs("sharing", s.Sharing)
	}
	event.Str(humanize.LogField, progressLine(s)).Msg("progress")
}

// logETA adds to an event how long a run still takes, unless that is unknown.
func logETA(event *zerolog.Event, s *run.Snapshot) {
	if s.ETA != nil {
		event.Float64("eta_least_s", s.ETA.Min.Seconds()).Float64("eta_most_s", s.ETA.Max.Seconds())
	}
}
