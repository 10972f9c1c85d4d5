package run

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	"nqueens/pkg/queens"
)

// Progress is a snapshot of a run for displays, local and remote. No decision depends on it.
type Progress struct {
	Run      string
	N        int
	Symmetry queens.Symmetry
	Placed   int // Queens placed beforehand.
	State    State
	Total    *big.Int // nil unless State is Complete.
	// Confirmation says what stands behind the total; it is zero without one.
	Confirmation Confirmation

	Done, Tasks uint64
	WorkDone    float64  // Share of the estimated work that is done, 0 to 1.
	Solutions   *big.Int // Found so far, weighted: grows to the total. Not nil.
	Rate        float64  // Recent solutions per second.
	Elapsed     time.Duration
	ETA         Range // Remaining time; zero if unknown.
	WorkerCount int   // With a recent heartbeat.
	Threads     int   // Of all those workers.
	Republished uint64
	Conflicts   int // Tasks whose results contradicted each other, settled or not.
	Bound       Bound
	// MovedTo is set in the last snapshot on a server that the run has left: the addresses of the
	// server that it uses now, without passwords, or [Embedded]. Its State is Stopped then.
	MovedTo string
	// SharedWith are other runs that are alive on the server, sorted: they share the workers.
	// There are at most [MaxSharedWith].
	SharedWith []string

	// Workers are the workers, sorted by name. If there are more than [MaxWorkers], they are
	// those that have held a task the longest.
	Workers []WorkerStatus
}

// Embedded stands for a server inside the coordinator, in place of an address.
const Embedded = "embedded"

// Bounds of [Progress.Workers] and [Progress.SharedWith].
const (
	MaxWorkers    = 256
	MaxSharedWith = 16
)

// WorkerStatus is a worker in a [Progress].
type WorkerStatus struct {
	Name        string
	Kernel      string
	Threads     int
	Rate        float64       // Solutions per second in its last tasks; 0 before the first, and while it is idle.
	Held        int           // Chunks that it is searching.
	LongestTask time.Duration // How long it has been searching the oldest of them.
}

// Range bounds a duration that is not known exactly.
type Range struct {
	Min time.Duration `json:"min_ns"`
	Max time.Duration `json:"max_ns"`
}

// maxBits bounds numbers of solutions: those of a board of side [queens.MaxN] need about a
// hundred bits.
const maxBits = 256

// Validate returns the first thing wrong with a progress report from outside.
func (s *Progress) Validate() error {
	if err := queens.ValidateRun(s.Run); err != nil {
		return err
	}
	err := cmp.Or(s.check(), s.checkConfirmation(), s.Bound.Validate(), queens.ValidateName("a server", s.MovedTo))
	for i := 0; err == nil && i < len(s.SharedWith); i++ {
		err = queens.ValidateRun(s.SharedWith[i])
	}
	for i := 0; err == nil && i < len(s.Workers); i++ {
		err = s.Workers[i].check()
	}
	if err != nil {
		return fmt.Errorf("progress of run %s: %w", s.Run, err)
	}
	return nil
}

// check returns the first thing wrong apart from the run's name and the workers.
func (s *Progress) check() error {
	if err := queens.ValidateN(s.N); err != nil {
		return err
	}
	if err := s.State.Validate(); err != nil {
		return err
	}
	switch {
	case s.Symmetry != queens.Full && s.Symmetry != queens.Mirror && s.Symmetry != queens.None:
		return fmt.Errorf("no count has the symmetry %.80q", s.Symmetry)
	case (s.Total != nil) != (s.State == Complete):
		return fmt.Errorf("the state %s, and a total: %v", s.State, s.Total != nil)
	case s.Total != nil && !isCount(s.Total), !isCount(s.Solutions):
		return fmt.Errorf("a number of solutions that is missing, negative, or has more than %d bits", maxBits)
	case s.MovedTo != "" && s.State != Stopped:
		return fmt.Errorf("the state %s, and a move to another server", s.State)
	case s.Placed < 0 || s.Placed > s.N:
		return fmt.Errorf("%d placed queens on a board of side %d", s.Placed, s.N)
	case s.Elapsed < 0:
		return fmt.Errorf("negative or reversed times: %v elapsed", s.Elapsed)
	case s.WorkerCount < 0 || s.Threads < 0 || s.Conflicts < 0:
		return fmt.Errorf("%d workers, %d threads, %d conflicts", s.WorkerCount, s.Threads, s.Conflicts)
	case len(s.SharedWith) > MaxSharedWith:
		return fmt.Errorf("a list of %d other runs, more than %d", len(s.SharedWith), MaxSharedWith)
	case len(s.Workers) > MaxWorkers:
		return fmt.Errorf("a list of %d workers, more than %d", len(s.Workers), MaxWorkers)
	}
	pace := s.Pace()
	return pace.Validate(s.Tasks)
}

// checkConfirmation returns the first thing wrong with what stands behind the total.
func (s *Progress) checkConfirmation() error {
	c := &s.Confirmation
	switch {
	case s.Total == nil && *c != Confirmation{}:
		return errors.New("a confirmation without a total")
	case c.Tasks > s.Tasks:
		return fmt.Errorf("counts of %d tasks of %d", c.Tasks, s.Tasks)
	case c.Published && !s.IsPublished():
		return errors.New("a total that is not the published one, although it says so")
	}
	return c.Validate()
}

// IsPublished reports whether there is a total, and it is the published one.
func (s *Progress) IsPublished() bool {
	known, ok := queens.KnownTotal(s.N)
	return ok && s.Placed == 0 && s.Total != nil && s.Total.Cmp(known) == 0
}

func (m *WorkerStatus) check() error {
	err := validateWorker(m.Name, m.Kernel, m.Threads, m.Held)
	switch {
	case err != nil:
		return err
	case !isRate(m.Rate):
		return fmt.Errorf("worker %q with the rate %v", m.Name, m.Rate)
	case m.LongestTask < 0:
		return fmt.Errorf("worker %q with a task for a negative time", m.Name)
	}
	return nil
}

// isCount reports whether x can be a number of solutions.
func isCount(x *big.Int) bool { return x != nil && x.Sign() >= 0 && x.BitLen() <= maxBits }

// isRate reports whether x can be a rate.
func isRate(x float64) bool { return x >= 0 && !math.IsInf(x, 0) }
