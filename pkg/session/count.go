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
}

// MaxRedundancy is the greatest redundancy of a run.
const MaxRedundancy = 5

// ErrUnique says that fundamental solutions can't be counted: rotations and reflections move
// placed queens.
var ErrUnique = errors.New("fundamental solutions can't be counted with queens placed beforehand")

// ErrPreviousContradicted says that the last run of the same count ended contradicted.
var ErrPreviousContradicted = fmt.Errorf("%w: so ended the last run of the same count", queens.ErrContradiction)

// Count opens the newest unfinished run of a job in the store, or else a new run. Errors are
// those of [runstore.Store], or wrap [ErrPreviousContradicted], [ErrUnique], [ErrRedundancy] or a
// [VotersError].
func Count(ctx context.Context, cfg Config, job Job) (*Session, error) {
	return open(cfg, func(s *Session) error { return s.openCount(ctx, job) })
}

func (s *Session) openCount(ctx context.Context, job Job) error {
	if s.cfg.Unique && len(job.Placed) > 0 {
		return ErrUnique
	}
	if err := s.cfg.Store.EnsureWritable(); err != nil {
		return err
	}
	switch isNew, err := s.isNew(&job); {
	case err != nil:
		return err
	case isNew:
		if err := s.checkNew(&job); err != nil {
			return err
		}
	}
	slow := time.AfterFunc(slowAfter, func() {
		s.log.Info().Int("n", job.N).Msg("planning the tasks, which takes a while")
	})
	manifest, err := Plan(ctx, job)
	slow.Stop()
	if err != nil {
		return err
	}
	var before *runstore.Info
	if !job.New {
		if before, err = s.cfg.Store.Resumable(&manifest); err != nil {
			return err
		}
	}
	switch {
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
