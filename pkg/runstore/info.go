package runstore

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"slices"
	"strings"
	"time"

	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
	"nqueens/pkg/symmetry"
)

// Info is what the ledger of a run tells, or its coordinator while another process writes it. In JSON it is the summary of
// a finished run, and what a process says of the run on which it works.
type Info struct {
	// Snapshot is the latest one while the run is locked; otherwise its facts are those of the ledger. It has only
	// the name of the run where the ledger can't be read, or the process that has locked it does not answer.
	run.Snapshot
	Created time.Time
	Ended   time.Time // See [ledger.Ledger.Ended].
	Hash    string    // Of the manifest, in 64 hexadecimal digits; empty if it is not known.
	// Server is the URL of the run's NATS server for other machines while the run is locked, without a password; empty if
	// it accepts no connections from outside, or before it is known.
	Server      string
	Damaged     int                 // Tasks with damaged records, which Done does not include.
	Manifest    *queens.Manifest    // nil while the run is locked.
	DoneByClass []uint64            // See [ledger.Ledger.DoneByClass]; nil while the run is locked.
	Locked      *ledger.LockedError `json:"-"` // Set while another process works on the run.
	Err         error               `json:"-"` // Why the ledger can't be read; then only Run is set.
}

// What [Info.Status] says beside the states that a ledger stores.
const (
	Interrupted = "interrupted" // the ledger says running, and no process works on the run
	Unreadable  = "unreadable"  // the ledger can't be read
)

// Status returns the run's state, or Interrupted or Unreadable.
func (i *Info) Status() string {
	switch {
	case i.Err != nil:
		return Unreadable
	case i.Locked == nil && i.State == run.Running:
		return Interrupted
	}
	return string(i.State)
}

// matches reports whether the run counts the manifest's board by the same symmetry. The
// hash cannot distinguish boards with no tasks.
func (i *Info) matches(m *queens.Manifest) bool {
	return i.N == m.N && i.Symmetry == m.Symmetry && slices.Equal(i.Placed, m.Placed)
}

// Inspect returns what the ledger of a run tells. Damaged records are no error. That of a finished run is read once, as
// long as nobody writes it.
func (s *Store) Inspect(name string) Info {
	if i, ok := s.readSummary(name); ok {
		return i
	}
	l, err := ledger.OpenTolerant(s.Folder(name))
	var locked *ledger.LockedError
	switch {
	case errors.As(err, &locked):
		return s.active(name, locked)
	case err != nil:
		return Info{Snapshot: run.Snapshot{Run: name}, Err: err}
	}
	defer func() { _ = l.Close() }() // it was only read
	info := newInfo(l)
	info.Run = name // the folder may have another name
	if total := l.Total(); total != nil && addsUp(l, total) {
		info.SetTotal(total, new(l.Confirmation(total)))
		info.Solutions = info.Total
	}
	if file, err := os.Stat(s.Ledger(name)); err == nil {
		info.At = file.ModTime().UTC()
		if info.State.Finished() {
			s.keepSummary(&info, file)
		}
	}
	return info
}

// addsUp reports whether all tasks have counts that sum to a total, which no published one contradicts. It is less
// than an audit: it believes the counts. A ledger of elsewhere may hold any total.
func addsUp(l *ledger.Ledger, total *big.Int) bool {
	m := l.Header().Manifest
	sums := symmetry.Sums(l.Figures().Solutions())
	return l.Len() == m.Tasks && sums.Total().Cmp(total) == 0 && queens.Compare(m.N, m.Placed, total) != queens.Mismatch
}

// newInfo returns what a ledger tells, except its total.
func newInfo(l *ledger.Ledger) Info {
	h := l.Header()
	m := &h.Manifest
	return Info{
		Snapshot: run.Snapshot{
			Run: h.Run, N: m.N, Symmetry: m.Symmetry, Placed: m.Placed, State: l.State(), Done: l.Len(), Tasks: m.Tasks,
			Elapsed: run.Seconds{Duration: l.Wall()}, Disputes: l.Disputed(), Quarantined: len(l.Quarantined()),
		},
		Created: h.Created, Ended: l.Ended(), Hash: hex.EncodeToString(m.Hash[:]), Damaged: len(l.Damaged()),
		Manifest: m, DoneByClass: l.DoneByClass(),
	}
}

// active returns what the process says that works on a run: without an answer only that it does.
func (s *Store) active(name string, locked *ledger.LockedError) Info {
	i, err := s.askStatus(name)
	if err != nil {
		s.log.Debug().Err(err).Str("run", name).Msg("the process that works on the run does not say how far it is")
		i = Info{Snapshot: run.Snapshot{Run: name, State: run.Running}}
	}
	i.Locked = locked
	return i
}

// Names returns the names of all runs of the store, in no order. The error wraps [ErrFolder].
func (s *Store) Names() (names []string, err error) {
	entries, err := os.ReadDir(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), prunedPrefix) && s.Exists(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Find returns the name of the run that a person names by the beginning of its name, see [run.FindName]. The
// error wraps [ErrNoRun], [ErrFolder] or [run.ErrAmbiguous].
func (s *Store) Find(part string) (string, error) {
	if s.Exists(part) {
		return part, nil
	}
	names, err := s.Names()
	if err != nil {
		return "", err
	}
	name, err := run.FindName(part, names)
	if err == nil && name == "" {
		err = s.NoRun(part)
	}
	return name, err
}

// List returns all runs of the store, the newest first. The error wraps [ErrFolder].
func (s *Store) List() ([]Info, error) {
	slow := time.AfterFunc(slowAfter, func() { s.log.Info().Msg("reading the ledgers, which takes a while") })
	defer slow.Stop()
	names, err := s.Names()
	if err != nil {
		return nil, err
	}
	var found []Info
	for _, name := range names {
		found = append(found, s.Inspect(name))
	}
	slices.SortFunc(found, func(a, b Info) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(b.Run, a.Run))
	})
	return found, nil
}

// Select returns the runs of the store that are wanted, the newest first. It logs which
// can't be read, whether they are wanted or not.
func (s *Store) Select(wanted func(i *Info) bool) ([]Info, error) {
	runs, err := s.List()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(runs, func(i Info) bool {
		if i.Err != nil {
			s.log.Warn().Err(i.Err).Str("run", i.Run).Msg("skipping a run whose ledger can't be read")
		}
		return !wanted(&i)
	}), nil
}

// Resumable returns the newest unfinished run of this manifest, else the newest that is preferred, else the newest that
// was not cancelled, else nil. The error wraps [ErrNotResumable] if a ledger that can't be read, a
// process that does not say what it counts, or a run split by other rules, may be of the same count.
func (s *Store) Resumable(m *queens.Manifest, preferred func(*Info) bool) (*Info, error) {
	hash := hex.EncodeToString(m.Hash[:])
	var blocked error
	runs, err := s.Select(func(i *Info) bool {
		switch {
		case i.Hash == "" && strings.HasPrefix(i.Run, fmt.Sprintf("n%d-", m.N)):
			why := i.Err
			if why == nil {
				why = i.Locked
			}
			blocked = fmt.Errorf("%w: run %s %w: %w", run.ErrIncomplete, i.Run, ErrNotResumable, why)
		case i.matches(m) && !i.State.Finished() && i.Manifest != nil && i.Manifest.SplitVersion != m.SplitVersion:
			blocked = fmt.Errorf("run %s %w: it was split by rules of version %d, this program has version %d: "+
				"resume it with the program that started it", i.Run, ErrNotResumable, i.Manifest.SplitVersion, m.SplitVersion)
		}
		return i.Err == nil && i.matches(m) && i.Hash == hash && i.State != run.Cancelled
	})
	if err := cmp.Or(err, blocked); err != nil {
		return nil, err
	}
	return firstOf(runs, (*Info).IsUnfinished, preferred, func(*Info) bool { return true }), nil
}

// Newest returns the newest run of the first of these kinds of which there is one, or nil. It logs which runs can't be
// read: they are of no kind.
func (s *Store) Newest(kinds ...func(*Info) bool) (*Info, error) {
	runs, err := s.Select(func(i *Info) bool { return i.Err == nil })
	return firstOf(runs, kinds...), err
}

// firstOf returns the first run of the first kind of which there is one, or nil.
func firstOf(runs []Info, kinds ...func(*Info) bool) *Info {
	for _, is := range kinds {
		if k := slices.IndexFunc(runs, func(i Info) bool { return is(&i) }); k >= 0 {
			return &runs[k]
		}
	}
	return nil
}

// IsUnfinished reports whether something is left to count, as far as is known.
func (i *Info) IsUnfinished() bool { return !i.State.Finished() }

// NewestUnfinished returns the name of the newest unfinished run that no other process works
// on. The error wraps [ErrNothingToResume] if there is none, and the [ledger.LockedError] of
// each run that is in use.
func (s *Store) NewestUnfinished() (string, error) {
	runs, err := s.Select(func(i *Info) bool { return i.Err == nil && !i.State.Finished() })
	if err != nil {
		return "", err
	}
	var inUse []error
	for _, r := range runs {
		if r.Locked == nil {
			return r.Run, nil
		}
		inUse = append(inUse, r.Locked)
	}
	err = fmt.Errorf("%w in %s", ErrNothingToResume, s.path)
	if len(inUse) > 0 {
		err = fmt.Errorf("%w: other processes work on all unfinished runs: %w", err, errors.Join(inUse...))
	}
	return "", err
}
