package runstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/run"
)

// prunedPrefix begins the names of folders of runs that are being removed. A folder gets it in one
// step, while nobody else has the ledger open: the run is there as a whole, or not at all.
const prunedPrefix = ".pruned-"

// Pruned is a run that was removed, or would be.
type Pruned struct {
	Run    string
	State  run.State // empty for the rest of a run whose removal was interrupted
	Ended  time.Time // when its ledger was last written; valid with a state
	Bytes  uint64    // of its files on this machine
	Server string    // from which it was removed; empty for this machine
}

// Prune removes the runs that are complete or cancelled and wanted, by their name and when they ended, and
// reports each, the newest first. With dryRun it removes nothing. It removes no run that has tasks without a count,
// is contradicted, can't be read, or is in use. First it removes what an interrupted Prune has left.
// It continues after an error.
func (s *Store) Prune(ctx context.Context, wanted func(name string, ended time.Time) bool, dryRun bool, each func(Pruned)) error {
	failed := s.pruneRests(dryRun, each)
	runs, err := s.Select(func(i *Info) bool { return i.Err == nil && isPrunable(i.State) })
	for i := range runs {
		if ctx.Err() != nil {
			return errors.Join(failed, err, context.Cause(ctx))
		}
		if i := &runs[i]; i.Damaged > 0 {
			s.log.Warn().Str("run", i.Run).Int("records", i.Damaged).Msg("keeping a run with damaged records")
			continue
		} else if !isWhole(i.State, i.Done, i.Tasks) {
			s.log.Warn().Str("run", i.Run).Uint64("tasks", i.Tasks-i.Done).Msg("keeping a complete run that has lost counts: coordinator resume makes them again")
			continue
		}
		if err := s.pruneRun(ctx, &runs[i], wanted, dryRun, each); err != nil {
			failed = errors.Join(failed, fmt.Errorf("remove run %s: %w", runs[i].Run, err))
		}
	}
	return errors.Join(failed, err)
}

// isPrunable reports whether a run in that state is of no use for counting on. The ledger of a
// contradicted one is evidence.
func isPrunable(state run.State) bool { return state == run.Complete || state == run.Cancelled }

// isWhole reports whether a complete run still has all its counts. A command that opens a ledger for writing removes its
// damaged records, and a resume then counts their tasks again. Other runs are whole.
func isWhole(state run.State, done, tasks uint64) bool { return state != run.Complete || done == tasks }

// pruneRests removes the folders that an interrupted Prune has left.
func (s *Store) pruneRests(dryRun bool, each func(Pruned)) error {
	entries, err := os.ReadDir(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	var failed error
	for _, e := range entries {
		name, isRest := strings.CutPrefix(e.Name(), prunedPrefix)
		if !isRest || !e.IsDir() {
			continue
		}
		folder := filepath.Join(s.path, e.Name())
		p := Pruned{Run: name, Bytes: size(folder)}
		if !dryRun {
			err = s.removeAll(folder)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("remove the rest of run %s: %w", name, err))
			continue
		}
		each(p)
	}
	return failed
}

func (s *Store) pruneRun(ctx context.Context, i *Info, wanted func(name string, ended time.Time) bool, dryRun bool, each func(Pruned)) error {
	file, err := os.Stat(s.Ledger(i.Run))
	if err != nil || !wanted(i.Run, file.ModTime()) {
		return err
	}
	folder, rest := s.Folder(i.Run), filepath.Join(s.path, prunedPrefix+i.Run)
	p := Pruned{Run: i.Run, State: i.State, Ended: file.ModTime(), Bytes: size(folder)}
	if dryRun {
		each(p)
		return nil
	}
	l, err := s.Open(ctx, i.Run)
	if errors.As(err, new(*ledger.LockedError)) {
		s.log.Info().Err(err).Str("run", i.Run).Msg("keeping a run that is in use")
		return nil
	}
	if err != nil {
		return err
	}
	if !isPrunable(l.State()) || len(l.Damaged()) > 0 || !isWhole(l.State(), l.Len(), i.Tasks) { // since its summary was made
		return l.Close()
	}
	err = os.Rename(folder, rest)
	if closed := l.Close(); err != nil && closed == nil {
		err = os.Rename(folder, rest) // Windows renames no folder with an open file
	}
	if err == nil {
		err = s.removeAll(rest)
	}
	if err == nil {
		each(p)
	}
	return err
}

// Size returns the size of the files of a run on this machine, as far as they can be read, in bytes.
func (s *Store) Size(name string) uint64 { return size(s.Folder(name)) }

// size returns the size of the files in a folder, as far as they can be read, in bytes.
func size(folder string) (bytes uint64) {
	_ = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // the sizes of others are still of use
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			bytes += uint64(info.Size())
		}
		return nil
	})
	return bytes
}
