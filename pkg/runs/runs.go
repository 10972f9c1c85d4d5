// Package runs lists, finds, opens and removes the runs of this machine. They are in one folder, in
// which each run has its own folder. The folder of a run holds its ledger, and a lock file that
// names the process that works on the run.
package runs

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"nqueens/pkg/durable"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/split"
)

// Errors of a store. They are wrapped, with the folder or the run in the text.
var (
	// ErrFolder: the folder of the runs can't be used.
	ErrFolder = errors.New("can't use the folder of runs")
	// ErrNoRun: the store has no such run.
	ErrNoRun = errors.New("there is no run")
	// ErrAmbiguous: a text begins the names of several runs.
	ErrAmbiguous = errors.New("give more of the name")
	// ErrUnreadable: a run that may be of the same count can't be read.
	ErrUnreadable = errors.New(
		"may be of the same count and can't be read: mend that, or start another count with --new")
)

// Store is a folder of runs on this machine.
type Store struct{ path string }

// NewStore returns the store in a folder, which need not exist yet. If path is "", the folder is
// [durable.StateFolder]. The error wraps [ErrFolder].
func NewStore(path string) (*Store, error) {
	if path == "" {
		var err error
		if path, err = durable.StateFolder(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFolder, err)
		}
	}
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	return &Store{path: path}, nil
}

// Path returns the folder of all runs.
func (s *Store) Path() string { return s.path }

// Folder returns the folder of a run.
func (s *Store) Folder(name string) string { return filepath.Join(s.path, name) }

// Ledger returns the path of the ledger of a run.
func (s *Store) Ledger(name string) string { return filepath.Join(s.Folder(name), ledger.File) }

// Create creates the ledger of a new run, under a name that no other run of the store has. It sets
// the secret, the format, the name and the time in the header. The error wraps [ErrFolder].
func (s *Store) Create(h ledger.Header, created time.Time) (*ledger.Log, *ledger.State, error) {
	_, _ = rand.Read(h.Secret[:]) // never fails, see crypto/rand
	h.Format, h.Created = ledger.Format, created.UTC()
	for {
		h.Run = newName(h.Manifest.N, created)
		l, err := ledger.Create(s.Ledger(h.Run), h)
		switch {
		case errors.Is(err, fs.ErrExist): // by chance another run got the name in this second
		case err != nil:
			return nil, nil, s.notCreated(h.Run, err)
		default:
			return l, ledger.NewState(&h), nil
		}
	}
}

// notCreated removes what is left of a run that could not be created, and returns why it could not.
// The error wraps [queens.ErrIncomplete] if there is no room: with room, the same command counts.
func (s *Store) notCreated(run string, err error) error {
	_ = os.RemoveAll(s.Folder(run)) // its name was free
	err = fmt.Errorf("%w: %w: %s", ErrFolder, err, durable.Advice(err))
	if durable.IsFull(err) {
		err = fmt.Errorf("%w: %w", queens.ErrIncomplete, err)
	}
	return err
}

// Open opens the ledger of a run for writing. The error wraps [ErrNoRun], says that the name is
// invalid, or comes from the file system or [ledger.Open].
func (s *Store) Open(name string) (*ledger.Log, *ledger.State, ledger.Notes, error) {
	if err := s.check(name); err != nil {
		return nil, nil, ledger.Notes{}, err
	}
	return ledger.Open(s.Ledger(name))
}

// Load reads and folds the ledger of a run, without a lock. The error wraps [ErrNoRun], or comes
// from the file system or [ledger.Load].
func (s *Store) Load(name string) (*ledger.State, ledger.Notes, error) {
	if err := s.check(name); err != nil {
		return nil, ledger.Notes{}, err
	}
	return ledger.Load(s.Ledger(name))
}

// check returns an error unless the store has a ledger of the run.
func (s *Store) check(name string) error {
	if err := s.checkFolder(name); err != nil {
		return err
	}
	_, err := os.Stat(s.Ledger(name))
	if errors.Is(err, fs.ErrNotExist) {
		err = ledger.Missing(s.Folder(name))
	}
	return err
}

// checkFolder returns an error unless the store has a folder of the run.
func (s *Store) checkFolder(name string) error {
	if err := queens.ValidateRun(name); err != nil {
		return err
	}
	info, err := os.Stat(s.Folder(name))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		err = fmt.Errorf("%w %s in %s", ErrNoRun, name, s.path)
	}
	return err
}

// ofRun matches the names that newName gives.
var ofRun = regexp.MustCompile(`^n[0-9]+-`)

// newName returns a name for a run of board side n that starts at the given time, such as
// n18-20261120-153012-ab12.
func newName(n int, at time.Time) string {
	var suffix [2]byte
	_, _ = rand.Read(suffix[:]) // never fails, see crypto/rand
	return fmt.Sprintf("n%d-%s-%s", n, at.UTC().Format("20060102-150405"),
		hex.EncodeToString(suffix[:]))
}

// names returns the names of all folders with a ledger. For folders of runs that have none, or that
// can't be read, it returns the errors. Other folders, such as join, are no runs.
func (s *Store) names() (names []string, unreadable map[string]error, err error) {
	entries, err := os.ReadDir(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%w: %w", ErrFolder, err)
	}
	unreadable = make(map[string]error)
	for _, e := range entries {
		name := e.Name()
		if queens.ValidateRun(name) != nil {
			continue
		}
		_, err := os.Stat(s.Ledger(name))
		switch {
		case err == nil:
			names = append(names, name)
		case errors.Is(err, syscall.ENOTDIR):
		case !errors.Is(err, fs.ErrNotExist):
			unreadable[name] = err
		case ofRun.MatchString(name):
			unreadable[name] = ledger.Missing(s.Folder(name))
		}
	}
	return names, unreadable, nil
}

// Find returns the name of the run that a person means by a text: the text itself if a run has this
// name, else the only name that begins with the text, as [queens.BeginsRun] says. The error wraps
// [ErrNoRun], [ErrAmbiguous] or [ErrFolder].
func (s *Store) Find(text string) (string, error) {
	names, unreadable, err := s.names()
	if err != nil {
		return "", err
	}
	for name := range unreadable {
		names = append(names, name)
	}
	slices.Sort(names)
	if slices.Contains(names, text) {
		return text, nil
	}
	found := slices.DeleteFunc(names, func(name string) bool { return !queens.BeginsRun(name, text) })
	const most = 8 // names in the error
	switch {
	case len(found) == 0:
		return "", fmt.Errorf("%w %.80s in %s", ErrNoRun, queens.Sanitize(text), s.path)
	case len(found) == 1:
		return found[0], nil
	case len(found) > most:
		found = append(found[:most:most], fmt.Sprintf("and %d more", len(found)-most))
	}
	return "", fmt.Errorf("%q begins the names of several runs: %s: %w", text,
		strings.Join(found, ", "), ErrAmbiguous)
}

// List returns all runs of the store, the newest first. Runs that can't be read are in the list
// too. The error wraps [ErrFolder].
func (s *Store) List() ([]Run, error) {
	names, unreadable, err := s.names()
	if err != nil {
		return nil, err
	}
	var list []Run
	for _, name := range names {
		list = append(list, s.Inspect(name))
	}
	for name, err := range unreadable {
		list = append(list, Run{Name: name, Err: err})
	}
	slices.SortFunc(list, func(a, b Run) int {
		return cmp.Or(b.Created().Compare(a.Created()), strings.Compare(b.Name, a.Name))
	})
	return list, nil
}

// Newest returns the name of the newest run that the first of the given functions accepts. If it
// accepts none, Newest tries the next function. It passes over runs that can't be read. If no
// function accepts a run, the error wraps [ErrNoRun] and contains the purpose, such as "to resume".
// It may also wrap [ErrFolder].
func (s *Store) Newest(purpose string, wanted ...func(*Run) bool) (string, error) {
	list, err := s.List()
	for _, holds := range wanted {
		for i := range list {
			if list[i].Err == nil && holds(&list[i]) {
				return list[i].Name, nil
			}
		}
	}
	return "", cmp.Or(err, fmt.Errorf("%w %s in %s", ErrNoRun, purpose, s.path))
}

// Run is what the header and the last mark of a ledger say about a run.
type Run struct {
	Name   string
	Header *ledger.Header // nil with Err
	// Mark is the last mark. If there is none, it says what the results say, as a mark would.
	Mark     *ledger.Mark
	State    queens.State
	Active   *ledger.LockedError // names the process that works on the run; nil if there is none
	Modified time.Time           // when the ledger was written last
	Bytes    int64               // size of the ledger
	Err      error               // why the run can't be read
}

// Inspect returns what the header and the last mark of a run's ledger say. It takes about a
// millisecond, for a run of any size.
func (s *Store) Inspect(name string) Run {
	r := Run{Name: name}
	last, err := ledger.ReadLast(s.Ledger(name))
	if err == nil {
		err = ledger.Held(s.Folder(name))
		if errors.As(err, &r.Active) {
			err = nil
		}
	}
	info, failed := os.Stat(s.Ledger(name))
	if err = cmp.Or(err, failed); err == nil {
		r.Header, r.Mark, r.State = last.Header, last.Mark, last.State
		r.Modified, r.Bytes = info.ModTime(), info.Size()
		switch {
		case r.Active != nil && !r.State.Ended():
			r.State = queens.Running
		case r.State == queens.Running:
			r.State = queens.Interrupted
		}
		if r.Mark == nil {
			r.Mark, err = s.firstMark(&r)
		}
		err = cmp.Or(err, r.checkTotal())
	}
	if err != nil {
		return Run{Name: name, Err: err}
	}
	return r
}

// firstMark returns what a run without a mark would mark. It reads all results: a coordinator marks
// every few seconds, so there are few of them.
func (s *Store) firstMark(r *Run) (*ledger.Mark, error) {
	state, _, err := ledger.Load(s.Ledger(r.Name))
	if err != nil {
		return nil, err
	}
	m := &r.Header.Manifest
	return &ledger.Mark{
		State: queens.Running, At: r.Modified.UTC(), Wall: max(0, r.Modified.Sub(r.Header.Created)),
		Done:      state.NumberDone(),
		Work:      split.WorkDone(m, nil, state.DoneByClass()),
		Solutions: (*queens.Decimal)(state.Solutions()),
	}, nil
}

// checkTotal returns an error if the mark of a complete run can't be right. That is no audit: a
// ledger from elsewhere may say any total if none is published.
func (r *Run) checkTotal() error {
	if r.State != queens.Complete {
		return nil
	}
	m := &r.Header.Manifest
	if r.Mark.Done != m.Tasks || r.Mark.Solutions.String() != r.Mark.Total.String() {
		return fmt.Errorf("%w: run %s is complete with %d of %d tasks", queens.ErrContradiction, r.Name,
			r.Mark.Done, m.Tasks)
	}
	if queens.Compare(m.N, m.Placed, r.Total()) == queens.Mismatch {
		return fmt.Errorf("%w: run %s has total %s, but another is published", queens.ErrContradiction,
			r.Name, r.Mark.Total)
	}
	return nil
}

// Unreadable is what [Run.Status] returns for a run that can't be read.
const Unreadable = "unreadable"

// Status returns the state of the run, or [Unreadable].
func (r *Run) Status() string {
	if r.Err != nil {
		return Unreadable
	}
	return string(r.State)
}

// IsUnfinished reports whether the run can be read and has not ended.
func (r *Run) IsUnfinished() bool { return r.Err == nil && !r.State.Ended() }

// Created returns the time at which the run was created. For a run that can't be read it takes the
// time from the name.
func (r *Run) Created() time.Time {
	if r.Header != nil {
		return r.Header.Created
	}
	_, rest, _ := strings.Cut(r.Name, "-")
	created, _ := time.Parse("20060102-150405", rest[:min(len(rest), 15)])
	return created
}

// Total returns the total of a complete run, or nil. It has been compared only with the published
// total: package audit does more.
func (r *Run) Total() *big.Int {
	if r.State != queens.Complete {
		return nil
	}
	return (*big.Int)(r.Mark.Total)
}
