package main

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"nqueens/pkg/cli"
	"nqueens/pkg/ledger"
	"nqueens/pkg/queens"
	"nqueens/pkg/run"
)

// dataFolder is the folder of the runs on this machine. A run owns a folder in it,
// named like the run, with its ledger and the embedded server's store.
type dataFolder struct{ path string }

func (d *dataFolder) register(flags *pflag.FlagSet) {
	flags.StringVar(&d.path, "data", "", "`folder` of the runs on this machine (default $XDG_STATE_HOME/nqueens)")
	cli.CompleteDirs(flags, "data")
}

// open settles which folder it is. It need not exist.
func (d *dataFolder) open() (err error) {
	if d.path == "" {
		if d.path, err = defaultData(); err != nil {
			return err
		}
	}
	info, err := os.Stat(d.path)
	switch {
	case errors.Is(err, syscall.ENOTDIR), err == nil && !info.IsDir():
		return cli.Usagef("--data: %s is not a folder, a file stands there: move that away, or name another folder", d.path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--data: %w: name another folder", err)
	}
	return nil
}

// writable makes the folder, and returns why no run can be begun in it: better before its
// tasks are planned than after.
func (d *dataFolder) writable() error {
	err := os.MkdirAll(d.path, 0o700)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(d.path, ".probe"); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("no run can be kept there (another folder for runs: --data): %w", err)
	}
	return nil
}

// defaultData is $XDG_STATE_HOME/nqueens, where the XDG Base Directory
// Specification puts what should persist but is not worth a backup.
func defaultData() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no folder for the run (choose one with --data): %w", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "nqueens"), nil
}

// run returns the folder of a run.
func (d *dataFolder) run(name string) string { return filepath.Join(d.path, name) }

// store returns the folder of the embedded server's files in that of a run.
func (d *dataFolder) store(name string) string { return filepath.Join(d.run(name), "nats") }

// cancelFile returns the file that tells the coordinator of a run that it is cancelled.
func (d *dataFolder) cancelFile(name string) string { return filepath.Join(d.run(name), "cancel") }

// has reports whether there is a ledger of that run.
func (d *dataFolder) has(name string) bool {
	_, err := os.Stat(filepath.Join(d.run(name), ledger.File))
	return err == nil
}

// localRun is what a look at a run's ledger tells.
type localRun struct {
	run      string
	created  time.Time
	n        int
	symmetry queens.Symmetry
	placed   []queens.Square // beforehand
	splitter int             // 0 where it can't be told
	state    run.State
	done     uint64
	tasks    uint64
	hash     string              // of the manifest, in hexadecimal digits
	damaged  int                 // records that are, of done and more
	locked   *ledger.LockedError // the run is at work in another process
	err      error               // its ledger can't be read
}

// runs looks at all runs of the folder, the newest first.
func (d *dataFolder) runs() ([]localRun, error) {
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for runs (choose another folder with --data): %w", err)
	}
	var found []localRun
	for _, e := range entries {
		if e.IsDir() && d.has(e.Name()) {
			found = append(found, d.look(e.Name()))
		}
	}
	slices.SortFunc(found, func(a, b localRun) int {
		return cmp.Or(b.created.Compare(a.created), strings.Compare(b.run, a.run))
	})
	return found, nil
}

// look looks at the ledger of one run.
func (d *dataFolder) look(name string) localRun {
	l, err := ledger.OpenTolerant(d.run(name))
	var locked *ledger.LockedError
	switch {
	case errors.As(err, &locked) && locked.Holder.Run == name:
		h := &locked.Holder
		placed, _ := placeFlag{h.Placed}.squares(h.N) // for people to see; none where there are none
		return localRun{
			run: name, created: h.Created, n: h.N, symmetry: h.Symmetry, placed: placed, state: run.Running,
			done: h.Done, tasks: h.Tasks, hash: h.Hash, locked: locked,
		}
	case err != nil:
		return localRun{run: name, err: err}
	}
	defer func() { _ = l.Close() }() // it was only read
	h := l.Header()
	return localRun{
		run: name, created: h.Created, n: h.Manifest.N, symmetry: h.Manifest.Symmetry, placed: h.Manifest.Placed, splitter: h.Manifest.SplitVersion, state: l.State(),
		done: l.Len(), tasks: h.Manifest.Tasks, hash: hex.EncodeToString(h.Manifest.Hash[:]), damaged: len(l.Damaged()),
	}
}

// unfinished returns the runs that are to be gone on with, the newest first. It logs
// which it can't tell of.
func (d *dataFolder) unfinished(log zerolog.Logger) ([]localRun, error) {
	return d.readable(log, func(r *localRun) bool { return r.err == nil && !r.state.Finished() })
}

// latest returns the run of the manifest's tasks that a count is to go on with, or else
// the newest that was not cancelled, or nil. It is an error where there may be a run to go
// on with that this program can't: one that can't be read, or that was split otherwise.
func (d *dataFolder) latest(log zerolog.Logger, m *queens.Manifest) (*localRun, error) {
	hash := hex.EncodeToString(m.Hash[:])
	var unknown error
	runs, err := d.readable(log, func(r *localRun) bool {
		switch {
		case r.err != nil && strings.HasPrefix(r.run, fmt.Sprintf("n%d-", m.N)):
			unknown = fmt.Errorf("%w: run %s may be of the same count, and its ledger can't be read (--new begins another count): %w", queens.ErrIncomplete, r.run, r.err)
		case sameBoard(r, m) && !r.state.Finished() && r.splitter != 0 && r.splitter != m.SplitVersion:
			unknown = fmt.Errorf("run %s of the same board was split by rules of version %d, this program has version %d: go on with the program that began it, or begin another count with --new",
				r.run, r.splitter, m.SplitVersion)
		}
		return r.err == nil && sameBoard(r, m) && r.hash == hash && r.state != run.Cancelled
	})
	if err == nil {
		err = unknown
	}
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	if i := slices.IndexFunc(runs, func(r localRun) bool { return !r.state.Finished() }); i >= 0 {
		return &runs[i], nil
	}
	return &runs[0], nil
}

// sameBoard reports whether a run is of the manifest's board, cut by the same symmetry.
// The hash does not tell it of boards without a task.
func sameBoard(r *localRun, m *queens.Manifest) bool {
	return r.n == m.N && r.symmetry == m.Symmetry && slices.Equal(r.placed, m.Placed)
}

// readable returns the runs that are wanted, the newest first, and logs which can't be
// read.
func (d *dataFolder) readable(log zerolog.Logger, wanted func(r *localRun) bool) ([]localRun, error) {
	defer tellIfSlow(log, "reading the ledgers, which takes a while")()
	runs, err := d.runs()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(runs, func(r localRun) bool {
		if r.err != nil {
			log.Warn().Err(r.err).Str("run", r.run).Msg("passing over a run whose ledger can't be read")
		}
		return !wanted(&r)
	}), nil
}

// goOn opens the ledger of a run for writing.
func (d *dataFolder) goOn(log zerolog.Logger, name string) (*ledger.Ledger, error) {
	defer tellIfSlow(log.With().Str("run", name).Logger(), "reading the ledger, which takes a while")()
	return ledger.Open(d.run(name))
}

// tellIfSlow logs a message if stop is not called within a second.
func tellIfSlow(log zerolog.Logger, message string) (stop func() bool) {
	return time.AfterFunc(time.Second, func() { log.Info().Msg(message) }).Stop
}

// named checks the one argument of a command that takes a run.
func named(args []string) (string, error) {
	if len(args) != 1 {
		return "", cli.Usagef("takes one argument, the name of a run, not %d: see coordinator runs", len(args))
	}
	if err := queens.ValidateRun(args[0]); err != nil {
		return "", cli.Usagef("%v: see coordinator runs", err)
	}
	return args[0], nil
}

// perhapsNamed checks the argument of a command that takes a run or none; then it is "".
func perhapsNamed(args []string) (string, error) {
	if len(args) == 0 {
		return "", nil
	}
	return named(args)
}
