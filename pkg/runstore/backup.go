package runstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"time"

	"nqueens/pkg/ledger"
)

// This file copies the ledger of a run to a backup, and a backup to a store.

// Why there is no backup, or why it can't be restored. Errors wrap these.
var (
	// ErrNotBackup: the file to be written must stay as it is.
	ErrNotBackup = errors.New("can't be the file of a backup")
	// ErrDamagedBackup: the file to restore is no ledger, or not as it was written.
	ErrDamagedBackup = errors.New("is no backup, or is damaged")
	// ErrHasLedger: there is a ledger of the run already.
	ErrHasLedger = errors.New("has a ledger already")
	// errCutOff: the process that gave the copy has ended it, or was killed.
	errCutOff = errors.New("the process that works on the run has ended the copy; its log may say why")
)

const (
	// openTimeout is how long a process that works on a run may take to open its ledger: until
	// then it gives no copies.
	openTimeout = 2 * time.Minute
	// receiveTimeout is how long a copy may take, behind one that is slow too.
	receiveTimeout = 2*copyTimeout + time.Minute
	// noSocketTimeout is how long to wait for the end of a process that has no socket: of another command.
	noSocketTimeout   = 5 * time.Second
	maxBackupAttempts = 3
)

// Backup copies the ledger of a run to a file, as it is at one moment after the call, whether a
// process works on the run or not. The file is complete, checked and on disk when Backup returns
// nil; otherwise a file that had this name stays as it was. Errors wrap [ErrNoRun] or
// [ErrNotBackup], are a [ledger.DamagedError] or a [ledger.LockedError], or are of the disk.
func (s *Store) Backup(ctx context.Context, name, file string) (ledger.Contents, error) {
	if !s.Exists(name) {
		return ledger.Contents{}, s.NoRun(name)
	}
	if err := s.checkTarget(name, file); err != nil {
		return ledger.Contents{}, err
	}
	fill := func(w io.Writer) error { return s.copyLedger(ctx, name, w) }
	for attempt := 1; ; attempt++ {
		c, err := ledger.CreateCopy(file, s.Ledger(name), name, fill)
		if err == nil || attempt == maxBackupAttempts || !errors.Is(err, errCutOff) {
			return c, err
		}
		s.log.Debug().Err(err).Msg("trying again")
	}
}

// checkTarget returns an error if a backup of the run must not replace the file.
func (s *Store) checkTarget(name, file string) error {
	target, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	source, err := os.Stat(s.Ledger(name))
	switch {
	case err != nil:
		return err
	case target.IsDir():
		return fmt.Errorf("%s %w: it is a folder", file, ErrNotBackup)
	case !target.Mode().IsRegular():
		return fmt.Errorf("%s %w: it is a device", file, ErrNotBackup)
	case os.SameFile(target, source):
		return fmt.Errorf("%s %w: it is the ledger of the run", file, ErrNotBackup)
	case s.isLedger(target):
		return fmt.Errorf("%s %w: it is the ledger of another run", file, ErrNotBackup)
	}
	return nil
}

// isLedger reports whether a file is the ledger of a run of the store.
func (s *Store) isLedger(file fs.FileInfo) bool {
	folders, err := os.ReadDir(s.path)
	return err == nil && slices.ContainsFunc(folders, func(folder fs.DirEntry) bool {
		info, err := os.Stat(s.Ledger(folder.Name()))
		return err == nil && os.SameFile(info, file)
	})
}

// copyLedger writes a copy of a run's ledger: from the file, or through the process that works on
// the run.
func (s *Store) copyLedger(ctx context.Context, name string, w io.Writer) error {
	slow := time.AfterFunc(slowAfter, func() {
		s.log.Info().Str("run", name).Msg("copying the ledger, which takes a while")
	})
	defer slow.Stop()
	for began := time.Now(); ; {
		// The copy is checked, so the ledger is not: a coordinator that starts waits for the end.
		err := ledger.CopyFile(s.Folder(name), w)
		var locked *ledger.LockedError
		if !errors.As(err, &locked) {
			return err
		}
		failed := s.receiveCopy(ctx, name, w)
		if !isNotReady(failed) {
			return failed
		}
		timeout := openTimeout
		if locked.Holder.PID != 0 && locked.Holder.Socket == "" {
			timeout = noSocketTimeout
		}
		if time.Since(began) > timeout {
			return fmt.Errorf("%w; for %v it has given no copy: %w", err, timeout, failed)
		}
		if pause(ctx); ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// receiveCopy writes the copy that the process gives that works on the run.
func (s *Store) receiveCopy(ctx context.Context, name string, w io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, receiveTimeout,
		fmt.Errorf("the process that works on the run has not sent all of the copy in %v: see whether it hangs", receiveTimeout))
	defer cancel()
	response, err := s.ask(ctx, name, http.MethodGet, "backup")
	switch {
	case err == nil:
	case ctx.Err() != nil, errors.As(err, new(*refusedError)), errors.Is(err, errNoSocket):
		return err
	default:
		return fmt.Errorf("%w: %w", errCutOff, err)
	}
	defer func() { _ = response.Body.Close() }() // all is read, or an error is known
	received, err := io.Copy(w, response.Body)   // less than the length is an error
	switch {
	case errors.As(err, new(*fs.PathError)): // of the file
		return err
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil, response.ContentLength != received:
		return fmt.Errorf("%w: %d of %d bytes: %w", errCutOff, received, response.ContentLength, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return nil
}

// Restore makes the run of a backup one of the store, which must not have it. Errors wrap
// [ErrHasLedger] or [ErrDamagedBackup], are those of [ledger.OpenFile], or are of the disk.
func (s *Store) Restore(file string) (c ledger.Contents, err error) {
	l, err := ledger.OpenFile(file)
	var damaged *ledger.DamagedError
	if errors.As(err, &damaged) {
		return c, fmt.Errorf("%s %w: %w: restore another one", file, ErrDamagedBackup, damaged.Err)
	}
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	name := l.Header().Run
	c, err = l.CopyTo(s.Folder(name))
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("run %s %w in %s", name, ErrHasLedger, s.Folder(name))
	}
	return c, err
}
