// Package runstore keeps the runs of this machine on disk: one folder holds them all, and
// in it each run has a folder of its own with its ledger; until the run has ended, the store of its
// embedded server and what it was started with; while a process works on it, a socket at
// which others can ask that process; and, for a moment, a file that asks for its end. What a ledger
// contains is the business of package ledger; runs on a server are that of package bus.
package runstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/shirou/gopsutil/v4/disk"

	"nqueens/pkg/durable"
	"nqueens/pkg/identity"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// Faults of a store. Errors wrap these and name the folder or the run.
var (
	// ErrNotFolder: the path of the store is that of a file.
	ErrNotFolder = errors.New("is not a folder")
	// ErrFolder: the folder of the store can't be read or written.
	ErrFolder = errors.New("can't use the folder of runs")
	// ErrNoRun: the store has no ledger of the run.
	ErrNoRun = errors.New("there is no run")
	// ErrNotResumable: an unfinished run may be of the same count, and can't be resumed.
	ErrNotResumable = errors.New("may be of the same count and can't be resumed")
	// ErrNothingToResume: no run in the store is unfinished and free to be resumed.
	ErrNothingToResume = errors.New("there is nothing to resume")
)

// Store is the folder of the runs on this machine.
type Store struct {
	path      string
	log       zerolog.Logger
	removeAll func(folder string) error // [os.RemoveAll], except in tests
}

// New returns the store in a folder, which need not exist yet; "" is the default,
// $XDG_STATE_HOME/nqueens. The error wraps [ErrNotFolder] or [ErrFolder].
func New(path string, log zerolog.Logger) (*Store, error) {
	if path == "" {
		var err error
		if path, err = identity.StateFolder(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFolder, err)
		}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, syscall.ENOTDIR), err == nil && !info.IsDir():
		return nil, fmt.Errorf("%s %w", path, ErrNotFolder)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	return &Store{path: path, log: log, removeAll: os.RemoveAll}, nil
}

// Path returns the folder of all runs.
func (s *Store) Path() string { return s.path }

// Folder returns the folder of a run.
func (s *Store) Folder(name string) string { return filepath.Join(s.path, name) }

// Free returns the space in bytes that is left for this user on the disk of a run's folder.
func (s *Store) Free(name string) (uint64, error) {
	usage, err := disk.Usage(s.Folder(name))
	if err != nil {
		return 0, err
	}
	return usage.Free, nil
}

// Ledger returns the file of a run's ledger.
func (s *Store) Ledger(name string) string { return filepath.Join(s.Folder(name), ledger.File) }

// ServerFolder returns the folder of the embedded server's files of a run.
func (s *Store) ServerFolder(name string) string { return filepath.Join(s.Folder(name), "nats") }

// Exists reports whether there is a ledger of the run.
func (s *Store) Exists(name string) bool {
	_, err := os.Stat(s.Ledger(name))
	return err == nil
}

// Create creates the ledger of a new run, which says how the run checks its counts, under a name that no
// other run in the store has. The error wraps [ErrFolder].
func (s *Store) Create(m queens.Manifest, t ledger.Trust, created time.Time) (*ledger.Ledger, error) {
	for {
		name := run.NewName(m.N, created)
		l, err := ledger.Create(s.Folder(name), ledger.Header{Run: name, Created: created, Manifest: m, Trust: t})
		switch {
		case errors.Is(err, fs.ErrExist): // of the same second, by chance
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrFolder, err)
		default:
			return l, nil
		}
	}
}

// Open opens the ledger of a run for writing, for a moment: a process that works on the run calls [Store.Work].
// It waits a moment for readers to close it. Its folder must have the name of the run.
func (s *Store) Open(ctx context.Context, name string) (*ledger.Ledger, error) {
	return s.open(ctx, name, nil)
}

func (s *Store) open(ctx context.Context, name string, locked func(*ledger.Ledger)) (*ledger.Ledger, error) {
	slow := time.AfterFunc(slowAfter, func() {
		s.log.Info().Str("run", name).Msg("reading the ledger, which takes a while")
	})
	defer slow.Stop()
	l, err := ledger.Open(ctx, s.Folder(name), locked)
	if err != nil {
		return nil, err
	}
	return s.checkName(l, name)
}

// OpenReadOnly opens the ledger of a run for reading. The error wraps [ErrNoRun] if there
// is none.
func (s *Store) OpenReadOnly(name string) (*ledger.Ledger, error) {
	if !s.Exists(name) {
		return nil, s.NoRun(name)
	}
	l, err := ledger.OpenReadOnly(s.Folder(name))
	if err != nil {
		return nil, err
	}
	return s.checkName(l, name)
}

// checkName returns a ledger, or closes it if it is not that of the run whose folder it is in: a
// person has put it there.
func (s *Store) checkName(l *ledger.Ledger, name string) (*ledger.Ledger, error) {
	if l.Header().Run == name {
		return l, nil
	}
	err := fmt.Errorf("the ledger in %s is of run %s: give the folder that name", s.Folder(name), l.Header().Run)
	return nil, errors.Join(err, l.Close())
}

// NoRun returns the error that says that the store has no such run; it wraps [ErrNoRun].
func (s *Store) NoRun(name string) error { return fmt.Errorf("%w %s in %s", ErrNoRun, name, s.path) }

// slowAfter is how long ledgers are read in silence.
const slowAfter = time.Second

// Options are what a run was started with: the values of flags, by the names of these. They hold no
// secrets, only the names of files with such. No count depends on them.
type Options map[string]string

const optionsFile = "options.json"

// ErrOptions says that there are options of a run, and that they can't be read.
var ErrOptions = errors.New("what the run was started with can't be read")

func (s *Store) optionsPath(name string) string { return filepath.Join(s.Folder(name), optionsFile) }

// SaveOptions keeps options with a run, in place of those before. Only their owner can read them.
func (s *Store) SaveOptions(name string, o Options) error {
	return durable.WriteJSON(s.optionsPath(name), o)
}

// Options returns the options that are kept with a run; nil if there are none. The error wraps
// [ErrOptions].
func (s *Store) Options(name string) (o Options, err error) {
	text, err := os.ReadFile(s.optionsPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrOptions, s.optionsPath(name), err)
	}
	return o, nil
}
