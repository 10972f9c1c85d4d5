package report

import (
	"io"
	"math"
	"math/big"

	"github.com/rs/zerolog"

	"nqueens/pkg/humanize"
	"nqueens/pkg/run"
)

// WriteSnapshot writes a snapshot as a JSON object.
func WriteSnapshot(w io.Writer, s *run.Snapshot) error { return writeJSON(w, s) }

// WriteSnapshotTable writes the last snapshot of a complete run as a table.
func WriteSnapshotTable(w io.Writer, s *run.Snapshot, color bool) error {
	rows := append([][]string{totalRow((*big.Int)(s.Total))}, confirmedBy(s).rows()...)
	if len(s.Placed) > 0 {
		rows = append(rows, placedRow(s.Placed))
	}
	elapsed := []string{"time", humanize.Duration(s.Elapsed.Duration), "of its last coordinator"}
	return writeTable(w, append(rows, elapsed, tasksRow(s), runRow(s.Run)), color)
}

// confirmedBy returns what confirms the total of a snapshot.
func confirmedBy(s *run.Snapshot) *Confirmed {
	if s.Confirmed == nil {
		return &Confirmed{run.Confirmed{Level: run.None}}
	}
	return &Confirmed{*s.Confirmed}
}

// LogEnd logs the total of the last snapshot of a complete run.
func LogEnd(log zerolog.Logger, s *run.Snapshot) {
	confirmed := confirmedBy(s)
	event := log.Info().Str("run", s.Run).Str("total", s.Total.String())
	confirmed.log(event)
	event.Uint64("disputes", confirmed.By.Disputes).Msg("the run is complete")
	confirmed.WarnUnconfirmed(log, s.Run)
}

// LogSnapshot logs a snapshot.
func LogSnapshot(log zerolog.Logger, s *run.Snapshot) {
	event := log.Info()
	logDone(event, s)
	if s.ETA == nil {
		event.Str("eta", "estimating")
	} else {
		event.Str("eta", humanize.Remaining(*s.ETA)).
			Float64("eta_least_s", s.ETA.Min.Seconds()).Float64("eta_most_s", s.ETA.Max.Seconds())
	}
	event.Float64("rate", math.Round(s.Rate)).Int("workers", s.Workers).Int("threads", s.Threads)
	logCount(event, "republished", s.Republished)
	logCount(event, "disputes", uint64(max(0, s.Disputes)))
	if s.State == run.Running && s.Bottleneck.Phrase() != "" {
		event.Str("bottleneck", string(s.Bottleneck))
	}
	if len(s.Sharing) > 0 {
		event.Strs("sharing", s.Sharing)
	}
	event.Msg("progress")
}
