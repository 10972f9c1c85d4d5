package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/runstore"
	"nqueens/pkg/split"
	"nqueens/pkg/symmetry"
)

// Job is what to count.
type Job struct {
	N          int // side of the board, 1 to [queens.MaxN]
	Symmetry   queens.Symmetry
	Placed     []queens.Square // queens placed beforehand, sorted; only with [queens.None]
	Depth      int             // rows of all prefixes, with one prefix a task; 0 chooses tasks of a good size
	Redundancy int             // voters that must agree on each task, 1 to [MaxRedundancy]; 0 is no choice: 1, or [ErrRedundancy]
	SpotCheck  run.SpotCheck   // tasks that another voter counts again, or else the coordinator
	New        bool            // start a new run even if the same count was interrupted
	// Once audits a complete run of the same count again instead of counting, if it is confirmed as well as the job
	// asks for.
	Once bool
}

// isAnswered reports whether the total of a complete run is confirmed as well as the job asks for.
func (j *Job) isAnswered(i *runstore.Info) bool {
	switch {
	case i.State != run.Complete || i.Confirmed == nil:
		return false
	case i.Level == run.Published:
		return true
	case j.Redundancy > 1:
		return i.Level == run.Redundant && i.By.Redundancy >= j.Redundancy
	case j.SpotCheck.Share > 0 && !j.SpotCheck.Bounded:
		return i.Level != run.None
	}
	return true
}

// MaxRedundancy is the greatest redundancy of a run.
const MaxRedundancy = 5

// ErrUnique says that fundamental solutions can't be counted: rotations and reflections move
// placed queens.
var ErrUnique = errors.New("fundamental solutions can't be counted with queens placed beforehand")

// ErrPreviousContradicted says that the last run of the same count ended contradicted.
var ErrPreviousContradicted = fmt.Errorf("%w: so ended the last run of the same count", run.ErrContradiction)

// Count opens the newest unfinished run of a job in the store, or else a new run; see also [Job.Once]. Errors are
// those of [runstore.Store], or wrap [ErrPreviousContradicted], [ErrUnique], [ErrRedundancy] or
// [ErrVoters].
func Count(ctx context.Context, cfg Config, job Job) (*Session, error) {
	return open(cfg, func(s *Session) error { return s.openCount(ctx, job) })
}

func (s *Session) openCount(ctx context.Context, job Job) error {
	if s.cfg.Unique && len(job.Placed) > 0 {
		return ErrUnique
	}
	slow := s.notePlanning(job.N)
	manifest, err := Plan(ctx, job)
	slow.Stop()
	if err != nil {
		return err
	}
	var before *runstore.Info
	if !job.New {
		if before, err = s.cfg.Store.Resumable(&manifest, func(i *runstore.Info) bool { return job.Once && job.isAnswered(i) }); err != nil {
			return err
		}
	}
	switch {
	case job.Once && before != nil && job.isAnswered(before):
		return s.openLedger(ctx, before.Run)
	case before != nil && before.State == run.Contradicted:
		return fmt.Errorf("%w, %s", ErrPreviousContradicted, before.Run)
	case before == nil || before.State.Finished():
		if err := s.checkNew(&job); err != nil {
			return err
		}
		s.warnNew(&job)
		s.created = true
		trust := newTrust(job.Redundancy, job.SpotCheck)
		l, err := s.cfg.Store.Create(manifest, trust, s.started)
		if err != nil {
			return err
		}
		s.answerForNew(l)
	default:
		if err = s.openWriting(ctx, before.Run); err == nil {
			s.compareTrust(&job)
			err = s.checkLedgerVoters()
		}
	}
	return err
}

// notePlanning logs that the tasks are planned, unless the timer that it returns is stopped soon.
func (s *Session) notePlanning(n int) *time.Timer {
	return time.AfterFunc(slowAfter, func() { s.log.Info().Int("n", n).Msg("planning the tasks, which takes a while") })
}

// newTrust returns how a new run checks its counts, with a new seed.
func newTrust(redundancy int, spotCheck run.SpotCheck) ledger.Trust {
	t := ledger.Trust{Redundancy: min(max(redundancy, 1), MaxRedundancy), SpotCheck: spotCheck.Clamped()}
	_, _ = rand.Read(t.Seed[:]) // never fails
	return t
}

// compareTrust logs that an interrupted run checks its counts as it was started to, if a job asks
// for something else.
func (s *Session) compareTrust(job *Job) {
	t := s.ledger.Header().Trust
	if was := t.Redundancy; job.Redundancy != 0 && job.Redundancy != was || t.SpotCheck != job.SpotCheck {
		s.log.Warn().Str("run", s.Name()).Int("redundancy", was).Stringer("spot_check", t.SpotCheck).
			Msg("the interrupted run keeps the redundancy and spot checks with which it was started; --new starts another")
	}
}

// Plan returns the manifest of a job.
func Plan(ctx context.Context, job Job) (queens.Manifest, error) {
	classes, err := symmetry.Classes(job.N, job.Symmetry, job.Placed...)
	if err != nil {
		return queens.Manifest{}, err
	}
	m, err := split.Plan(ctx, job.N, job.Symmetry, classes, job.Depth)
	m.Placed = job.Placed
	return m, err
}
