package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
)

// Count is what a person asks the program to count, and how. Two runs with the same Count are
// interchangeable.
type Count struct {
	Method     queens.Method // empty for any: the total is the same
	N          int
	Placed     []queens.Square // sorted by row
	Symmetry   queens.Symmetry
	Depth      int // 0 if the splitter chooses
	Redundancy int
}

// CountOf returns the Count of a run.
func CountOf(h *ledger.Header) Count {
	m := &h.Manifest
	return Count{m.Method, m.N, m.Placed, m.Symmetry, h.Depth, h.Redundancy}
}

// describes reports whether a run with the Count d counts what c asks for.
func (c *Count) describes(d *Count) bool {
	return (c.Method == "" || c.Method == d.Method) && c.N == d.N &&
		slices.Equal(c.Placed, d.Placed) && c.Symmetry == d.Symmetry &&
		c.Depth == d.Depth && c.Redundancy == d.Redundancy
}

// Of returns the newest unfinished run of a count, or else its newest complete run, or nil. If
// there is no unfinished run, and a run of the same board side can't be read, the error wraps
// [ErrUnreadable]. Runs of another format are not in the way. The error may also wrap [ErrFolder].
func (s *Store) Of(c Count) (*Run, error) {
	list, err := s.List()
	if err != nil {
		return nil, err
	}
	var complete *Run
	var blocked error
	for i := range list {
		r := &list[i]
		switch {
		case errors.Is(r.Err, ledger.ErrFormat):
		case r.Err != nil && strings.HasPrefix(r.Name, fmt.Sprintf("n%d-", c.N)):
			blocked = errors.Join(blocked, fmt.Errorf("run %s %w: %w", r.Name, ErrUnreadable, r.Err))
		case r.Err != nil || !c.describes(new(CountOf(r.Header))):
		case r.IsUnfinished():
			return r, nil
		case r.State == queens.Complete && complete == nil:
			complete = r
		}
	}
	if blocked != nil {
		return nil, blocked
	}
	return complete, nil
}

// removedPrefix begins the names of the folders of runs that are being removed: the store has a run
// as a whole or not at all.
const removedPrefix = ".removed-"

// Remove removes a run, even one whose ledger is missing, and returns the size of its files in
// bytes; with dryRun it removes nothing. Otherwise it also removes the folders that interrupted
// calls have left. The error wraps a [ledger.LockedError] if a process works on the run, or
// [ErrNoRun], or comes from the file system.
func (s *Store) Remove(name string, dryRun bool) (bytes int64, err error) {
	if err := s.checkFolder(name); err != nil {
		return 0, err
	}
	folder, removed := s.Folder(name), s.Folder(removedPrefix+name)
	bytes, err = size(folder)
	if err == nil && dryRun {
		err = ledger.Held(folder)
	}
	if err != nil || dryRun {
		return bytes, err
	}
	if err := s.removeRests(); err != nil {
		return 0, err
	}
	lock, err := ledger.Lock(folder)
	if err != nil {
		return 0, err
	}
	err = os.Rename(folder, removed)
	if unlocked := lock.Release(); err != nil && unlocked == nil {
		err = os.Rename(folder, removed) // Windows does not rename a folder with an open file
	}
	if err == nil {
		err = os.RemoveAll(removed)
	}
	return bytes, err
}

// removeRests removes the folders that interrupted calls of Remove have left.
func (s *Store) removeRests() error {
	entries, err := os.ReadDir(s.path)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), removedPrefix) {
			err = errors.Join(err, os.RemoveAll(s.Folder(e.Name())))
		}
	}
	return err
}

// size returns the size of the files in a folder.
func size(folder string) (bytes int64, err error) {
	err = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}
