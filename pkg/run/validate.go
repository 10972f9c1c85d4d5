package run

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"nqueens/pkg/queens"
)

// Validate returns the first thing wrong with a snapshot from outside.
func (s *Snapshot) Validate() error {
	if err := queens.ValidateRun(s.Run); err != nil {
		return err
	}
	err := cmp.Or(queens.ValidateN(s.N), s.State.Validate(), s.check(), s.checkTotal(), s.Bottleneck.Validate())
	for i := 0; err == nil && i < len(s.Sharing); i++ {
		err = queens.ValidateRun(s.Sharing[i])
	}
	for i := 0; err == nil && i < len(s.WorkerList); i++ {
		err = s.WorkerList[i].validate()
	}
	if err != nil {
		return fmt.Errorf("snapshot of run %s: %w", s.Run, err)
	}
	return nil
}

func (s *Snapshot) check() error {
	t := &s.States
	switch {
	case s.Symmetry != queens.Full && s.Symmetry != queens.Mirror && s.Symmetry != queens.None:
		return fmt.Errorf("no count has the symmetry %.80q", s.Symmetry)
	case queens.ValidatePlaced(s.N, s.Placed) != nil:
		return queens.ValidatePlaced(s.N, s.Placed)
	case max(s.Done, t.InFlight, t.Waiting, t.Disputed, t.DeadLettered) > s.Tasks:
		return fmt.Errorf("%d tasks, of which %d are done, %d in flight, %d wait, %d are disputed and %d dead-lettered",
			s.Tasks, s.Done, t.InFlight, t.Waiting, t.Disputed, t.DeadLettered)
	case !(s.WorkDone >= 0 && s.WorkDone <= 1):
		return fmt.Errorf("the part %v of the work is done, not 0 to 1", float64(s.WorkDone))
	case s.Solutions == nil:
		return errors.New("no number of solutions")
	case !isRate(s.Rate):
		return fmt.Errorf("the rate is %v", s.Rate)
	case s.Elapsed.Duration < 0 || s.ETA != nil && (s.ETA.Min.Duration < 0 || s.ETA.Max.Duration < s.ETA.Min.Duration):
		return errors.New("negative or reversed times")
	case min(s.Workers, s.Threads, s.IdleThreads, s.Disputes, s.Quarantined) < 0:
		return errors.New("a negative number of workers, threads, disputes or keys")
	case min(s.QueuedChunks, s.HeldChunks, s.WindowChunks, s.WindowBytes) < 0:
		return errors.New("a negative number of chunks or bytes")
	case len(s.Sharing) > MaxSharing:
		return fmt.Errorf("a list of %d other runs, more than %d", len(s.Sharing), MaxSharing)
	case len(s.WorkerList) > MaxWorkers:
		return fmt.Errorf("a list of %d workers, more than %d", len(s.WorkerList), MaxWorkers)
	}
	return nil
}

// checkTotal returns the first thing wrong with the total, and with what confirms it.
func (s *Snapshot) checkTotal() error {
	switch {
	case (s.Total != nil) != (s.State == Complete):
		return fmt.Errorf("the state %s, and a total: %v", s.State, s.Total != nil)
	case s.Confirmed == nil:
		return nil
	case s.Total == nil:
		return errors.New("a confirmation without a total")
	case s.By.Tasks > s.Tasks:
		return fmt.Errorf("counts of %d tasks of %d", s.By.Tasks, s.Tasks)
	case s.By.Published && !s.IsPublished():
		return errors.New("a total that is not the published one, although it says so")
	case s.Level != s.By.Level():
		return fmt.Errorf("a total that is confirmed as %.80q, and not as %q", s.Level, s.By.Level())
	}
	return s.By.Validate()
}

func (w *Worker) validate() error {
	err := validateWorker(w.Name, w.Kernel, w.Threads, w.Held)
	switch {
	case err != nil:
		return err
	case !isRate(w.Rate):
		return fmt.Errorf("worker %q with the rate %v", w.Name, w.Rate)
	case w.Oldest.Duration < 0:
		return fmt.Errorf("worker %q with a chunk for a negative time", w.Name)
	}
	return nil
}

// isRate reports whether x can be a rate.
func isRate(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }
